/* cancel.c - query cancellation that hits nobody else's query.
 *
 * A request is bound to the server that runs the client's query. The bond is
 * cut when that server is released, so a late request is never sent; and a
 * server at which one is aimed is lent to nobody else before the canceler's
 * connection is closed by PostgreSQL, which it does after the signal.
 *
 * A target has one canceler at a time, whatever the number of requests: it
 * serves all that have come when it is connected, and those that come later
 * may mean a later query, so they wait for the next one.
 * SPDX-License-Identifier: ISC */
#include "session/cancel.h"

#include <stddef.h>
#include <string.h>

#include "io/loop.h"
#include "proto/cancel_key.h"
#include "proto/msg.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/peer.h"
#include "session/server.h"
#include "session/server_launch.h"
#include "session/sessions.h"

#define CANCEL_REQUEST 80877102
#define GAVE_UP "client gave up on cancel request, so we also give up " \
	"forwarding to server"

/* --- requests --- */

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

/* Part a target from its canceler, which is closed if it has sent nothing. */
static void drop_canceler(struct server *target)
{
	struct server *const canceler = target->canceler;

	target->canceler = NULL;
	canceler->target = NULL;
	if (!canceler->sent)
		server_close(canceler, GAVE_UP);
}

static bool is_wanted(const struct server *target)
{
	if (target->cancel_wanted)
		return true;
	const struct pool_client *pc =
	    target->ps.pool->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL && client_of((struct pool_client *)pc)->cancel !=
	    target)
		pc = pc->next;
	return pc != NULL;
}

static void on_leave(struct client *c)
{
	struct server *const target = c->cancel;

	c->cancel = NULL;
	if (target == NULL || c->pc.state != CLIENT_CANCEL_WAITING)
		return;
	/* once sent, its end must be awaited: the target depends on it */
	if (target->canceler != NULL && !target->canceler->sent &&
	    !is_wanted(target))
		drop_canceler(target);
}

static void ignore(struct client *c)
{
	(void)c;
}

/* Gets no answer, and so need not stay for it: no matter who hangs up. */
static const struct client_role role = {
	.name = "cancel",
	.mute = true,
	.time_out = offsetof(struct sessions, cancel_list),
	.input = ignore,
	.leave = on_leave,
};

void cancel_enqueue(struct client *c, struct pool *p)
{
	client_become(c, &role);
	c->pc.pool = p;
	pool_client_set(&c->pc, CLIENT_CANCEL_WAITING);
	stream_pause(&c->stream);
	/* a burst of requests is looked at once */
	broker_touch(c->ss, p);
}

static bool is_of_peer(const struct sessions *ss, const uint8_t *key,
    size_t len)
{
	const int own = sessions_settings(ss)->peer_id;

	return own > 0 && len >= CLIENT_KEY_BYTES &&
	    len <= CLIENT_KEY_MAX &&
	    cancel_key_peer(key) != own;
}

void cancel_request(struct client *c, const uint8_t *key, size_t len)
{
	struct client *const owner = client_find(c->ss, key, len);
	const char *why;

	if (owner == NULL && is_of_peer(c->ss, key, len)) {
		peer_forward(c, key, len);
		return;
	}
	why = owner != NULL && owner->role->cancel != NULL ?
	    owner->role->cancel(owner) : NULL;
	if (why != NULL) {
		client_close(c, why);
		return;
	}
	struct server *const target = find_target(owner, &why);

	if (target == NULL) {
		client_close(c, why);
		return;
	}
	c->cancel = target;
	cancel_enqueue(c, target->ps.pool);
}

/* Close the requests of a list that are bound to s. */
static void close_bound(struct pool_client *pc, const struct server *s,
    const char *why)
{
	while (pc != NULL) {
		struct client *const c = client_of(pc);

		pc = pc->next;
		if (c->cancel == s)
			client_close(c, why);
	}
}

/* --- cancelers --- */

/* The first request of p whose target has no canceler. */
static struct client *next_request(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL && client_of(pc)->cancel->canceler != NULL)
		pc = pc->next;
	return pc == NULL ? NULL : client_of(pc);
}

/* (spec/pooling.md section 18, "Limits") */
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
		struct server *const target = c->cancel;

		target->canceler = server_launch_canceler(target);
		if (target->canceler == NULL)
			close_bound(p->clients[CLIENT_CANCEL_WAITING], target,
			    "failed cancel request");
	}
}

