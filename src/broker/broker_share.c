/* broker_share.c - limits over the servers that several workers have.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "base/container.h"
#include "base/ledger.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "pool/limit.h"
#include "session/server.h"
#include "session/sessions.h"
#include "transfer/server_move.h"

/* A slot for a client of another worker: as a server of its pool, if it can be. */
static bool make_room(struct limit_share *s, struct pool_server *ps)
{
	struct server *const victim = server_of(ps);
	unsigned to;

	if (limit_goes_to_part(s, ps, &to) && server_may_leave(victim) &&
	    server_depart(victim, to))
		return false;
	server_close(victim, CLOSE_EVICTED);
	return true;
}

/* Clients of other workers wait longer for what is free here. */
static void yield(struct sessions *ss, struct limit_share *s)
{
	struct pool_server *ps;

	if (s->kind == LIMIT_POOL)
		broker_give_idle(container_of(s, struct pool, share));
	while ((ps = limit_yield(s, ss->catalog, time_now())) != NULL &&
	    make_room(s, ps))
		continue;
	limit_pass_on(s);
}

void broker_called(struct sessions *ss, struct limit_share *s)
{
	struct pool *const p = limit_tell(s, ss->catalog, time_now());

	if (p != NULL)
		broker_touch(ss, p);
	yield(ss, s);
}

bool broker_is_rival_first(struct sessions *ss, const struct pool *p)
{
	if (!limit_is_rival_first(p))
		return false;
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (s->ledger != NULL)
			yield(ss, s);
	}
	return true;
}

void broker_ask_others(struct sessions *ss, struct pool *p)
{
	if (limit_ask(p, ss->catalog, time_now()))
		broker_touch(ss, p);
}

void broker_join_limits(struct sessions *ss, struct pool *p)
{
	limit_join(p);
	for (int kind = 0; kind < LIMIT_SHARES; kind++) {
		struct limit_share *const s = limit_share_of(p,
		    (enum limit_kind)kind);

		if (s->ledger == NULL || !limit_is_limited(p, s->kind))
			continue;
		if (ledger_wants(s->ledger) != 0)
			(void)limit_tell(s, ss->catalog, time_now());
		yield(ss, s);
	}
}
