/* catalog_user.c - the users there are: those who have come.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"

/* the map can fail as any allocation; before the header that includes it */
#define HASH_NONFATAL_OOM 1
#define HASH_BKT_CAPACITY_THRESH 2U	/* see conf/hash.h */
#define uthash_malloc(n) mem_alloc(n)
#define uthash_free(p, n) mem_free(p)
#include "pool/catalog.h"

#include <string.h>

#include "conf/userlist.h"
#include "pool/credentials.h"

struct user *catalog_find_user(struct catalog *c, const char *name)
{
	struct user *u = NULL;

	HASH_FIND_STR(c->users, name, u);
	return u;
}

struct user *catalog_get_user(struct catalog *c, const char *name)
{
	struct user *u = catalog_find_user(c, name);

	if (u != NULL)
		return u;
	u = mem_new(MEM_USER, sizeof *u);
	if (u == NULL)
		return NULL;
	u->name = mem_strdup(name);
	if (u->name == NULL) {
		mem_delete(MEM_USER, u, sizeof *u);
		return NULL;
	}
	u->conf = config_find_user(c->config, name);
	u->line.kind = LINE_USER;
	HASH_ADD_KEYPTR(hh, c->users, u->name, strlen(name), u);
	if (u->hh.tbl == NULL) {
		mem_free(u->name);
		mem_delete(MEM_USER, u, sizeof *u);
		return NULL;
	}
	return u;
}

#define RENEWALS 5000		/* in one step: some milliseconds */

static const char *listed_secret(const struct catalog *c, const char *name)
{
	const struct userlist *const list = c->config->userlist;

	return list == NULL ? NULL : userlist_find(list, name);
}

bool catalog_is_listed(const struct catalog *c, const char *name)
{
	return listed_secret(c, name) != NULL;
}

static struct credentials *renew(const struct catalog *c, struct user *u)
{
	const char *const secret = listed_secret(c, u->name);
	struct credentials *next = NULL;

	if (secret != NULL)
		next = credentials_renew(u->credentials, secret);
	if (secret != NULL && next == NULL)
		return NULL;
	/* the auth file has been told a newer one */
	if (next != NULL && next != u->credentials)
		credentials_unref(&u->typed);
	credentials_unref(&u->credentials);
	u->credentials = next;
	u->auth_file = c->auth_file;
	return next;
}

struct credentials *user_credentials(const struct catalog *c, struct user *u)
{
	return u->auth_file == c->auth_file ? u->credentials : renew(c, u);
}

void catalog_renew_users(struct catalog *c)
{
	for (int i = 0; c->to_renew != NULL && i < RENEWALS; i++) {
		(void)user_credentials(c, c->to_renew);
		c->to_renew = c->to_renew->hh.next;
	}
}

void catalog_drop_user(struct catalog *c, struct user *u)
{
	HASH_DEL(c->users, u);
	credentials_unref(&u->credentials);
	credentials_unref(&u->typed);
	line_fini(&u->line);
	mem_free(u->name);
	mem_delete(MEM_USER, u, sizeof *u);
}

void user_put_typed(struct user *u, struct credentials *typed)
{
	if (u->typed != NULL && strcmp(u->typed->secret, typed->secret) == 0)
		return;
	credentials_unref(&u->typed);
	u->typed = credentials_ref(typed);
}
