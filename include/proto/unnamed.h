/* unnamed.h - texts that are prepared without a name, again and again.
 *
 * Each gets a statement of its own, which no client with a name is given.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_UNNAMED_H
#define PROTO_UNNAMED_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/prepared.h"

struct unnamed;

#define UNNAMED_TEXTS 1000	/* kept; the oldest ones go */

struct unnamed *unnamed_new(void);	/* NULL: no memory */
void unnamed_free(struct unnamed **u);	/* before the table of statements */

/* The statement of the body of a Parse, behind its name; borrowed. NULL: none. */
struct prepared *unnamed_find(const struct unnamed *u, const void *body,
    size_t len);
/* A body without a statement comes: has it come not long ago? */
bool unnamed_is_again(struct unnamed *u, const void *body, size_t len);
/* Give the body a statement; borrowed. NULL: no memory. */
struct prepared *unnamed_add(struct unnamed *u, struct prepared_table *t,
    const void *body, size_t len);
/* The text of old gets another statement, as old is not to be used; the same. */
struct prepared *unnamed_replace(struct unnamed *u, struct prepared *old);
/* All are forgotten. False: there was none; NULL is fine. */
bool unnamed_clear(struct unnamed *u);
/* As prepared_table_make_room(): what has no name goes first. u may be NULL. */
bool unnamed_make_room(struct unnamed *u, struct prepared_table *t,
    size_t bytes, size_t limit);
size_t unnamed_count(const struct unnamed *u);	/* for tests */

#endif
