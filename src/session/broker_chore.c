/* broker_chore.c - a server that does not answer to a query of our own.
 *
 * Its host may have lost power, or a firewall the connection: nobody says so,
 * and the kernel tries for a quarter of an hour.
 * SPDX-License-Identifier: ISC */
#include "pool/hosts.h"
#include "pool/pool.h"
#include "session/broker.h"
#include "session/server.h"

static const enum close_reason late[] = {
	[CHORE_RESET] = CLOSE_RESET_QUERY_TIMEOUT,
	[CHORE_CHECK] = CLOSE_TEST_QUERY_TIMEOUT,
	[CHORE_PARAMS] = CLOSE_SERVER_PARAMETERS_TIMEOUT,
	[CHORE_ROLLBACK] = CLOSE_ROLLBACK_TIMEOUT,
	[CHORE_CLEAN] = CLOSE_CLEANING_TIMEOUT,
	[CHORE_CONNECT] = CLOSE_CLEANING_TIMEOUT,
	[CHORE_PROBE] = CLOSE_PROBE_TIMEOUT,
	[CHORE_LISTEN] = CLOSE_LISTENING_TIMEOUT,
	[CHORE_BRING] = CLOSE_LISTENING_TIMEOUT,
};

/* Is s as likely to be dead as a server at addr that is silent since then? */
static bool is_suspect(const struct server *s, const struct net_addr *addr,
    usec_t since)
{
	return s->ps.used <= since && net_equal(&s->addr, addr);
}

/* Servers at addr that have said nothing since then, either. */
static void close_suspects(struct pool *p, enum server_state state,
    const struct net_addr *addr, usec_t since)
{
	struct pool_server *ps = p->servers[state], *next;

	for (; ps != NULL && ps->state == state; ps = next) {
		struct server *const s = server_of(ps);

		next = ps->next;
		if (is_suspect(s, addr, since))
			server_close(s, late[CHORE_CHECK]);
	}
}

void broker_chore_late(struct server *s, usec_t since)
{
	struct pool *const p = s->ps.pool;
	const struct net_addr addr = s->addr;
	const bool check = s->chore == CHORE_CHECK;

	/* of a list the next is to be tried first */
	if (s->host.kind != HOST_NONE)
		hosts_failed(p, s->host.item, false, time_now());
	server_fail(s, late[s->chore]);
	if (!check)
		return;
	/* else each client would have to wait for one after the other */
	close_suspects(p, SERVER_USED, &addr, since);
	close_suspects(p, SERVER_IDLE, &addr, since);
}
