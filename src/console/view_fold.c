/* view_fold.c - what has parts at several workers, shown as one.
 * SPDX-License-Identifier: ISC */
#include "console/view_fold.h"

#include <stdint.h>

#include "console/admin.h"

static struct database *find_database(const struct admin *a,
    const struct database *db)
{
	return catalog_find_database(a->ss->catalog, db->name);
}

const struct pool *view_fold_part(const struct admin *a, const struct pool *p)
{
	struct catalog *const c = a->ss->catalog;
	struct database *const db = find_database(a, p->key.db);
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

static void add_pool(struct pool *sum, const struct pool *p)
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
		add_pool(&f->pool, part);
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
		const struct database *const part = find_database(a, db);

		if (part == NULL)
			continue;
		if (part != db)
			add_database(&f->db, part);
		for (const struct pool *p = part->pools; p != NULL;
		    p = p->db_next) {
			add_pool(&f->pool, p);
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
