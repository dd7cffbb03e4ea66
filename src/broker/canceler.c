/* canceler.c - connections that bring cancel requests, each bound to its target.
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
#include "broker/canceler.h"

#include <stddef.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "io/loop.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_launch.h"

#define CANCEL_REQUEST 80877102

static struct cancel_request *request_of(struct pool_client *pc)
{
	return client_of(pc)->request;
}

/* --- the bond --- */

bool canceler_is_wanted(const struct server *target)
{
	if (target->cancel_wanted)
		return true;
	const struct pool_client *pc =
	    target->ps.pool->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL &&
	    request_of((struct pool_client *)pc)->target != target)
		pc = pc->next;
	return pc != NULL;
}

/* Part a target from its canceler, which is closed if it has sent nothing. */
static void drop_canceler(struct server *target, enum close_reason why)
{
	struct server *const canceler = target->canceler;

	target->canceler = NULL;
	canceler->target = NULL;
	if (!canceler->sent)
		server_close(canceler, why);
}

/* Close the clients of a list whose request is for s, or was sent by s. */
static void close_bound(struct pool_client *pc, const struct server *s,
    enum close_reason why)
{
	while (pc != NULL) {
		struct client *const c = client_of(pc);

		pc = pc->next;
		if ((c->request->canceler == NULL ? c->request->target :
		    c->request->canceler) == s)
			client_close(c, why);
	}
}

/* --- requests --- */

/* c wants its request served no more. */
static void canceler_on_leave(struct client *c)
{
	struct cancel_request *const r = c->request;
	struct server *const target = r->target;

	if (c->pc.pool->peer_id != 0)
		catalog_count_request(c->ss->catalog, -1);
	/* c stands in its list yet */
	r->target = r->canceler = NULL;
	/* once sent, its end must be awaited: the target depends on it */
	if (target != NULL && target->canceler != NULL &&
	    !target->canceler->sent && !canceler_is_wanted(target))
		drop_canceler(target, CLOSE_CANCEL_GIVEN_UP);
	c->request = NULL;
	secret_wipe(r->key, sizeof r->key);
	mem_free(r);
}

static void canceler_ignore(struct client *c)
{
	(void)c;
}

static struct timeout_list *canceler_time_out(struct sessions *ss)
{
	return &ss->cancel_list;
}

/* A client that gets no answer need not stay: its hanging up means nothing. */
static const struct client_role role = {
	.name = "cancel",
	.mute = true,
	.time_out = canceler_time_out,
	.input = canceler_ignore,
	.leave = canceler_on_leave,
};

int canceler_enqueue(struct client *c, struct pool *p,
    const struct cancel_request *r)
{
	struct cancel_request *const copy = mem_dup(r, sizeof *r);

	if (copy == NULL) {
		client_close(c, CLOSE_NO_MEMORY_FOR_CANCEL);
		return -1;
	}
	client_become(c, &role);
	c->request = copy;
	c->pc.pool = p;
	pool_client_set(&c->pc, CLIENT_CANCEL_WAITING);
	stream_pause(&c->stream);
	/* a burst of requests is looked at once */
	catalog_touch_pool(c->ss->catalog, p);
	return 0;
}

/* --- from the request to its end --- */

/* A target with an own query has not got the query yet that is to be canceled. */
static bool is_due(const struct server *target)
{
	return target->canceler == NULL && target->own_query == OWN_QUERY_NONE;
}

/* The first request of p whose target wants a canceler now. */
static struct client *canceler_next_request(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL && !is_due(request_of(pc)->target))
		pc = pc->next;
	return pc == NULL ? NULL : client_of(pc);
}

/* (spec/pooling.md section 18, "Limits") */
static bool canceler_has_room(const struct pool *p)
{
	return p->limits.size <= 0 ||
	    pool_total(p) < 2 * (unsigned)p->limits.size;
}

void canceler_launch(struct pool *p)
{
	struct client *c;

	while (canceler_has_room(p) && (c = canceler_next_request(p)) != NULL) {
		struct server *const target = c->request->target;

		target->canceler = server_launch_canceler(target);
		if (target->canceler == NULL)
			close_bound(p->clients[CLIENT_CANCEL_WAITING], target,
			    CLOSE_CANCEL_FAILED);
	}
}

int canceler_want(struct server *target)
{
	struct server *const canceler = target->canceler;

	if (canceler == NULL && canceler_has_room(target->ps.pool)) {
		target->cancel_wanted = true;
		target->canceler = server_launch_canceler(target);
		target->cancel_wanted = target->canceler != NULL;
	} else if (canceler != NULL && !canceler->sent) {
		target->cancel_wanted = true;
	}
	/* one that was sent may have meant an earlier query */
	return target->cancel_wanted ? 0 : -1;
}

