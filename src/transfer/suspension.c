/* suspension.c - stops sessions at points from which they can continue.
 * SPDX-License-Identifier: ISC */
#include "transfer/suspension.h"

#include <stdbool.h>
#include <stddef.h>
#include <utlist.h>

#include "base/container.h"
#include "broker/broker.h"
#include "broker/canceler.h"
#include "login/peer.h"
#include "notify/listener.h"
#include "pool/catalog.h"
#include "pool/lobby.h"
#include "relay/relay.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

static struct client *client_of_login(struct timeout *t)
{
	return container_of(t, struct client, timer);
}

/*
 * Can s stop? Its client has stopped, or there is none. Bytes on their way stay
 * as they are. If is_patient, a cancel request or a move of the listener may
 * end first.
 */
static bool server_can_rest(const struct server *s, bool is_patient)
{
	const struct client *const c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);

	return (c == NULL || stream_is_suspended(&c->stream)) &&
	    (!is_patient || (s->ps.cancels == 0 && s->canceler == NULL &&
	    s->own_query != OWN_QUERY_LISTEN &&
	    s->own_query != OWN_QUERY_BRING &&
	    s->keep.flight == NULL &&
	    (s->ps.state != SERVER_LISTENING ||
	    !listener_is_amid(s->ps.pool))));
}

/*
 * Stops clients wherever they are: bytes that are half sent, half passed on or
 * unread continue from there. The client of a lookup is one that logs in.
 */
static void rest_clients(struct pool *p, enum client_state state)
{
	struct pool_client *pc;

	DL_FOREACH(p->clients[state], pc) {
		if (!client_logs_in(client_of(pc)))
			stream_suspend(&client_of(pc)->stream);
	}
}

static unsigned rest_servers(struct pool *p, enum server_state state,
    bool is_patient)
{
	struct pool_server *ps;
	unsigned moving = 0;

	DL_FOREACH(p->servers[state], ps) {
		struct server *const s = server_of(ps);

		if (!stream_is_suspended(&s->stream) && server_can_rest(s,
		    is_patient))
			stream_suspend(&s->stream);
		moving += !stream_is_suspended(&s->stream);
	}
	return moving;
}

static void close_servers(struct pool *p, enum server_state state,
    enum close_reason reason)
{
	while (p->servers[state] != NULL)
		server_close(server_of(p->servers[state]), reason);
}

/*
 * No other states: a new connection belongs to no client, and may come at any
 * time.
 */
static const enum client_state busy_clients[] = { CLIENT_CANCEL_WAITING,
	CLIENT_CANCEL_SENT };
static const enum server_state busy_servers[] = { SERVER_ACTIVE_CANCEL,
	SERVER_BEING_CANCELED };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static unsigned count_busy(const struct pool *p)
{
	unsigned n = 0;

	for (size_t i = 0; i < COUNT(busy_clients); i++)
		n += p->client_count[busy_clients[i]];
	for (size_t i = 0; i < COUNT(busy_servers); i++)
		n += p->server_count[busy_servers[i]];
	return n;
}

static unsigned rest_pool(struct pool *p, bool is_patient)
{
	close_servers(p, SERVER_USED, CLOSE_UNSAFE_ON_SUSPEND);
	close_servers(p, SERVER_TESTED, CLOSE_UNSAFE_ON_SUSPEND);
	rest_clients(p, CLIENT_ACTIVE);
	rest_clients(p, CLIENT_WAITING);
	rest_clients(p, CLIENT_WELCOME);
	rest_clients(p, CLIENT_DEDICATED_WAITING);
	if (!is_patient)
		canceler_hold(p);
	return rest_servers(p, SERVER_ACTIVE, is_patient) +
	    rest_servers(p, SERVER_IDLE, is_patient) +
	    rest_servers(p, SERVER_LISTENING, is_patient) +
	    (is_patient ? count_busy(p) : 0);
}

static void rest_logins(struct sessions *ss)
{
	struct timeout *t;

	DL_FOREACH(ss->login_list.head, t)
		stream_suspend(&client_of_login(t)->stream);
}

/* A login at another worker may move here before it is complete. */
static bool is_last_login_over(struct sessions *ss)
{
	return ss->logins == 0 &&
	    (ss->others == 0 || lobby_is_empty(&ss->lobby));
}

unsigned suspension_turn(struct sessions *ss, bool is_patient)
{
	unsigned moving = 0;
	struct pool *p, *next;

	ss->still = ss->still || !is_patient || is_last_login_over(ss);
	ss->cancels_held = !is_patient;
	if (ss->still)
		rest_logins(ss);
	else
		moving = ss->logins;
	HASH_ITER(hh, ss->catalog->pools, p, next) {
		if (!p->key.db->console)
			moving += rest_pool(p, is_patient);
	}
	/* a request to a peer occupies nothing here */
	for (const struct peer *peer = is_patient ? ss->peers : NULL; peer != NULL;
	    peer = peer->hh.next)
		moving += count_busy(&peer->pool);
	return moving;
}

static void each_stream(struct pool *p, void (*act)(struct stream *s))
{
	struct pool_client *pc;
	struct pool_server *ps;

	for (int i = 0; i < CLIENT_STATES; i++) {
		DL_FOREACH(p->clients[i], pc)
			act(&client_of(pc)->stream);
	}
	for (int i = 0; i < SERVER_GONE; i++) {
		DL_FOREACH(p->servers[i], ps)
			act(&server_of(ps)->stream);
	}
}

void suspension_give(struct sessions *ss)
{
	struct pool *p, *next;

	HASH_ITER(hh, ss->catalog->pools, p, next) {
		if (!p->key.db->console)
			each_stream(p, stream_give);
	}
}

static void unsuspend_pool(struct pool *p)
{
	struct pool_client *pc;
	struct pool_server *ps;

	for (int i = 0; i < CLIENT_STATES; i++) {
		DL_FOREACH(p->clients[i], pc)
			relay_unsuspend(client_of(pc));
	}
	for (int i = 0; i < SERVER_GONE; i++) {
		DL_FOREACH(p->servers[i], ps)
			stream_unsuspend(&server_of(ps)->stream);
	}
}

void suspension_end(struct sessions *ss)
{
	struct pool *p, *next;
	struct timeout *t;

	ss->still = ss->cancels_held = false;
	DL_FOREACH(ss->login_list.head, t)
		stream_unsuspend(&client_of_login(t)->stream);
	/* a client continues only if its server can */
	HASH_ITER(hh, ss->catalog->pools, p, next)
		each_stream(p, stream_take_back);
	HASH_ITER(hh, ss->catalog->pools, p, next)
		unsuspend_pool(p);
	HASH_ITER(hh, ss->catalog->pools, p, next)
		canceler_go_on(p);
	broker_pause_changed(ss);
}
