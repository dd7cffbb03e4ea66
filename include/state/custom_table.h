/* custom_table.h - which custom parameters were seen, at whatever worker.
 *
 * A server may go to any of them, with what clients have set there. Once that table
 * is full, by whoever invents names, a server has one of its own: of what its
 * clients name there, and what they bring. Names with letters that another database
 * may not have are in that one only.
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

/* Of a text that s is sent; its names are known from then on. */
struct custom_reader custom_table_reader(struct server *s);
/* The same for one name, as it is kept. False: no room. */
bool custom_table_put(struct server *s, const char *kept);
/* All those of b, which may be NULL. False: not all. */
bool custom_table_add_set(struct server *s, const struct baggage *b);
/* The same where there is no server yet, for what all databases can have. */
void custom_table_share_set(struct sessions *ss, const struct baggage *b);
/* How many names are known: in the table of all, and in that of one server. */
struct custom_count {
	uint8_t names[2];
};
/* The next name that s may have a value of, from zero on; or NULL. */
const char *custom_table_next(const struct server *s, struct custom_count *at);
/* Is what s calls name known, and not one of the first ones? */
bool custom_table_is_behind(struct server *s, struct custom_count first,
    const char *name);
/* Has b, which may be NULL, a value of a name that custom_table_next() tells? */
bool custom_table_is_in(const struct baggage *b, const char *kept);
/* No name of its own has a value in s any more. */
void custom_table_forget(struct server *s);

#endif