int canceler_send(struct server *canceler, const uint8_t *key, size_t len)
{
	uint8_t head[8];
	struct iovec iov[] = { { head, sizeof head }, { (void *)key, len } };

	msg_put_u32(head, (uint32_t)(sizeof head + len));
	msg_put_u32(head + 4, CANCEL_REQUEST);
	if (stream_write(&canceler->stream, iov, 2) != STREAM_SENT) {
		server_close(canceler, CLOSE_CANCEL_FAILED);
		return -1;
	}
	canceler->sent = true;
	return 0;
}

void canceler_take(struct server *canceler, struct client *c)
{
	timeout_stop(&c->timer);
	c->request->target = NULL;
	c->request->canceler = canceler;
	pool_client_set(&c->pc, CLIENT_CANCEL_SENT);
}

void canceler_connected(struct server *canceler)
{
	struct server *const target = canceler->target;
	struct pool_client *pc, *next;

	if (target == NULL) {
		server_close(canceler, CLOSE_CANCEL_GIVEN_UP);
		return;
	}
	if (canceler_send(canceler, target->key, target->key_len) < 0)
		return;
	target->ps.cancels++;
	target->cancel_wanted = false;
	pc = target->ps.pool->clients[CLIENT_CANCEL_WAITING];
	for (; pc != NULL; pc = next) {
		next = pc->next;
		if (request_of(pc)->target == target)
			canceler_take(canceler, client_of(pc));
	}
}

void canceler_input(struct server *canceler)
{
	const ssize_t n = stream_read(&canceler->stream,
	    loop_buffer(canceler->ss->loop), LOOP_BUFFER);

	/* nothing that is said counts but the end: it may take its time */
	if (n > 0)
		stream_put_off(&canceler->stream);
	else if (n != STREAM_NONE)
		server_close(canceler, CLOSE_CANCEL_SENT);
}

/* --- SUSPEND --- */

void canceler_hold(struct pool *p)
{
	struct pool_server *ps, *next;

	DL_FOREACH_SAFE(p->servers[SERVER_ACTIVE_CANCEL], ps, next) {
		struct server *const s = server_of(ps);

		if (!s->sent && s->target != NULL)
			drop_canceler(s->target, CLOSE_UNSAFE_ON_SUSPEND);
	}
}

/* The requests that clients have brought canceler_launch() looks after. */
void canceler_go_on(struct pool *p)
{
	struct pool_server *ps;

	DL_FOREACH(p->servers[SERVER_ACTIVE], ps) {
		struct server *const target = server_of(ps);

		if (!target->cancel_wanted || target->canceler != NULL)
			continue;
		target->canceler = server_launch_canceler(target);
		target->cancel_wanted = target->canceler != NULL;
	}
}

/* --- what ends, or goes --- */

void canceler_failed(struct server *canceler)
{
	/* a signal may still come: nobody else may get that server */
	if (canceler->sent && canceler->target != NULL)
		canceler->target->ps.close_needed = true;
}

void canceler_detach(struct server *target)
{
	struct pool *p = target->ps.pool;

	if (!target->cancel_wanted &&
	    p->clients[CLIENT_CANCEL_WAITING] == NULL)
		return;
	if (target->cancel_wanted) {
		target->cancel_wanted = false;
		if (target->canceler != NULL && !target->canceler->sent &&
		    !canceler_is_wanted(target))
			drop_canceler(target, CLOSE_CANCEL_GIVEN_UP);
	}
	if (p->clients[CLIENT_CANCEL_WAITING] != NULL)
		close_bound(p->clients[CLIENT_CANCEL_WAITING], target,
		    CLOSE_CANCEL_TOO_LATE);
}

void canceler_target_gone(struct server *target)
{
	canceler_detach(target);
	if (target->canceler != NULL)
		drop_canceler(target, CLOSE_CANCEL_GIVEN_UP);
}

/* Nothing was sent; the clients of its requests have waited in vain. */
static void canceler_give_up(struct server *s, struct server *target)
{
	struct pool_client *waiting =
	    s->ps.pool->clients[CLIENT_CANCEL_WAITING];

	/* a peer's canceler was there for all that wait, not bound to any */
	if (target != NULL || s->ps.pool->peer_id != 0)
		close_bound(waiting, target, CLOSE_CANCEL_FAILED);
}

struct server *canceler_gone(struct server *s)
{
	struct server *const target = s->target;

	s->target = NULL;
	if (target != NULL)
		target->canceler = NULL;
	if (!s->sent) {
		canceler_give_up(s, target);
		return NULL;
	}
	close_bound(s->ps.pool->clients[CLIENT_CANCEL_SENT], s,
	    CLOSE_CANCEL_SENT);
	return target != NULL && --target->ps.cancels == 0 &&
	    target->ps.state == SERVER_BEING_CANCELED ? target : NULL;
}
