/* cancel.c - query cancellation that hits nobody else's query.
 * SPDX-License-Identifier: ISC */
#include "broker/cancel.h"

#include "base/err.h"
#include "broker/canceler.h"
#include "login/peer.h"
#include "proto/startup.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"

/*
 * Is s given the parameters of its client, whose query comes right behind?
 * Then the request is for that query, and waits as long as that.
 */
static bool runs_soon(const struct client *owner, const struct server *s)
{
	return (s->own_query == OWN_QUERY_PARAMS ||
	    s->own_query == OWN_QUERY_BASE) &&
	    (owner->carry.len > 0 || s->keep.flight != NULL);
}

/*
 * Which server runs the query, or does so soon? NULL and *why: none that could
 * be asked.
 */
static struct server *find_target(const struct client *owner,
    enum close_reason *why)
{
	*why = CLOSE_BAD_CANCEL_REQUEST;
	if (owner == NULL)
		return NULL;
	*why = CLOSE_CANCEL_IDLE_CLIENT;
	if (owner->pc.server == NULL)
		return NULL;
	struct server *s = server_of(owner->pc.server);

	*why = CLOSE_CANCEL_SETTING_VARS;
	if (s->own_query != OWN_QUERY_NONE && !runs_soon(owner, s))
		return NULL;
	*why = CLOSE_BAD_CANCEL_KEY;
	return s->key_len == 0 ? NULL : s;
}

static bool cancel_is_of_peer(const struct sessions *ss, const uint8_t *key,
    size_t len)
{
	const int own = sessions_settings(ss)->peer_id;

	/* the first worker alone talks to peers, and gets their keys */
	return own > 0 && ss->worker == 0 && len >= CLIENT_KEY_BYTES &&
	    len <= CLIENT_KEY_MAX &&
	    cancel_key_peer(key) != own;
}

void cancel_request(struct client *c, const uint8_t *key, size_t len)
{
	struct client *const owner = client_find(c->ss, key, len);
	enum close_reason why;

	if (owner == NULL && cancel_is_of_peer(c->ss, key, len)) {
		peer_forward(c, key, len);
		return;
	}
	why = owner != NULL && owner->role->cancel != NULL ?
	    owner->role->cancel(owner) : CLOSE_NONE;
	if (why != CLOSE_NONE) {
		client_close(c, why);
		return;
	}
	struct server *const target = find_target(owner, &why);

	if (target == NULL) {
		client_close(c, why);
		return;
	}
	(void)canceler_enqueue(c, target->ps.pool,
	    &(struct cancel_request){ .target = target });
}

int cancel_by_admin(struct client *owner, struct err *e)
{
	struct server *target;
	enum close_reason why;

	if (owner->pc.state == CLIENT_WAITING &&
	    owner->role->cancel(owner) != CLOSE_NONE)
		return 0;
	target = find_target(owner, &why);
	if (target == NULL || target->own_query != OWN_QUERY_NONE)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "client runs no query that could be canceled");
	return canceler_want(target) == 0 ? 0 : err_set(e,
	    ERRCODE_TOO_MANY_CONNECTIONS,
	    "no connection for a cancel request is free");
}

void cancel_connected(struct server *canceler)
{
	if (canceler->ps.pool->peer_id != 0)
		peer_connected(canceler);
	else
		canceler_connected(canceler);
}