int cancel_by_admin(struct client *owner, struct err *e)
{
	struct server *target;
	const char *why;

	if (owner->pc.state == CLIENT_WAITING &&
	    owner->role->cancel(owner) != NULL)
		return 0;
	target = find_target(owner, &why);
	if (target == NULL)
		return err_set(e, "08P01",
		    "client runs no query that could be canceled");
	if (target->canceler == NULL && has_room(target->ps.pool)) {
		target->cancel_wanted = true;
		target->canceler = server_launch_canceler(target);
		target->cancel_wanted = target->canceler != NULL;
	} else if (target->canceler != NULL && !target->canceler->sent) {
		target->cancel_wanted = true;
	}
	/* one that was sent may have meant an earlier query */
	return target->cancel_wanted ? 0 : err_set(e, "53300",
	    "no connection for a cancel request is free");
}

int cancel_send(struct server *canceler, const uint8_t *key, size_t len)
{
	uint8_t head[8];
	struct iovec iov[] = { { head, sizeof head }, { (void *)key, len } };

	msg_put_u32(head, (uint32_t)(sizeof head + len));
	msg_put_u32(head + 4, CANCEL_REQUEST);
	if (stream_write(&canceler->stream, iov, 2) != STREAM_SENT) {
		server_close(canceler, "failed cancel request");
		return -1;
	}
	canceler->sent = true;
	return 0;
}

void cancel_sent(struct client *c, struct server *canceler)
{
	timeout_stop(&c->timer);
	c->cancel = canceler;
	pool_client_set(&c->pc, CLIENT_CANCEL_SENT);
}

void cancel_connected(struct server *canceler)
{
	struct server *const target = canceler->target;
	struct pool_client *pc, *next;

	if (canceler->ps.pool->peer_id != 0) {
		peer_connected(canceler);
		return;
	}
	if (target == NULL) {
		server_close(canceler, GAVE_UP);
		return;
	}
	if (cancel_send(canceler, target->key, target->key_len) < 0)
		return;
	target->ps.cancels++;
	target->cancel_wanted = false;
	pc = target->ps.pool->clients[CLIENT_CANCEL_WAITING];
	for (; pc != NULL; pc = next) {
		next = pc->next;
		if (client_of(pc)->cancel == target)
			cancel_sent(client_of(pc), canceler);
	}
}

void cancel_input(struct server *canceler)
{
	ssize_t n;

	do
		n = stream_read(&canceler->stream,
		    loop_buffer(canceler->ss->loop), LOOP_BUFFER);
	while (n > 0);
	if (n != STREAM_NONE)
		server_close(canceler, "successfully sent cancel request");
}

void cancel_failed(struct server *canceler)
{
	/* a signal may still come: nobody else may get that server */
	if (canceler->sent && canceler->target != NULL)
		canceler->target->ps.close_needed = true;
}

/* --- ends --- */

void cancel_detach(struct server *target)
{
	struct pool *p = target->ps.pool;

	if (target->cancel_wanted) {
		target->cancel_wanted = false;
		if (target->canceler != NULL && !target->canceler->sent &&
		    !is_wanted(target))
			drop_canceler(target);
	}
	if (p->clients[CLIENT_CANCEL_WAITING] != NULL)
		close_bound(p->clients[CLIENT_CANCEL_WAITING], target,
		    "not sending cancel request for client that is now idle");
}

void cancel_target_gone(struct server *target)
{
	cancel_detach(target);
	if (target->canceler != NULL)
		drop_canceler(target);
}

/* Nothing was sent; those who waited for it wait in vain. */
static void give_up(struct server *s, struct server *target)
{
	struct pool_client *waiting =
	    s->ps.pool->clients[CLIENT_CANCEL_WAITING];

	/* a peer's canceler was there for all that wait, not bound to any */
	if (target != NULL || s->ps.pool->peer_id != 0)
		close_bound(waiting, target, "failed cancel request");
}

void cancel_canceler_gone(struct server *s)
{
	struct server *const target = s->target;

	s->target = NULL;
	if (target != NULL)
		target->canceler = NULL;
	if (!s->sent) {
		give_up(s, target);
		return;
	}
	close_bound(s->ps.pool->clients[CLIENT_CANCEL_SENT], s,
	    "successfully sent cancel request");
	if (target != NULL && --target->ps.cancels == 0 &&
	    target->ps.state == SERVER_BEING_CANCELED)
		broker_chore_done(target);
}
