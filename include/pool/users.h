/* users.h - the names of users that are known, whether they came or not.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_USERS_H
#define POOL_USERS_H

#include <stddef.h>

struct catalog;
struct config_user;
struct user;

/* A name out of the auth file, of a line of [users], or of one who came. */
struct known_user {
	const char *name;
	const struct user *used;	/* NULL: nobody came yet */
	const struct config_user *conf;	/* NULL: no line */
};
/* In byte order; fn returns non-zero to stop. */
int users_each(struct catalog *c,
    int (*fn)(void *arg, const struct known_user *u), void *arg);
size_t users_count(struct catalog *c);

#endif
