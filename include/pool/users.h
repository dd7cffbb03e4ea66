/* users.h - the users who have come, and the names that are known.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_USERS_H
#define POOL_USERS_H

#include <stdbool.h>
#include <stddef.h>

struct catalog;
struct config_user;
struct credentials;
struct user;

/* Is there an entry in the auth file? */
bool users_has_listed(const struct catalog *c, const char *name);
/*
 * The secret in the auth file; NULL: there is none, or no memory, as
 * user_renew() tells. Borrowed until the next configuration. Looked up when it
 * is asked for: a reload that goes through 100,000 names would stop everybody.
 */
int user_renew(const struct catalog *c, struct user *u);
struct credentials *user_credentials(const struct catalog *c, struct user *u);
/*
 * A step of the way to where no secret is left that the file has lost. Returns
 * whether there are more.
 */
bool users_renew(struct catalog *c);

/*
 * u has logged in with a password that somebody else has checked: it is for
 * the servers, too. What was derived from the same one before is kept.
 */
void user_put_typed(struct user *u, struct credentials *typed);

/* A name out of the auth file, of a line of [users], or of a user that came. */
struct known_user {
	const char *name;
	const struct config_user *conf;	/* NULL: no line */
	unsigned clients, servers;	/* as user_admitted() has them */
};
/*
 * Of count catalogs with one configuration, in byte order; fn returns non-zero
 * to stop.
 */
#define USERS_CATALOGS 64
int users_each(struct catalog *const *all, size_t count,
    int (*fn)(void *arg, const struct known_user *u), void *arg);
/*
 * How many users there are: users of the configuration, which takes no time to
 * speak of, and users that came without being in it.
 */
size_t users_count(const struct catalog *c);
size_t users_configured(const struct catalog *c);
bool user_is_configured(const struct catalog *c, const struct user *u);

#endif
