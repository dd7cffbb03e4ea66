/* listener_replace.c - one connection that listens takes the place of another.
 *
 * Both listen to all; the new one says a mark. Up to it notifications come from
 * the old one, behind it from the new one. If the old one was asked later, and
 * answers without having told the mark, they do not hear the same server.
 * SPDX-License-Identifier: ISC */
#include <utlist.h>

#include "notify/channels.h"
#include "notify/listener.h"
#include "notify/listener_parts.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

static void tell_ahead(struct listener *l)
{
	struct writer all = l->ahead;
	size_t size;

	writer_init(&l->ahead, CHANNELS_WAITING);
	for (size_t at = 0; at < all.len; at += size) {
		size = msg_size(all.at + at, UINT32_MAX);
		listener_tell(l, all.at + at, size);
	}
	writer_fini(&all);
}

static void stop(struct listener *l)
{
	l->replacing = REPLACING_NOTHING;
	l->past = 0;
}

static void take_over(struct listener *l)
{
	struct server *const old = l->server;
	const bool lost = (l->past & l->ear) == 0 || l->ahead.failed;
	const uint8_t ear = l->ear;

	l->server = l->next;
	l->next = NULL;
	l->ear ^= EAR_ONE | EAR_OTHER;
	stop(l);
	listener_forget_ear(l, ear);
	server_close(old, CLOSE_CONFIGURATION_CHANGED);
	if (lost) {
		listener_lose(l);
		listener_restore(l);
	}
	tell_ahead(l);
}

static void ask(struct listener *l, struct server *s)
{
	struct writer sql;

	writer_init(&sql, LISTENER_SQL);
	listener_text(&sql, KEEP_BEGIN);
	if (s == l->next) {
		l->mark = listener_draw(l);
		listener_write_mark(l, l->mark, &sql);
	}
	l->replacing = s == l->next ? REPLACING_MARKED : REPLACING_ASKED;
	(void)listener_ask(s, &sql, OWN_QUERY_LISTEN);
}

bool listener_replace(struct listener *l)
{
	const uint8_t both = EAR_ONE | EAR_OTHER;

	if (l->replacing == REPLACING_NOTHING) {
		if (listener_is_free(l->next) &&
		    !listener_synchronize(l, l->next) &&
		    l->next != NULL && l->marked == both)
			ask(l, l->next);
	} else if (l->replacing == REPLACING_ANSWERED ||
	    (l->replacing == REPLACING_TOLD && l->past == both)) {
		take_over(l);
	} else if (l->replacing == REPLACING_TOLD &&
	    listener_is_free(l->server)) {
		ask(l, l->server);
	}
	return l->replacing == REPLACING_NOTHING && l->server != NULL;
}

bool listener_replace_answered(struct listener *l, const struct server *s)
{
	if (l->replacing == REPLACING_MARKED && s == l->next)
		l->replacing = REPLACING_TOLD;
	else if (l->replacing == REPLACING_ASKED && s == l->server)
		l->replacing = REPLACING_ANSWERED;
	else
		return false;
	return true;
}

void listener_replace_failed(struct listener *l)
{
	const bool lost = (l->past & l->ear) != 0;

	stop(l);
	writer_fini(&l->ahead);
	if (!lost || l->server == NULL)
		return;
	listener_lose(l);
	l->to_ask = l->asked + 1;
}

/* Who is heard, or about to be, stays until there is another one. */
static void renew(const struct listener *l, struct server *s)
{
	if (s->phase == SERVER_PHASE_POOLED && l->clients != NULL)
		s->ps.close_needed = true;
	else
		server_close(s, CLOSE_CONFIGURATION_CHANGED);
}

void listener_renew(struct pool *p)
{
	if (p->hearing.listener != NULL && p->hearing.listener->next != NULL)
		renew(p->hearing.listener, p->hearing.listener->next);
	if (p->hearing.listener != NULL && p->hearing.listener->server != NULL)
		renew(p->hearing.listener, p->hearing.listener->server);
}
