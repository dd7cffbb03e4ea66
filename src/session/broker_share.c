/* broker_share.c - the limit of a user who has servers at several workers.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "base/ledger.h"
#include "pool/limit.h"
#include "session/broker.h"
#include "session/broker_parts.h"
#include "session/server.h"
#include "session/sessions.h"

/* Clients of other workers wait longer for what is free here. */
static void yield(struct sessions *ss, struct user *u)
{
	struct pool_server *ps;

	while ((ps = limit_yield(u, ss->catalog, time_now())) != NULL)
		server_close(server_of(ps), CLOSE_EVICTED);
	limit_pass_on(u);
}

void broker_called(struct sessions *ss, struct user *u)
{
	struct pool *const p = limit_tell(u, ss->catalog, time_now());

	if (p != NULL)
		broker_touch(ss, p);
	yield(ss, u);
}

bool broker_is_rival_first(struct sessions *ss, const struct pool *p)
{
	if (!limit_is_rival_first(p))
		return false;
	yield(ss, p->key.user);
	return true;
}

void broker_ask_others(struct sessions *ss, struct pool *p)
{
	if (limit_ask(p, ss->catalog, time_now()))
		broker_touch(ss, p);
}

void broker_join_limits(struct sessions *ss, struct pool *p)
{
	struct user *const u = p->key.user;

	limit_join(p);
	if (u->ledger == NULL || p->limits.max_user <= 0)
		return;
	if (ledger_wants(u->ledger) != 0)
		(void)limit_tell(u, ss->catalog, time_now());
	yield(ss, u);
}
