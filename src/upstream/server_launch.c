/* server_launch.c - opens server connections.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_launch.h"

#include "io/tls.h"
#include "io/tls_context.h"
#include "pool/limit.h"
#include "pool/pool.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"

/* One more attempt. NULL: no memory, which counts as a failure. */
static struct server *attempt(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	struct server *s = server_new(ss, p, state);

	p->last_launch = time_now();
	if (s == NULL)
		pool_fail(p, NULL, NULL);
	return s;
}

/*
 * The same under the limits. NULL also if another worker has taken the last
 * slot.
 */
static struct server *attempt_limited(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	const bool taken = state == SERVER_LISTENING ? limit_take_unsized(p) :
	    limit_take(p, time_now());
	struct server *const s = taken ? attempt(ss, p, state) : NULL;

	if (s == NULL)
		limit_give_back(p);
	return s;
}

bool server_launch_room(struct pool *p, const struct pool_client *dedicated,
    bool *reserve)
{
	struct pool_server *victim;
	enum limit_verdict verdict;

	for (;;) {
		verdict = dedicated == NULL ?
		    limit_check(p, time_now(), &victim) :
		    limit_check_dedicated(dedicated, time_now(), &victim,
		    reserve);
		if (verdict != LIMIT_EVICT)
			return verdict == LIMIT_FREE;
		server_close(server_of(victim), CLOSE_EVICTED);
	}
}

void server_launch(struct sessions *ss, struct pool *p)
{
	struct server *s = attempt_limited(ss, p, SERVER_LOGIN);

	if (s != NULL)
		server_begin(s, SERVER_PHASE_CONNECT);
}

void server_launch_dedicated(struct sessions *ss, struct pool_client *pc)
{
	struct server *s = attempt_limited(ss, pc->pool,
	    SERVER_DEDICATED_LOGIN);

	if (s == NULL)
		return;
	s->ps.client = pc;
	pc->server = &s->ps;
	server_begin(s, SERVER_PHASE_CONNECT);
}

struct server *server_launch_listener(struct sessions *ss, struct pool *p)
{
	struct server *s = attempt_limited(ss, p, SERVER_LISTENING);

	if (s != NULL)
		server_begin(s, SERVER_PHASE_CONNECT);
	return s != NULL && s->ps.state != SERVER_GONE ? s : NULL;
}

struct server *server_launch_canceler(struct server *target)
{
	struct server *s = server_new(target->ss, target->ps.pool,
	    SERVER_ACTIVE_CANCEL);

	if (s == NULL)
		return NULL;
	s->target = target;
	s->host = target->host;
	/*
	 * the key must not be readable on the way, because it allows more
	 * cancel requests
	 */
	if (tls_state(&target->stream) == TLS_UP) {
		s->attempt->context = tls_context_ref(
		    tls_context_of(&target->stream));
		s->attempt->tls_required = true;
		s->tls_direct = target->tls_direct;
	}
	server_begin(s, SERVER_PHASE_CONNECT);
	return s->ps.state != SERVER_GONE ? s : NULL;
}
