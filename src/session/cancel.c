/* cancel.c - query cancellation that hits nobody else's query.
 *
 * A request is bound to the server that runs the client's query. The bond is
 * cut when that server is released, so a late request is never sent; and a
 * server at which one is aimed is lent to nobody else before the carrier's
 * connection is closed by PostgreSQL, which it does after the signal.
 * SPDX-License-Identifier: ISC */
#include "session/cancel.h"

#include <string.h>

#include "proto/msg.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/login.h"
#include "session/relay.h"
#include "session/server.h"
#include "session/sessions.h"

#define CANCEL_REQUEST 80877102

/* Which server runs the query? NULL and *why: none that could be asked. */
static struct server *find_target(const struct client *owner,
    const char **why)
{
	*why = "bad cancel request";
	if (owner == NULL)
		return NULL;
	*why = "cancel request for idle client";
	if (owner->pc.server == NULL)
		return NULL;
	struct server *s = server_of(owner->pc.server);

	*why = "ignoring cancel request for server that is setting vars";
	if (s->chore != CHORE_NONE)
		return NULL;
	*why = "bad cancel key";
	return s->key_len == 0 ? NULL : s;
}

void cancel_request(struct client *c, const uint8_t *key, size_t len)
{
	uint8_t mine[CLIENT_KEY_BYTES];
	const char *why;

	if (len == sizeof mine) {
		memcpy(mine, key, len);
		/* the forwarding budget is not part of the key */
		if (sessions_settings(c->ss)->peer_id > 0)
			mine[7] |= 3;
		key = mine;
	}
	struct client *owner = len == CLIENT_KEY_BYTES ?
	    client_find(c->ss, key) : NULL;

	if (owner != NULL && owner->pc.state == CLIENT_WAITING) {
		relay_cancel_wait(owner);
		client_close(c, "cancel request for waiting client");
		return;
	}
	struct server *target = find_target(owner, &why);

	if (target == NULL) {
		client_close(c, why);
		return;
	}
	login_free(&c->login);
	c->ss->logins--;
	c->cancel = target;
	c->pc.pool = target->ps.pool;
	pool_client_set(&c->pc, CLIENT_CANCEL_WAITING);
	timeout_start(&c->ss->cancel_list, &c->timer, time_now());
	stream_pause(&c->stream);
	cancel_launch(c->ss, c->pc.pool);
}

/* The first request of p that has no carrier yet. */
static struct client *next_request(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL && client_of(pc)->carried)
		pc = pc->next;
	return pc == NULL ? NULL : client_of(pc);
}

/* (pooling.md section 18, "Limits") */
static bool has_room(const struct pool *p)
{
	return p->limits.size <= 0 ||
	    pool_total(p) < 2 * (unsigned)p->limits.size;
}

void cancel_launch(struct sessions *ss, struct pool *p)
{
	struct client *c;

	(void)ss;
	while (has_room(p) && (c = next_request(p)) != NULL) {
		c->carried = true;
		if (server_launch_carrier(c->cancel, c) == NULL)
			client_close(c, "failed cancel request");
	}
}

void cancel_connected(struct server *carrier)
{
	struct server *target = carrier->target;
	uint8_t m[16];

	if (target == NULL || carrier->cancel == NULL) {
		server_close(carrier, "client gave up on cancel request, "
		    "so we also give up forwarding to server");
		return;
	}
	msg_put_u32(m, sizeof m);
	msg_put_u32(m + 4, CANCEL_REQUEST);
	memcpy(m + 8, target->key, sizeof target->key);
	if (stream_write_bytes(&carrier->stream, m, sizeof m) !=
	    STREAM_SENT) {
		server_close(carrier, "failed cancel request");
		return;
	}
	carrier->sent = true;
	target->ps.cancels++;
	timeout_stop(&carrier->cancel->timer);
	pool_client_set(&carrier->cancel->pc, CLIENT_CANCEL_SENT);
}

/* Let go of the requests in a list that are bound to target. */
static void detach_list(struct pool_client *pc, const struct server *target)
{
	while (pc != NULL) {
		struct client *c = client_of(pc);

		pc = pc->next;
		if (c->cancel == target)
			client_close(c, "not sending cancel request for "
			    "client that is now idle");
	}
}

void cancel_detach(struct server *target)
{
	struct pool *p = target->ps.pool;

	if (p->clients[CLIENT_CANCEL_WAITING] != NULL)
		detach_list(p->clients[CLIENT_CANCEL_WAITING], target);
}

void cancel_target_gone(struct server *target)
{
	struct pool_server *ps =
	    target->ps.pool->servers[SERVER_ACTIVE_CANCEL];

	cancel_detach(target);
	for (; ps != NULL; ps = ps->next)
		if (server_of(ps)->target == target)
			server_of(ps)->target = NULL;
}

/* The carrier of a request, if there is one. */
static struct server *find_carrier(const struct client *c)
{
	struct pool_server *ps = c->pc.pool == NULL ? NULL :
	    c->pc.pool->servers[SERVER_ACTIVE_CANCEL];

	while (ps != NULL && server_of(ps)->cancel != c)
		ps = ps->next;
	return ps == NULL ? NULL : server_of(ps);
}

void cancel_client_gone(struct client *c)
{
	struct server *carrier = find_carrier(c);

	c->cancel = NULL;
	if (carrier == NULL)
		return;
	carrier->cancel = NULL;
	/* once sent, its end must be awaited: the target depends on it */
	if (carrier->sent)
		return;
	carrier->target = NULL;
	server_close(carrier, "client gave up on cancel request, "
	    "so we also give up forwarding to server");
}

void cancel_carrier_gone(struct server *s)
{
	struct client *c = s->cancel;
	struct server *target = s->target;

	s->cancel = NULL;
	s->target = NULL;
	if (c != NULL)
		client_close(c, s->sent ? "successfully sent cancel request" :
		    "failed cancel request");
	if (!s->sent || target == NULL)
		return;
	if (--target->ps.cancels == 0 &&
	    target->ps.state == SERVER_BEING_CANCELED)
		broker_chore_done(target);
}
