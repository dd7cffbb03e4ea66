/* limit.c - server connections per database and per user, over all pools.
 * SPDX-License-Identifier: ISC */
#include "pool/limit.h"

#include <stddef.h>

#include "pool/catalog.h"

/* The one whose last traffic is longest ago, of a list of a pool and best. */
static struct pool_server *older(const struct pool *p, enum server_state state,
    struct pool_server *best)
{
	for (struct pool_server *ps = p->servers[state]; ps != NULL;
	    ps = ps->next)
		if (best == NULL || ps->used < best->used)
			best = ps;
	return best;
}

static struct pool_server *candidate(const struct pool *p,
    struct pool_server *best)
{
	best = older(p, SERVER_IDLE, best);
	/* a server under test is as good as promised to who waits there */
	if (p->client_count[CLIENT_WAITING] > 0)
		return best;
	best = older(p, SERVER_USED, best);
	return older(p, SERVER_TESTED, best);
}

enum limit_verdict limit_check(const struct pool *p,
    struct pool_server **victim)
{
	const struct database *db = p->key.db;
	const struct user *u = p->key.user;
	const bool db_full = p->limits.max_db > 0 &&
	    db->servers >= (unsigned)p->limits.max_db;
	const bool user_full = p->limits.max_user > 0 &&
	    u->servers >= (unsigned)p->limits.max_user;

	*victim = NULL;
	if (db_full) {
		for (struct pool *q = db->pools; q != NULL; q = q->db_next)
			*victim = candidate(q, *victim);
	} else if (user_full) {
		for (struct pool *q = u->pools; q != NULL; q = q->user_next)
			*victim = candidate(q, *victim);
	} else {
		return LIMIT_FREE;
	}
	return *victim != NULL ? LIMIT_EVICT : LIMIT_FULL;
}
