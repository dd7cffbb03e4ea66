/* limit_workers.c - max_user_connections, where several workers have servers.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/evict.h"
#include "pool/limit.h"

/* Who has something to spare was called for nothing: again then. */
#define CALL_AGAIN (USEC / 100)

/* --- slots --- */

void limit_enter(struct user *u, enum server_state state)
{
	if (!u->promised)
		ledger_add(u->ledger, LEDGER_SERVERS);
	u->promised = false;
	if (state == SERVER_ACTIVE_CANCEL)
		ledger_add(u->ledger, LEDGER_CANCELERS);
}

void limit_leave(struct user *u, enum server_state state)
{
	if (state == SERVER_ACTIVE_CANCEL)
		ledger_give(u->ledger, LEDGER_CANCELERS);
	ledger_give(u->ledger, LEDGER_SERVERS);
	/* it will see whether it is first */
	ledger_call_rival(u->ledger);
}

bool limit_take(struct pool *p)
{
	struct user *const u = p->key.user;
	const int max = p->limits.max_user;

	if (u->ledger == NULL)
		return true;
	if (max <= 0)
		ledger_add(u->ledger, LEDGER_SERVERS);
	else if (!ledger_take(u->ledger, LEDGER_SERVERS, (unsigned)max))
		return false;
	u->promised = true;
	return true;
}

void limit_give_back(struct pool *p)
{
	struct user *const u = p->key.user;

	if (!u->promised)
		return;
	u->promised = false;
	ledger_give(u->ledger, LEDGER_SERVERS);
	ledger_call_rival(u->ledger);
}

/* --- turns --- */

/* A pool that fails waits anew each time: nobody gives a good server for it. */
static usec_t since(const struct pool *p, usec_t now)
{
	const usec_t uncovered = pool_uncovered_since(p);

	if (p->failing)
		return now;
	return uncovered != 0 ? uncovered : pool_waiting_since(p);
}

struct pool *limit_tell(struct user *u, const struct catalog *c, usec_t now)
{
	struct pool *const p = u->pools == NULL ? NULL :
	    limit_next(u->pools, LIMIT_USER, c, now);
	struct ledger_want want = { 0 };

	if (p != NULL && p->limits.max_user > 0)
		want = (struct ledger_want){ .since = since(p, now),
			.in_need = p->server_count[SERVER_ACTIVE] == 0 };
	ledger_want(u->ledger, want);
	return p;
}

bool limit_ask(struct pool *p, const struct catalog *c, usec_t now)
{
	struct user *const u = p->key.user;

	if (u->ledger == NULL || p->limits.max_user <= 0)
		return false;
	const bool is_known = ledger_wants(u->ledger) != 0;

	if (limit_tell(u, c, now) == NULL)
		return false;
	/* whoever gave before it was told has called nobody */
	if (!limit_is_full(p, LIMIT_USER))
		return !is_known;
	if (!is_known || now - u->called_at >= CALL_AGAIN) {
		u->called_at = now;
		ledger_call_servers(u->ledger);
	}
	return false;
}

bool limit_is_rival_first(const struct pool *p)
{
	if (p->key.user->ledger == NULL || !limit_is_near(p, LIMIT_USER))
		return false;
	const usec_t own = pool_waiting_since(p);
	const usec_t other = ledger_rival(p->key.user->ledger).since;

	return other != 0 && (own == 0 || other < own);
}

bool limit_rival_takes_away(const struct pool *p)
{
	if (p->key.user->ledger == NULL || !limit_is_full(p, LIMIT_USER))
		return false;
	const usec_t other = ledger_rival(p->key.user->ledger).since;

	return other != 0 &&
	    other + p->limits.handover_delay <= pool_waiting_since(p);
}

/* (limit_check) */
static bool is_too_fresh(const struct pool_server *victim,
    struct ledger_want rival, usec_t now)
{
	const usec_t delay = victim->pool->limits.handover_delay;

	return now - victim->used < delay && !rival.in_need &&
	    now - rival.since < delay;
}

struct pool_server *limit_yield(struct user *u, const struct catalog *c,
    usec_t now)
{
	struct pool *const p = u->pools;

	if (p == NULL || !limit_is_full(p, LIMIT_USER))
		return NULL;
	const struct ledger_want rival = ledger_rival(u->ledger);
	struct pool_server *const victim = rival.since == 0 ? NULL :
	    evict_oldest(p, LIMIT_USER);
	const struct pool *const own = victim == NULL ? NULL :
	    limit_next(p, LIMIT_USER, c, now);

	if (victim == NULL || is_too_fresh(victim, rival, now) ||
	    (own != NULL && since(own, now) <= rival.since))
		return NULL;
	return victim;
}

void limit_pass_on(struct user *u)
{
	const usec_t own = ledger_wants(u->ledger);
	const usec_t other = ledger_rival(u->ledger).since;

	/* who is first is called by nobody: it looks by itself */
	if (other != 0 && (own == 0 || other < own) &&
	    (u->pools == NULL || !limit_is_full(u->pools, LIMIT_USER)))
		ledger_call_rival(u->ledger);
}
