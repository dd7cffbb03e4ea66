/* broker_handover.c - servers of a part that are for clients of another one.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <utlist.h>

#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "pool/limit.h"
#include "pool/parts.h"
#include "session/server.h"
#include "session/sessions.h"
#include "transfer/server_move.h"

void broker_give_idle(struct pool *p)
{
	struct pool_server *ps;
	unsigned to;

	while (pool_pick_client(p) == NULL &&
	    (ps = pool_pick_server(p)) != NULL &&
	    limit_find_recipient(p, &to)) {
		struct server *const s = server_of(ps);

		if (!server_may_leave(s))
			return;
		/* see hands_over() */
		if (s->prepared.forgotten > 0)
			server_close(s, CLOSE_EVICTED);
		else if (!server_depart(s, to))
			return;
	}
}

void broker_arrived(struct sessions *ss, struct pool *p)
{
	broker_touch(ss, p);
	broker_touch_next(ss, p);
}

void broker_send_off(struct sessions *ss, struct pool *p)
{
	struct pool_server *ps, *next;

	/* what is in the mail counts where all see it, as with parts */
	if (ss->forced && ss->catalog->part.book != NULL)
		(void)parts_enter(p, ss->catalog);
	DL_FOREACH_SAFE(p->servers[SERVER_IDLE], ps, next) {
		if (ps->trip != TRIP_AHEAD)
			continue;
		ps->trip = TRIP_NONE;
		if (server_may_leave(server_of(ps)))
			(void)server_depart(server_of(ps), ps->to);
	}
}
