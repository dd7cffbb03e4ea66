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

enum limit_verdict limit_check_own(const struct pool_client *pc, usec_t now,
    struct pool_server **victim, bool *reserve)
{
	const struct pool *p = pc->pool;
	const int size = p->limits.size;

	*reserve = false;
	if (size <= 0 || pool_total(p) < (unsigned)size)
		return limit_check(p, victim);
	*victim = older(p, SERVER_IDLE, NULL);
	*victim = older(p, SERVER_USED, *victim);
	if (*victim != NULL)
		return LIMIT_EVICT;
	*reserve = pool_reserve_is_due(p, pc, now);
	return *reserve ? limit_check(p, victim) : LIMIT_FULL;
}
