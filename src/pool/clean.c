/* clean.c - servers that no client has had, for auth_query.
 * SPDX-License-Identifier: ISC */
#include "pool/clean.h"

#include "pool/pool.h"

/*
 * The last idle server that is (not) lent: lent servers rest in front, mostly.
 */
static struct pool_server *last_idle(const struct pool *p, bool lent)
{
	struct pool_server *head = p->servers[SERVER_IDLE], *ps = head;

	while (ps != NULL) {
		ps = ps->prev;
		if (ps->lent == lent && pool_is_usable(ps))
			return ps;
		if (ps == head)
			return NULL;
	}
	return NULL;
}

struct pool_server *clean_pick(const struct pool *p)
{
	return last_idle(p, false);
}

struct pool_server *clean_pick_lent(const struct pool *p)
{
	return last_idle(p, true);
}

struct pool_client *clean_pick_other(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_WAITING];

	while (pc != NULL && pc->lookup)
		pc = pc->next;
	return pc;
}

static bool has_clean(const struct pool *p, enum server_state state)
{
	const struct pool_server *ps = p->servers[state];

	while (ps != NULL && (ps->lent || !pool_is_usable(ps)))
		ps = ps->next;
	return ps != NULL;
}

bool clean_is_wanted(const struct pool *p, usec_t now)
{
	return p->lookups > 0 && p->server_count[SERVER_LOGIN] == 0 &&
	    pool_may_retry(p, now) && !has_clean(p, SERVER_IDLE) &&
	    !has_clean(p, SERVER_ACTIVE) && !has_clean(p, SERVER_TESTED);
}
