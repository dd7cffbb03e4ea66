/* users.c - the names of users that are known, whether they came or not.
 * SPDX-License-Identifier: ISC */
#include "pool/users.h"

#include <stddef.h>
#include <string.h>

#include "conf/userlist.h"
#include "pool/catalog.h"

/* Three lists in byte order, and where each of them is. */
struct merge {
	const struct user *used;
	const struct config_user *conf;
	const struct userlist *list;	/* NULL: empty */
	size_t listed;
};

static const char *listed_name(const struct merge *m)
{
	return m->list == NULL ? NULL : userlist_name(m->list, m->listed);
}

static const char *first(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == NULL ? b : a;
	return strcmp(a, b) <= 0 ? a : b;
}

static bool is_name(const char *name, const char *other)
{
	return other != NULL && strcmp(name, other) == 0;
}

/* Take the first name off all lists that have it; false: they are empty. */
static bool take(struct merge *m, struct known_user *out)
{
	const char *const used = m->used != NULL ? m->used->name : NULL;
	const char *const conf = m->conf != NULL ? m->conf->name : NULL;
	const char *const listed = listed_name(m);

	*out = (struct known_user){ .name = first(used, first(conf, listed)) };
	if (out->name == NULL)
		return false;
	if (is_name(out->name, used)) {
		out->used = m->used;
		m->used = m->used->hh.next;
	}
	if (is_name(out->name, conf)) {
		out->conf = m->conf;
		m->conf = m->conf->next;
	}
	if (is_name(out->name, listed))
		m->listed++;
	return true;
}

static int by_user_name(const struct user *a, const struct user *b)
{
	return strcmp(a->name, b->name);
}

static struct merge begin(struct catalog *c)
{
	HASH_SORT(c->users, by_user_name);
	/* whoever was next may be anywhere now */
	if (c->to_renew != NULL)
		c->to_renew = c->users;
	return (struct merge){ .used = c->users, .conf = c->config->users,
		.list = c->config->userlist };
}

int users_each(struct catalog *c,
    int (*fn)(void *arg, const struct known_user *u), void *arg)
{
	struct merge m = begin(c);
	struct known_user u;

	while (take(&m, &u)) {
		const int rc = fn(arg, &u);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static int count(void *arg, const struct known_user *u)
{
	(void)u;
	++*(size_t *)arg;
	return 0;
}

size_t users_count(struct catalog *c)
{
	size_t n = 0;

	(void)users_each(c, count, &n);
	return n;
}
