/* view_merge.c - things of all workers, in the order that one would show.
 * SPDX-License-Identifier: ISC */
#include "console/view_merge.h"

#include "base/container.h"
#include "base/cursor.h"
#include "console/admin.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/timers.h"

/* --- databases --- */

static const void *database_at(const struct cursor_node *n)
{
	return n == NULL ? NULL : container_of(n, struct database, node);
}

static const void *first_database(const struct admin *a)
{
	struct cursor_list *const all = &a->ss->catalog->all_databases;

	cursor_list_arrange(all);
	return database_at(all->first);
}

static const void *next_database(const void *item)
{
	const struct database *const db = item;

	return database_at(db->node.next);
}

static int compare_databases(const void *a, const void *b)
{
	const struct database *const x = a, *const y = b;

	return database_compare(&x->node, &y->node);
}

static const void *fold_database(struct view_merge *m, const void *item)
{
	return view_fold_database(&m->fold, m->first, item);
}

/* --- pools --- */

static const void *pool_at(const struct cursor_node *n)
{
	return n == NULL ? NULL : container_of(n, struct pool, node);
}

static const void *first_pool(const struct admin *a)
{
	struct cursor_list *const all = &a->ss->catalog->all_pools;

	cursor_list_arrange(all);
	return pool_at(all->first);
}

static const void *next_pool(const void *item)
{
	const struct pool *const p = item;

	return pool_at(p->node.next);
}

static int compare_pools(const void *a, const void *b)
{
	const struct pool *const x = a, *const y = b;

	return pool_compare(&x->node, &y->node);
}

static const void *fold_pool(struct view_merge *m, const void *item)
{
	return view_fold_pool(&m->fold, m->first, item);
}

/* --- logins --- */

static const void *client_at(struct timeout *t)
{
	return t == NULL ? NULL : client_of_timer(t);
}

static const void *first_login(const struct admin *a)
{
	return client_at(a->ss->login_list.head);
}

static const void *next_login(const void *item)
{
	const struct client *const c = item;

	return client_at(c->timer.next);
}

static int compare_logins(const void *a, const void *b)
{
	const struct client *const x = a, *const y = b;

	return (x->born > y->born) - (x->born < y->born);
}

/* --- all of a kind --- */

static const struct {
	const void *(*first)(const struct admin *a);
	const void *(*next)(const void *item);
	int (*compare)(const void *a, const void *b);
	/* As one with its parts; NULL: it is one. Or NULL. */
	const void *(*fold)(struct view_merge *m, const void *item);
} kinds[] = {
	[MERGE_DATABASES] = { first_database, next_database,
	    compare_databases, fold_database },
	[MERGE_POOLS] = { first_pool, next_pool, compare_pools, NULL },
	[MERGE_WHOLE_POOLS] = { first_pool, next_pool, compare_pools,
	    fold_pool },
	[MERGE_LOGINS] = { first_login, next_login, compare_logins, NULL },
};

void view_merge_begin(struct view_merge *m, const struct admin *a,
    enum merge_kind kind)
{
	m->kind = kind;
	m->first = a;
	m->a = NULL;
	m->count = 0;
	m->fold = (struct view_fold){ .pool = { .peer_id = 0 } };
	for (; a != NULL && m->count < USERS_CATALOGS; a = a->next) {
		m->of[m->count].a = a;
		m->of[m->count++].next = kinds[kind].first(a);
	}
}

/* Does the next of worker i come before that of worker k? */
static bool is_before(const struct view_merge *m, size_t i, size_t k)
{
	const void *const a = m->of[i].next, *const b = m->of[k].next;

	if (a == NULL || b == NULL)
		return a != NULL;
	return kinds[m->kind].compare(a, b) < 0;
}

static const void *take(struct view_merge *m)
{
	size_t first = 0;

	for (size_t i = 1; i < m->count; i++) {
		if (is_before(m, i, first))
			first = i;
	}
	const void *const item = m->of[first].next;

	m->a = m->of[first].a;
	if (item != NULL)
		m->of[first].next = kinds[m->kind].next(item);
	return item;
}

const void *view_merge_take(struct view_merge *m)
{
	const void *item, *whole = NULL;

	while (whole == NULL && (item = take(m)) != NULL)
		whole = kinds[m->kind].fold == NULL ? item :
		    kinds[m->kind].fold(m, item);
	return whole;
}

void view_merge_end(struct view_merge *m)
{
	view_fold_fini(&m->fold);
}
