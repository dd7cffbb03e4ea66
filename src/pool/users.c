/* users.c - the users who have come, and the names that are known.
 * SPDX-License-Identifier: ISC */
#include "pool/users.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/container.h"
#include "base/ledger.h"
#include "base/mem.h"
#include "conf/userlist.h"
#include "pool/catalog.h"
#include "pool/credentials.h"

struct user *catalog_find_user(struct catalog *c, const char *name)
{
	struct user *u = NULL;

	HASH_FIND_STR(c->users, name, u);
	return u;
}

/* With one worker there is none. */
static int open_ledger(const struct catalog *c, struct user *u)
{
	if (c->part.book == NULL)
		return 0;
	return limit_share_open(&u->share, c->part.book, c->part.index,
	    (struct limit_name){ .name = u->name });
}

static void users_forget(struct user *u)
{
	limit_share_close(&u->share);
	mem_free(u->name);
	mem_delete(MEM_USER, u, sizeof *u);
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
	u->share.kind = LIMIT_USER;
	if (u->name == NULL || open_ledger(c, u) < 0) {
		users_forget(u);
		return NULL;
	}
	u->conf = config_find_user(c->config, name);
	u->queue.kind = LIMIT_USER;
	HASH_ADD_KEYPTR(hh, c->users, u->name, strlen(name), u);
	if (u->hh.tbl == NULL) {
		users_forget(u);
		return NULL;
	}
	cursor_list_add(&c->all_users, &u->node);
	cursor_list_settle(&c->all_users);
	return u;
}

bool user_admit(struct user *u, int max)
{
	if (u->share.ledger == NULL)
		return max <= 0 || user_admitted(u) < (unsigned)max;
	if (max > 0)
		return ledger_take(u->share.ledger, LEDGER_CLIENTS, (unsigned)max);
	ledger_add(u->share.ledger, LEDGER_CLIENTS);
	return true;
}

void user_dismiss(struct user *u)
{
	if (u->share.ledger != NULL)
		ledger_give(u->share.ledger, LEDGER_CLIENTS);
}

#define RENEWALS 64		/* in one step */

static const char *listed_secret(const struct catalog *c, const char *name)
{
	const struct userlist *const list = c->config->userlist;

	return list == NULL ? NULL : userlist_find(list, name);
}

bool users_has_listed(const struct catalog *c, const char *name)
{
	return listed_secret(c, name) != NULL;
}

bool user_is_configured(const struct catalog *c, const struct user *u)
{
	return u->conf != NULL || users_has_listed(c, u->name);
}

int user_renew(const struct catalog *c, struct user *u)
{
	struct credentials *next = NULL;

	if (u->auth_file == c->auth_file)
		return 0;

	const char *const secret = listed_secret(c, u->name);

	if (secret != NULL)
		next = credentials_renew(u->credentials, secret);
	if (secret != NULL && next == NULL)
		return -1;
	/* the auth file has been told a newer one */
	if (next != NULL && next != u->credentials)
		credentials_unref(&u->typed);
	credentials_unref(&u->credentials);
	u->credentials = next;
	u->auth_file = c->auth_file;
	return 0;
}

struct credentials *user_credentials(const struct catalog *c, struct user *u)
{
	return user_renew(c, u) == 0 ? u->credentials : NULL;
}

bool users_renew(struct catalog *c)
{
	for (int i = 0; c->to_renew != NULL && i < RENEWALS; i++) {
		(void)user_renew(c, c->to_renew);
		c->to_renew = c->to_renew->hh.next;
	}
	return c->to_renew != NULL;
}

void catalog_drop_user(struct catalog *c, struct user *u)
{
	if (c->to_renew == u)
		c->to_renew = u->hh.next;
	HASH_DEL(c->users, u);
	cursor_list_remove(&c->all_users, &u->node);
	credentials_unref(&u->credentials);
	credentials_unref(&u->typed);
	limit_queue_fini(&u->queue);
	users_forget(u);
}

/* Strangers may have as many names as they like, and leave none behind. */
void catalog_release_user(struct catalog *c, struct user *u)
{
	u->clients--;
	if (u->clients == 0 && u->pools == NULL &&
	    u->credentials == NULL && u->typed == NULL &&
	    !user_is_configured(c, u))
		catalog_drop_user(c, u);
}

void user_put_typed(struct user *u, struct credentials *typed)
{
	if (u->typed != NULL && strcmp(u->typed->secret, typed->secret) == 0)
		return;
	credentials_unref(&u->typed);
	u->typed = credentials_ref(typed);
}

int user_compare(const struct cursor_node *a, const struct cursor_node *b)
{
	return strcmp(container_of(a, struct user, node)->name,
	    container_of(b, struct user, node)->name);
}

/* --- all names, in order --- */

static const struct user *user_at(const struct cursor *used)
{
	const struct cursor_node *const n = cursor_next(used);

	return n == NULL ? NULL : container_of(n, struct user, node);
}

static const char *listed_name(const struct users_walk *w)
{
	const struct userlist *const list = w->config == NULL ? NULL :
	    w->config->userlist;

	return list == NULL ? NULL : userlist_name(list, w->listed);
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

static const char *first_used(const struct users_walk *w)
{
	const char *name = NULL;

	for (size_t i = 0; i < w->count; i++) {
		const struct user *const u = user_at(&w->used[i]);

		name = first(name, u != NULL ? u->name : NULL);
	}
	return name;
}

static void take_used(struct users_walk *w, struct known_user *out)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct user *const u = user_at(&w->used[i]);

		if (u == NULL || strcmp(u->name, out->name) != 0)
			continue;
		out->clients += user_admitted(u);
		out->servers += u->servers;
		(void)cursor_take(&w->used[i]);
	}
}

/* Take the first name off all lists that have it. */
bool users_walk_next(struct users_walk *w, struct known_user *out)
{
	const char *const used = first_used(w);
	const char *const conf = w->conf != NULL ? w->conf->name : NULL;
	const char *const listed = listed_name(w);

	*out = (struct known_user){ .name = first(used, first(conf, listed)) };
	if (out->name == NULL)
		return false;
	take_used(w, out);
	if (is_name(out->name, conf)) {
		out->conf = w->conf;
		w->conf = w->conf->next;
	}
	if (is_name(out->name, listed))
		w->listed++;
	return true;
}

void users_walk_begin(struct users_walk *w)
{
	w->config = NULL;
	w->conf = NULL;
	w->listed = 0;
	w->count = 0;
}

/* The lists of the configuration, which are in order. */
static void begin_configured(struct users_walk *w, const struct catalog *c)
{
	users_walk_begin(w);
	/* whoever counts does not change it */
	w->config = config_ref((struct config *)(uintptr_t)c->config);
	w->conf = c->config->users;
}

void users_walk_add(struct users_walk *w, struct catalog *c)
{
	if (w->config == NULL)
		begin_configured(w, c);
	cursor_begin(&w->used[w->count++], &c->all_users);
}

void users_walk_end(struct users_walk *w)
{
	while (w->count > 0)
		cursor_end(&w->used[--w->count]);
	config_unref(&w->config);
	users_walk_begin(w);
}

size_t users_configured(const struct catalog *c)
{
	struct users_walk w;
	struct known_user u;
	size_t n = 0;

	begin_configured(&w, c);
	while (users_walk_next(&w, &u))
		n++;
	users_walk_end(&w);
	return n;
}

size_t users_count(const struct catalog *c)
{
	size_t n = users_configured(c);

	for (const struct user *u = c->users; u != NULL; u = u->hh.next)
		n += !user_is_configured(c, u);
	return n;
}
