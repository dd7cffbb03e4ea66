/* shed.c - memory_limit is near: who must wait, and who must go.
 *
 * A client whose half-sent message is large waits first. If that does not help,
 * connections are closed: always the one that holds the most, of all workers.
 * SPDX-License-Identifier: ISC */
#include "login/shed.h"

#include <stdint.h>

#include "base/container.h"
#include "base/cursor.h"
#include "base/log.h"
#include "io/socket.h"
#include "io/tls.h"
#include "login/login_lobby.h"
#include "pool/catalog.h"
#include "pool/lobby.h"
#include "proto/prepared.h"
#include "proto/unnamed.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

#define PATIENCE USEC		/* that others wait before one of them goes */
#define AT_ONCE 16		/* a tick */
#define HELD_SHARE 32		/* of those that wait, one goes a tick */
#define STRANGERS 64		/* instead of one client */
#define TOLD_EVERY (10 * USEC)	/* to the log */

/* Of what others use, too, its share. */
static size_t statement_bytes(const struct client *c)
{
	const struct prepared_name *n;
	unsigned at = 0;
	size_t sum = 0;

	while ((n = slots_next(c->statements, &at)) != NULL)
		sum += prepared_name_bytes(n->name) +
		    prepared_text_bytes(n->stmt->len) / n->stmt->names;
	return sum;
}

static size_t bytes_of(const struct client *c)
{
	const struct server *const s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);
	size_t sum = c->carry.size + stream_queued(&c->stream) +
	    tls_memory(&c->stream) + statement_bytes(c) +
	    c->relay.own.text.size + c->relay.own.old.size;

	if (s != NULL)
		sum += s->carry.size + stream_queued(&s->stream);
	return sum;
}

/* The console stays reachable, and strangers are the lobby's. */
static bool may_go(const struct client *c)
{
	return client_is_open(c) && !client_logs_in(c) && c->console == NULL &&
	    c->pc.pool != NULL && !c->pc.pool->key.db->console;
}

static bool is_held(const struct client *c)
{
	return (c->stream.paused & STREAM_HELD) != 0;
}

/* NULL: there is none; held: of those that wait. */
static struct client *find_largest(struct sessions *ss, bool held,
    size_t *bytes)
{
	struct client *largest = NULL;
	struct cursor_node *node = ss->all_clients.first;

	*bytes = 0;
	for (; node != NULL; node = node->next) {
		struct client *const c =
		    container_of(node, struct client, node);

		if (!may_go(c) || (held && !is_held(c)))
			continue;
		const size_t n = bytes_of(c);

		if (n > *bytes) {
			largest = c;
			*bytes = n;
		}
	}
	return largest;
}

static void shed_drop(struct client *c)
{
	struct close_cause why = close_cause(CLOSE_MEMORY_LIMIT);

	why.hint = "The pooler is short of memory, and this connection held "
	    "the most. Raise memory_limit, or send smaller messages.";
	c->ss->tally.limits_hit[TALLY_memory_limit][0]++;
	client_fail_cause(c, why);
}

/* One alone holds too little to make a difference. Returns bytes, as below. */
static size_t expel_strangers(struct sessions *ss, size_t before)
{
	bool any = false;

	for (int i = 0; i < STRANGERS && ceiling_level() == CEILING_FULL &&
	    login_expel_oldest(ss, TALLY_memory_limit); i++)
		any = true;
	const size_t left = lobby_bytes(&ss->lobby);

	return !any ? 0 : left < before ? before - left : 1;
}

/*
 * Strangers are as one client. Returns the bytes that will be free at the end of
 * the turn; 0: nobody is left, or it is another worker's turn. The bid stands
 * until the next tick, so that no other worker drops one for the same bytes.
 */
static size_t drop_largest(struct sessions *ss, bool held)
{
	size_t bytes;
	struct client *const c = find_largest(ss, held, &bytes);
	const size_t strangers = held ? 0 : lobby_bytes(&ss->lobby);

	if (!ceiling_bid(ss->worker, bytes > strangers ? bytes : strangers))
		return 0;
	if (strangers > bytes)
		return expel_strangers(ss, strangers);
	shed_drop(c);
	return bytes;
}

/* The bytes of this worker's largest client, for the others. */
static void bid(struct sessions *ss)
{
	const size_t strangers = lobby_bytes(&ss->lobby);
	size_t bytes;

	(void)find_largest(ss, false, &bytes);
	(void)ceiling_bid(ss->worker, bytes > strangers ? bytes : strangers);
}

/* Those that may go on by now do. Returns the number of those that do not. */
static unsigned release_held(struct sessions *ss)
{
	struct cursor_node *node = ss->all_clients.first, *next;
	unsigned left = 0;

	for (; node != NULL; node = next) {
		struct client *const c =
		    container_of(node, struct client, node);

		next = node->next;
		if (!is_held(c))
			continue;
		/* it is not read, and so nothing else would tell */
		if (socket_is_left(c->stream.fd))
			client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		else if (ceiling_stops(c->carry.len))
			left++;
		else
			stream_unhold(&c->stream);
	}
	/* while it is tight, others will soon wait as these did */
	if (left == 0 && ceiling_level() == CEILING_CALM)
		ss->held_since = 0;
	return left;
}

/* Those that wait may be what it is short of. The more wait, the more go. */
static void drop_held(struct sessions *ss, unsigned held)
{
	const unsigned most = 1 + held / HELD_SHARE;

	for (unsigned i = 0; i < most && drop_largest(ss, true) > 0; i++)
		;
}

/* What nobody has a name for can be prepared again. */
static void shrink_caches(struct sessions *ss)
{
	if (ss->unnamed != NULL)
		(void)unnamed_make_room(ss->unnamed, ss->prepared, 0, 1);
}

static void shed_tell(struct sessions *ss, usec_t now)
{
	if (ss->worker != 0 || (ss->shed_told != 0 &&
	    now - ss->shed_told < TOLD_EVERY))
		return;
	ss->shed_told = now;
	log_warning("memory is short (%s): %zu of %zu MB are used "
	    "(memory_limit)", ceiling_level_name(), ceiling_used() >> 20,
	    ceiling_limit() >> 20);
}

void shed_tick(struct sessions *ss, usec_t now)
{
	const unsigned held = ss->held_since == 0 ? 0 : release_held(ss);

	if (ss->held_since != 0 && now - ss->held_since > PATIENCE)
		drop_held(ss, held);
	const bool full = ceiling_level() == CEILING_FULL;
	const bool known = ss->shed_full || ss->others == 0;

	ss->shed_full = full;
	if (ceiling_level() == CEILING_CALM) {
		(void)ceiling_bid(ss->worker, 0);
		return;
	}
	shed_tell(ss, now);
	shrink_caches(ss);
	/* each worker needs a tick to say what its largest client holds */
	if (full && !known) {
		bid(ss);
		return;
	}
	size_t gone = 0, bytes;

	for (int i = 0; i < AT_ONCE && ceiling_stays_full(gone) &&
	    !ceiling_is_hopeless(); i++) {
		if ((bytes = drop_largest(ss, false)) == 0)
			break;
		gone += bytes;
	}
}
