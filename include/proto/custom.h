/* custom.h - names of custom parameters, which no view of PostgreSQL lists.
 *
 * A value has to be asked for by its parameter's name. Sessions of several threads
 * may learn in one table: a name that is known stays known, wherever a server or
 * a client goes.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_CUSTOM_H
#define PROTO_CUSTOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define CUSTOM_MAX 100

/* All zero at first. */
struct custom {
	_Atomic(char *) names[CUSTOM_MAX];	/* owned; up to the first NULL */
};

/* Nobody else has t any more. */
void custom_fini(struct custom *t);

/*
 * Names in a text, behind SET or as the first argument of set_config(), are
 * known from now on. Returns false where there may be a name that can't be
 * seen, or there is no room.
 */
bool custom_learn(struct custom *t, const char *sql, size_t n);
/* The same for one name. */
bool custom_add(struct custom *t, const char *name, size_t n);
bool custom_is_full(const struct custom *t);
/* Is there anything in a text that custom_learn() would look at? */
bool custom_is_any(const char *sql, size_t n);
/* The next known name, from *at = 0 on; NULL: no more names. */
const char *custom_next(const struct custom *t, unsigned *at);

#endif
