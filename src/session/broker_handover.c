/* broker_handover.c - servers of a part that are for clients of another one.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <utlist.h>

#include "base/ledger.h"
#include "pool/limit.h"
#include "session/broker.h"
#include "session/broker_parts.h"
#include "session/server.h"
#include "session/server_move.h"
#include "session/sessions.h"

/* --- forced --- */

/* What is in the mail counts where all see it, as with parts. */
static void share(const struct sessions *ss, struct limit_share *of,
    struct limit_name name, unsigned taken)
{
	const struct catalog_part *const part = &ss->catalog->part;

	if (of->ledger != NULL || limit_share_open(of, part->book,
	    part->index, name) < 0)
		return;
	for (; taken > 0; taken--)
		ledger_add(of->ledger, LEDGER_SERVERS);
}

static void share_all(const struct sessions *ss, struct pool *p)
{
	struct database *const db = p->key.db;

	share(ss, &db->share, (struct limit_name){ .name = db->name },
	    db->servers);
	share(ss, &p->share, (struct limit_name){ db->name,
	    p->key.user->name }, pool_total(p));
}

/* --- */

bool broker_hands_over(struct server *s)
{
	struct sessions *const ss = s->ss;

	if (!ss->forced || !server_may_leave(s))
		return false;
	s->ps.trip = TRIP_AHEAD;
	s->ps.to = (uint8_t)((ss->worker + 1) % (ss->others + 1));
	broker_touch(ss, s->ps.pool);
	return true;
}

void broker_send_off(struct sessions *ss, struct pool *p)
{
	struct pool_server *ps, *next;

	if (ss->forced)
		share_all(ss, p);
	DL_FOREACH_SAFE(p->servers[SERVER_IDLE], ps, next) {
		if (ps->trip != TRIP_AHEAD)
			continue;
		ps->trip = TRIP_NONE;
		if (server_may_leave(server_of(ps)))
			(void)server_depart(server_of(ps), ps->to);
	}
}
