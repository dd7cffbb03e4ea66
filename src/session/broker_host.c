/* broker_host.c - a host is not, or no longer, what target_session_attrs asks for.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/net.h"
#include "pool/host_role.h"
#include "session/broker.h"
#include "session/server.h"
#include "session/sessions.h"

static bool is_same_host(const struct server *a, const struct server *b)
{
	if (a->host.kind != b->host.kind)
		return false;
	return a->host.kind == HOST_UNIX ?
	    strcmp(a->host.text, b->host.text) == 0 :
	    net_equal(&a->addr, &b->addr);
}

void broker_retire_host(struct pool *p, const struct server *of)
{
	struct pool_server *ps, *next;

	for (int state = SERVER_IDLE; state < SERVER_ACTIVE_CANCEL; state++) {
		DL_FOREACH_SAFE(p->servers[state], ps, next) {
			if (ps == &of->ps || !is_same_host(server_of(ps), of))
				continue;
			ps->close_needed = true;
			if (state == SERVER_IDLE || state == SERVER_USED)
				server_close(server_of(ps),
				    CLOSE_HOST_DOES_NOT_FIT);
		}
	}
	pool_recheck(p);
}

static bool has_one_primary(const struct pool *p)
{
	return p->limits.attrs == ATTRS_PRIMARY ||
	    p->limits.attrs == ATTRS_READ_WRITE;
}

/* The first in use or idle that is connected to a host in doubt. */
static struct server *find_doubted(const struct pool *p,
    const struct pool *judge)
{
	struct pool_server *ps;

	for (int state = SERVER_IDLE; state < SERVER_ACTIVE_CANCEL; state++) {
		DL_FOREACH(p->servers[state], ps) {
			const unsigned item = server_of(ps)->host.item;

			if (hosts_is_doubted(judge, item))
				return server_of(ps);
		}
	}
	return NULL;
}

void broker_host_fits(const struct server *s)
{
	const struct pool *const judge = s->ps.pool;
	struct server *old;

	if (judge->failures == NULL || !has_one_primary(judge))
		return;
	for (struct pool *p = s->ss->catalog->pools; p; p = p->hh.next) {
		if (!has_one_primary(p) || !hosts_are_same(p, judge))
			continue;
		/* the end of one may be that of others */
		while ((old = find_doubted(p, judge)) != NULL)
			server_close(old, CLOSE_HOST_DOES_NOT_FIT);
	}
}

void broker_host_changed(struct server *s, bool standby)
{
	s->standby = standby ? FACT_YES : FACT_NO;
	if (s->ps.pool->limits.attrs == ATTRS_ANY)
		return;
	s->ps.close_needed = true;
	for (struct pool *p = s->ss->catalog->pools; p; p = p->hh.next) {
		if (p->limits.attrs != ATTRS_ANY)
			broker_retire_host(p, s);
	}
}
