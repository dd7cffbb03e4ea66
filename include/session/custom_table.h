/* custom_table.h - which custom parameters were seen, at whatever worker.
 *
 * A server may go to any of them, with what clients have set there. Once that table
 * is full, by whoever invents names, a server has one of its own: of what its
 * clients name there, and what they bring.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CUSTOM_TABLE_H
#define SESSION_CUSTOM_TABLE_H

#include <stdbool.h>
#include <stddef.h>

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

/* See custom_learn(): of a text that s is sent. */
bool custom_table_learn(struct server *s, const char *sql, size_t n);
/* See custom_add(). */
bool custom_table_add(struct server *s, const char *name);
/* All those of b, which may be NULL. False: not all. */
bool custom_table_add_set(struct server *s, const struct baggage *b);
/* The next name that s may have a value of, from { 0, 0 } on; or NULL. */
const char *custom_table_next(const struct server *s, unsigned at[2]);
/* No name of its own has a value in s any more. */
void custom_table_forget(struct server *s);

#endif
