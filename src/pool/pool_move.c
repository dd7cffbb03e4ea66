/* pool_move.c - an idle server goes to the same pool of another worker.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_move.h"

#include <stddef.h>

#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/limit.h"

static struct ledger *ledger_of(const struct pool *p, int kind)
{
	return limit_share_of(p, (enum limit_kind)kind)->ledger;
}

struct pool_slots pool_server_leave(struct pool_server *ps, unsigned to)
{
	struct pool_slots slots = { .of[0].of = NULL };

	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct ledger *const l = ledger_of(ps->pool, kind);

		if (l != NULL)
			slots.of[kind] = ledger_send(l, LEDGER_SERVERS, to);
	}
	ps->trip = TRIP_MAIL;
	pool_server_set(ps, SERVER_GONE);
	ps->pool = NULL;
	return slots;
}

/* What was not shared where it comes from may be so here. */
static void receive(struct ledger *l, struct ledger_trip *sent)
{
	if (l == NULL)
		ledger_lose(sent);
	else if (sent->of != NULL)
		ledger_receive(l, sent);
	else
		ledger_add(l, LEDGER_SERVERS);
}

void pool_server_join(struct pool_server *ps, struct pool *p,
    struct pool_slots *slots)
{
	for (int kind = 0; kind < LIMIT_SHARES; kind++)
		receive(ledger_of(p, kind), &slots->of[kind]);
	ps->pool = p;
	pool_server_set(ps, SERVER_IDLE);
	ps->trip = TRIP_NONE;
}

void pool_slots_lose(struct pool_slots *slots)
{
	for (int kind = 0; kind < LIMIT_SHARES; kind++)
		ledger_lose(&slots->of[kind]);
}
