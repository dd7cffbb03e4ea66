/* custom_table.h - the names of custom parameters that clients have used, on
 * any worker.
 *
 * A server may move to any worker, with what clients have set there, so all
 * workers share one table of names. If that table is full, because a client
 * invents names, a server has a table of its own, for the names that its
 * clients use and bring. Names with letters that another database may lack are
 * only in that table.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_CUSTOM_TABLE_H
#define STATE_CUSTOM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/custom.h"
#include "session/sessions.h"

struct baggage;
struct server;

static inline void custom_table_share(struct sessions *ss,
    struct sessions *first)
{
	ss->custom = first == NULL ? NULL : &first->own_custom;
}

static inline struct custom *custom_table_of(struct sessions *ss)
{
	return ss->custom != NULL ? ss->custom : &ss->own_custom;
}

/*
 * Returns a reader for a text that is sent to s. It makes the names in the text
 * known.
 */
struct custom_reader custom_table_reader(struct server *s);
/* Makes one name known, in the form in which it is kept. False: no room. */
bool custom_table_put(struct server *s, const char *kept);
/* Makes all names of b known; b may be NULL. False: not all of them. */
bool custom_table_add_set(struct server *s, const struct baggage *b);
/* The same without a server, for names that every database can have. */
void custom_table_share_set(struct sessions *ss, const struct baggage *b);
/* The number of known names: in the shared table, and in the server's own. */
struct custom_count {
	uint8_t names[2];
};
/*
 * Returns the next name that s may have a value of, or NULL. Start with zeros.
 */
const char *custom_table_next(const struct server *s, struct custom_count *at);
/* Is this name known, and not among the first ones? */
bool custom_table_is_behind(struct server *s, struct custom_count first,
    const char *name);
/* Does b, which may be NULL, have a value of this name? */
bool custom_table_is_in(const struct baggage *b, const char *kept);
/* Forgets the server's own names, because none has a value in s any more. */
void custom_table_forget(struct server *s);

#endif
