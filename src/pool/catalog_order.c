/* catalog_order.c - the order in which all are listed, or looked after.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "pool/catalog.h"

static int by_db_name(const struct database *a, const struct database *b)
{
	return strcmp(a->name, b->name);
}

static int by_pool_key(const struct pool *a, const struct pool *b)
{
	const int d = strcmp(a->key.db->name, b->key.db->name);

	return d != 0 ? d : strcmp(a->key.user->name, b->key.user->name);
}

void catalog_sort(struct catalog *c)
{
	HASH_SORT(c->databases, by_db_name);
	HASH_SORT(c->pools, by_pool_key);
}

struct database *catalog_turn_database(struct catalog *c)
{
	struct database *const db = c->turn_database != NULL ?
	    c->turn_database : c->databases;

	c->turn_database = db->hh.next;
	return db;
}

struct pool *catalog_turn_pool(struct catalog *c)
{
	struct pool *const p = c->turn_pool != NULL ? c->turn_pool : c->pools;

	c->turn_pool = p->hh.next;
	return p;
}
