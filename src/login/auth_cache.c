/* auth_cache.c - answers of auth_query that are kept for a while.
 *
 * Names that somebody has and names that nobody has are in lists of their own:
 * a stranger who invents names drives none out that is in use.
 * SPDX-License-Identifier: ISC */
#include "login/auth_cache.h"

#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "pool/credentials.h"

#define KEY_MAX ((size_t)1 << 24)

struct auth_cache {
	struct auth_entry *entries;	/* uthash by key */
	struct auth_entry *lists[AUTH_ENTRY_STATES];	/* DL */
	size_t counts[AUTH_ENTRY_STATES];
	size_t max;			/* of those found */
	uint64_t last;			/* fetch */
};

struct auth_cache *auth_cache_new(size_t max)
{
	struct auth_cache *const c = mem_zalloc(sizeof *c);

	if (c != NULL)
		c->max = max > 0 ? max : 1;
	return c;
}

size_t auth_cache_count(const struct auth_cache *c, enum auth_entry_state s)
{
	return c->counts[s];
}

/* --- entries --- */

static size_t size_of(const struct auth_entry *e)
{
	return sizeof *e + e->key_len;
}

static bool is_busy(const struct auth_entry *e)
{
	return e->fetch != NULL || e->waits != NULL;
}

static void set_state(struct auth_entry *e, enum auth_entry_state state)
{
	struct auth_cache *const c = e->cache;

	DL_DELETE(c->lists[e->state], e);
	c->counts[e->state]--;
	e->state = state;
	DL_PREPEND(c->lists[state], e);
	c->counts[state]++;
}

static void forget_answer(struct auth_entry *e)
{
	credentials_unref(&e->found);
	mem_free(e->name);
	e->name = NULL;
	e->answered = 0;
	set_state(e, AUTH_ENTRY_NEW);
}

static void drop(struct auth_entry *e)
{
	struct auth_cache *const c = e->cache;

	forget_answer(e);
	DL_DELETE(c->lists[e->state], e);
	c->counts[e->state]--;
	HASH_DEL(c->entries, e);
	mem_delete(MEM_ANSWER, e, size_of(e));
}

/* The answer is gone, for those who wait, too. */
static void disown(struct auth_entry *e)
{
	struct auth_wait *w;

	DL_FOREACH(e->waits, w)
		w->forgotten = true;
	forget_answer(e);
}

/* The same; the entry stays as long as somebody needs it. */
static void forget(struct auth_entry *e)
{
	e->least = e->cache->last + 1;
	disown(e);
	if (!is_busy(e))
		drop(e);
}

/* The one that was used longest ago, and that nobody needs now; NULL: none. */
static struct auth_entry *last_of(const struct auth_cache *c,
    enum auth_entry_state state)
{
	struct auth_entry *const head = c->lists[state];
	struct auth_entry *e = head;

	if (head == NULL)
		return NULL;
	do {
		e = e->prev;
		if (!is_busy(e))
			return e;
	} while (e != head);
	return NULL;
}

static void shrink(struct auth_cache *c, enum auth_entry_state state,
    size_t max)
{
	struct auth_entry *e;

	while (c->counts[state] > max && (e = last_of(c, state)) != NULL)
		drop(e);
}

void auth_cache_free(struct auth_cache **cp)
{
	struct auth_cache *const c = *cp;
	struct auth_entry *e, *next;

	*cp = NULL;
	if (c == NULL)
		return;
	HASH_ITER(hh, c->entries, e, next)
		drop(e);
	mem_free(c);
}

/* --- keys --- */

/* The parts, each with its NUL: no two keys are written alike. NULL: no memory. */
static char *write_key(const struct auth_key *key, size_t *len)
{
	const char *const parts[] = { key->user, key->auth_user,
		key->database, key->sql, key->urgent ? "1" : "" };
	const size_t count = sizeof parts / sizeof parts[0];
	size_t at = 0;

	*len = 0;
	for (size_t i = 0; i < count; i++)
		*len += strlen(parts[i]) + 1;
	char *const text = *len > KEY_MAX ? NULL : mem_alloc(*len);

	for (size_t i = 0; text != NULL && i < count; i++) {
		const size_t n = strlen(parts[i]) + 1;

		memcpy(text + at, parts[i], n);
		at += n;
	}
	return text;
}

static struct auth_entry *make(struct auth_cache *c, const char *key,
    size_t len)
{
	struct auth_entry *const e = mem_new(MEM_ANSWER, sizeof *e + len);

	if (e == NULL)
		return NULL;
	e->cache = c;
	e->key_len = len;
	memcpy(e->key, key, len);
	HASH_ADD(hh, c->entries, key, e->key_len, e);
	if (e->hh.tbl == NULL) {
		mem_delete(MEM_ANSWER, e, size_of(e));
		return NULL;
	}
	DL_PREPEND(c->lists[AUTH_ENTRY_NEW], e);
	c->counts[AUTH_ENTRY_NEW]++;
	return e;
}

static struct auth_entry *find(struct auth_cache *c, const char *key,
    size_t len)
{
	struct auth_entry *e = NULL;

	HASH_FIND(hh, c->entries, key, len, e);
	return e;
}

struct auth_entry *auth_cache_find(struct auth_cache *c,
    const struct auth_key *key)
{
	size_t len;
	char *const text = c == NULL ? NULL : write_key(key, &len);
	struct auth_entry *const e = text == NULL ? NULL : find(c, text, len);

	mem_free(text);
	return e;
}

