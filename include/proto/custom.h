/* custom.h - names of custom parameters, which no view of PostgreSQL lists.
 *
 * Who wants their values has to ask for each by its name.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_CUSTOM_H
#define PROTO_CUSTOM_H

#include <stdbool.h>
#include <stddef.h>

#define CUSTOM_MAX 100

/* All zero at first. */
struct custom {
	char *names[CUSTOM_MAX];	/* owned */
	unsigned count;
	bool unsure;			/* a statement that has a name may set
					 * one that could not be seen */
};

void custom_fini(struct custom *t);

/*
 * Those in a text, behind SET or as the first argument of set_config(), are
 * known from now on. Returns false where there may be one that can't be seen,
 * or there is no room.
 */
bool custom_learn(struct custom *t, const char *sql, size_t n);
/* This one; the same. */
bool custom_add(struct custom *t, const char *name, size_t n);
/* The next of those known, from *at = 0 on; NULL: that was all. */
const char *custom_next(const struct custom *t, unsigned *at);

#endif
