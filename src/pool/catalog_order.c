/* catalog_order.c - the order in which all are listed, or looked after.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "pool/catalog.h"

int database_compare(const struct database *a, const struct database *b)
{
	return strcmp(a->name, b->name);
}

int pool_compare(const struct pool *a, const struct pool *b)
{
	const int d = strcmp(a->key.db->name, b->key.db->name);

	return d != 0 ? d : strcmp(a->key.user->name, b->key.user->name);
}

void catalog_sort(struct catalog *c)
{
	if (!c->sorted) {
		HASH_SORT(c->databases, database_compare);
		HASH_SORT(c->pools, pool_compare);
		c->sorted = true;
		c->arranged = false;
	}
	/* amid a walk it would come to some twice, or never */
	if (c->arranged || c->all_databases.cursors != NULL ||
	    c->all_pools.cursors != NULL)
		return;
	cursor_list_empty(&c->all_databases);
	for (struct database *db = c->databases; db != NULL; db = db->hh.next)
		cursor_list_add(&c->all_databases, &db->node);
	cursor_list_empty(&c->all_pools);
	for (struct pool *p = c->pools; p != NULL; p = p->hh.next)
		cursor_list_add(&c->all_pools, &p->node);
	c->arranged = true;
}

void catalog_turn(struct catalog *c, usec_t now)
{
	wheel_turn(&c->database_due, now);
	wheel_turn(&c->pool_due, now);
}

struct database *catalog_turn_database(struct catalog *c)
{
	struct wheel_node *const n = wheel_take(&c->database_due);

	return n == NULL ? NULL : container_of(n, struct database, wheel);
}

struct pool *catalog_turn_pool(struct catalog *c)
{
	struct wheel_node *const n = wheel_take(&c->pool_due);

	return n == NULL ? NULL : container_of(n, struct pool, wheel);
}