struct auth_entry *auth_cache_get(struct auth_cache *c,
    const struct auth_key *key)
{
	size_t len;
	char *const text = write_key(key, &len);
	struct auth_entry *e;

	if (text == NULL)
		return NULL;
	e = find(c, text, len);
	if (e == NULL)
		e = make(c, text, len);
	else
		set_state(e, e->state);
	mem_free(text);
	return e;
}

/* --- answers --- */

enum auth_age auth_entry_age(const struct auth_entry *e,
    const struct auth_ages *ages, usec_t now)
{
	const usec_t age = time_age(e->asked, now);

	switch (e->state) {
	case AUTH_ENTRY_FOUND:
		if (age < ages->young)
			return AUTH_AGE_YOUNG;
		return age < ages->stale ? AUTH_AGE_OLD : AUTH_AGE_NONE;
	case AUTH_ENTRY_ABSENT:
		if (age < ages->young && age < AUTH_CACHE_ABSENT_TIME)
			return AUTH_AGE_YOUNG;
		break;
	case AUTH_ENTRY_NEW:
	case AUTH_ENTRY_STATES:
		break;
	}
	return AUTH_AGE_NONE;
}

uint64_t auth_cache_last(const struct auth_cache *c)
{
	return c->last;
}

uint64_t auth_cache_begin(struct auth_cache *c)
{
	return ++c->last;
}

void auth_wait_begin(struct auth_wait *w, struct auth_entry *e, uint64_t after)
{
	w->entry = e;
	w->after = after;
	w->forgotten = false;
	DL_APPEND(e->waits, w);
}

void auth_wait_end(struct auth_wait *w)
{
	if (w->entry == NULL)
		return;
	DL_DELETE(w->entry->waits, w);
	w->entry = NULL;
}

static void tell(struct auth_wait *w, const struct err *why)
{
	const struct auth_entry *const e = w->entry;

	auth_wait_end(w);
	w->ready(w, e, why);
}

/* Returns 0, or -1: no memory for it. */
static int keep(struct auth_entry *e, const struct auth_news *n)
{
	if (n->found == NULL) {
		forget_answer(e);
		set_state(e, AUTH_ENTRY_ABSENT);
	} else {
		char *const name = mem_strdup(n->name);
		/* what was derived from the same one is kept */
		struct credentials *const found = name == NULL ? NULL :
		    credentials_renew(e->found, n->found->secret);

		if (found == NULL) {
			mem_free(name);
			return -1;
		}
		forget_answer(e);
		e->found = found;
		e->name = name;
		set_state(e, AUTH_ENTRY_FOUND);
	}
	e->asked = n->asked;
	e->answered = n->number;
	return 0;
}

/* Returns whether somebody waits for another fetch. Else e may be gone. */
static bool settle(struct auth_entry *e)
{
	const bool wanted = e->waits != NULL;

	if (!wanted && e->state == AUTH_ENTRY_NEW)
		drop(e);
	return wanted;
}

bool auth_entry_give_up(struct auth_entry *e)
{
	e->fetch = NULL;
	return settle(e);
}

bool auth_entry_is_unwanted(const struct auth_entry *e)
{
	return e->waits == NULL && e->state != AUTH_ENTRY_FOUND;
}

bool auth_entry_put(struct auth_entry *e, const struct auth_news *n)
{
	struct auth_cache *const c = e->cache;
	const struct err *why = n->why;
	struct auth_wait *w, *next;
	struct err nomem;

	e->fetch = NULL;
	if (why != NULL && n->denied && n->number >= e->least)
		disown(e);
	if (why == NULL && n->number >= e->least && keep(e, n) < 0) {
		disown(e);
		(void)err_nomem(&nomem);
		why = &nomem;
	}
	DL_FOREACH_SAFE(e->waits, w, next) {
		if (why != NULL || (e->answered == n->number &&
		    n->number > w->after))
			tell(w, why);
	}
	const bool wanted = settle(e);

	shrink(c, AUTH_ENTRY_FOUND, c->max);
	shrink(c, AUTH_ENTRY_ABSENT, AUTH_CACHE_ABSENT);
	return wanted;
}

/* --- forgetting --- */

size_t auth_cache_forget(struct auth_cache *c, const char *user)
{
	struct auth_entry *e, *next;
	size_t n = 0;

	if (c == NULL)
		return 0;
	HASH_ITER(hh, c->entries, e, next) {
		/* the user is what a key begins with */
		if (strcmp(e->key, user) != 0 &&
		    (e->name == NULL || strcmp(e->name, user) != 0)) {
			/* nobody knows yet to which name that leads */
			if (e->fetch != NULL)
				e->least = c->last + 1;
			continue;
		}
		n += e->state != AUTH_ENTRY_NEW;
		forget(e);
	}
	return n;
}

void auth_cache_clear(struct auth_cache *c)
{
	struct auth_entry *e, *next;

	if (c == NULL)
		return;
	HASH_ITER(hh, c->entries, e, next)
		forget(e);
}

void auth_cache_shed(struct auth_cache *c)
{
	for (int i = 0; c != NULL && i < AUTH_ENTRY_STATES; i++)
		shrink(c, (enum auth_entry_state)i, 0);
}

void auth_cache_tick(struct auth_cache *c, const struct auth_ages *ages,
    usec_t now)
{
	struct auth_entry *e;

	if (c == NULL)
		return;
	while ((e = last_of(c, AUTH_ENTRY_ABSENT)) != NULL &&
	    auth_entry_age(e, ages, now) == AUTH_AGE_NONE)
		drop(e);
	while ((e = last_of(c, AUTH_ENTRY_FOUND)) != NULL &&
	    auth_entry_age(e, ages, now) == AUTH_AGE_NONE)
		drop(e);
	shrink(c, AUTH_ENTRY_NEW, 0);
}
