/* catalog_order.c - the order in which all are listed, or looked after.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "pool/catalog.h"

int database_compare(const struct cursor_node *a, const struct cursor_node *b)
{
	return strcmp(container_of(a, struct database, node)->name,
	    container_of(b, struct database, node)->name);
}

int pool_compare(const struct cursor_node *a, const struct cursor_node *b)
{
	const struct pool_key *const x =
	    &container_of(a, struct pool, node)->key;
	const struct pool_key *const y =
	    &container_of(b, struct pool, node)->key;
	const int d = strcmp(x->db->name, y->db->name);

	return d != 0 ? d : strcmp(x->user->name, y->user->name);
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
