/* view_merge.c - the things of all workers, shown as if one worker had them.
 * SPDX-License-Identifier: ISC */
#include "console/view_merge.h"

#include <stddef.h>
#include <stdint.h>

#include "base/container.h"
#include "base/cursor.h"
#include "console/admin.h"
#include "console/table.h"
#include "pool/catalog.h"
#include "pool/users.h"
#include "session/client.h"
#include "session/server.h"
#include "session/timers.h"

static struct database *view_merge_find_database(const struct admin *a,
    const struct database *db)
{
	return catalog_find_database(a->ss->catalog, db->name);
}

const struct pool *view_fold_part(const struct admin *a, const struct pool *p)
{
	struct catalog *const c = a->ss->catalog;
	struct database *const db = view_merge_find_database(a, p->key.db);
	struct user *const u = db == NULL ? NULL :
	    catalog_find_user(c, p->key.user->name);

	return u == NULL ? NULL : catalog_find_pool(c, db, u);
}

/* --- pools --- */

static void add_latencies(struct latencies *sum, const struct pool *p)
{
	/* counts that the hot path left out are to be added */
	latencies_settle((struct pool *)(uintptr_t)p);
	for (size_t i = 0; p->latencies != NULL && i < LATENCIES; i++) {
		const struct histogram *const h = &p->latencies->of[i];

		histogram_add(&sum->of[i], h);
		histogram_summary_add(&sum->of[i].last, &h->last);
	}
}

static void view_merge_add_pool(struct pool *sum, const struct pool *p)
{
	for (int i = 0; i < SERVER_STATES; i++)
		sum->server_count[i] += p->server_count[i];
	for (int i = 0; i < CLIENT_STATES; i++) {
		const struct pool_client *const head = p->clients[i];

		sum->client_count[i] += p->client_count[i];
		if (head != NULL && (sum->clients[i] == NULL ||
		    head->wait_since < sum->clients[i]->wait_since))
			sum->clients[i] = p->clients[i];
	}
	counters_add(&sum->counted.now, &p->counted.now);
	counters_add(&sum->counted.before, &p->counted.before);
	sum->pinned += p->pinned;
	sum->listeners += p->listeners;
	sum->lookups += p->lookups;
	sum->failing = sum->failing && p->failing;
	if (p->failing_since > sum->failing_since)
		sum->failing_since = p->failing_since;
}

const struct pool *view_fold_pool(struct view_fold *f, const struct admin *a,
    const struct pool *p)
{
	view_fold_fini(f);
	if (p->is_part)
		return NULL;
	if (p->share.ledger == NULL)
		return p;
	f->pool = *p;
	add_latencies(&f->latencies, p);
	for (; a != NULL; a = a->next) {
		const struct pool *const part = view_fold_part(a, p);

		if (part == NULL || part == p)
			continue;
		view_merge_add_pool(&f->pool, part);
		add_latencies(&f->latencies, part);
	}
	f->pool.latencies = &f->latencies;
	return &f->pool;
}

/* --- databases --- */

static void add_database(struct database *sum, const struct database *db)
{
	sum->servers += db->servers;
	sum->clients += db->clients;
	sum->logins += db->logins;
}

const struct database *view_fold_database(struct view_fold *f,
    const struct admin *a, const struct database *db)
{
	if (db->is_part)
		return NULL;
	if (db->share.ledger == NULL)
		return db;
	f->db = *db;
	f->db.pools = NULL;
	f->pool = (struct pool){ .key = { &f->db, NULL } };
	for (; a != NULL; a = a->next) {
		const struct database *const part =
		    view_merge_find_database(a, db);

		if (part == NULL)
			continue;
		if (part != db)
			add_database(&f->db, part);
		for (const struct pool *p = part->pools; p != NULL;
		    p = p->db_next) {
			view_merge_add_pool(&f->pool, p);
			f->db.pools = &f->pool;
		}
	}
	return &f->db;
}

void view_fold_fini(struct view_fold *f)
{
	latencies_fini(&f->latencies);
	f->latencies = (struct latencies){ .unassigned = 0 };
}

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

static const void *view_merge_pool_at(const struct cursor_node *n)
{
	return n == NULL ? NULL : container_of(n, struct pool, node);
}

static const void *first_pool(const struct admin *a)
{
	struct cursor_list *const all = &a->ss->catalog->all_pools;

	cursor_list_arrange(all);
	return view_merge_pool_at(all->first);
}

static const void *next_pool(const void *item)
{
	const struct pool *const p = item;

	return view_merge_pool_at(p->node.next);
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

static void view_merge_add(struct sums *sum, const struct sessions *ss)
{
	struct catalog *const c = ss->catalog;
	const int64_t users = (int64_t)users_count(c);
	struct dns_stat dns = { .names = 0 };

	if (ss->dns != NULL)
		dns_stat(ss->dns, &dns);
	sum->databases += HASH_COUNT(c->databases) - c->part_databases;
	/* each worker knows the users of the files */
	sum->users = users > sum->users ? users : sum->users;
	sum->pools += HASH_COUNT(c->pools);
	/* a part is none by itself */
	for (const struct pool *p = c->shared; p != NULL; p = p->shared_next)
		sum->pools -= p->is_part;
	sum->clients += c->clients;
	sum->logins += ss->logins;
	sum->servers += ss->servers;
	sum->dns.names += dns.names;
	sum->dns.zones += dns.zones;
	sum->dns.queries += dns.queries;
}

struct sums sums_of(const struct admin *a)
{
	struct sums sum = { .databases = 0 };

	for (; a != NULL; a = a->next)
		view_merge_add(&sum, a->ss);
	return sum;
}

/* What one worker has made another may have freed: the sum is right. */
struct mem_stat sums_of_memory(const struct admin *a, enum mem_kind kind)
{
	if (kind == MEM_LIBRARY)
		return mem_library();
	struct mem_stat sum = *mem_stat(kind);

	for (a = a->next; a != NULL; a = a->next) {
		const struct mem_stat *const st = &a->memory[kind];

		sum.used += st->used;
		sum.bytes += st->bytes;
		if (sum.size == 0)
			sum.size = st->size;
	}
	return sum;
}
