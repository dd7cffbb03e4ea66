/* replication.c - clients that have a server of their own, never pooled.
 *
 * Such a server belongs to its client from the launch on, and both end
 * together. (spec/pooling.md section 17)
 * SPDX-License-Identifier: ISC */
#include "relay/replication.h"

#include "base/probe.h"
#include "pool/latencies.h"
#include "pool/pool.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/startup.h"
#include "relay/relay.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/welcome.h"
#include "upstream/server_attempt.h"
#include "upstream/server_launch.h"

void replication_launch(struct pool *p)
{
	struct pool_client *pc;
	bool reserve;

	while ((pc = pool_pick_dedicated(p, time_now())) != NULL &&
	    server_launch_room(p, pc, &reserve)) {
		if (reserve)
			log_at(LEVEL_WARNING, &client_of(pc)->who,
			    "taking connection from reserve_pool");
		server_launch_dedicated(client_of(pc)->ss, pc);
		/* the launch failed at once: the upkeep tries again */
		if (pc->server == NULL)
			break;
	}
}

bool replication_introduce(const struct server *s, struct writer *w)
{
	const struct client *c = client_of(s->ps.client);
	const struct params_table *t = s->ss->params;

	startup_write_param(w, "replication",
	    c->replication == REPLICATION_LOGICAL ? "database" : "yes");
	startup_write_param(w, "options", c->options);
	for (int i = 0; i < params_count(t); i++)
		startup_write_param(w, params_name(t, i), params_get(c->params, i));
	return c->replication == REPLICATION_LOGICAL;
}

/* Tell c what its server said. Returns false when c was closed. */
static bool greet(struct client *c, struct server *s)
{
	struct writer *w = &s->attempt->welcome;

	if (!c->welcomed && w->failed)
		client_fail(c, CLOSE_WELCOME_FAILED);
	else if (!c->welcomed)
		welcome_send(c, &(struct welcome_parts){
		    .tracked = s->params,
		    .others = { w->at, w->len },
		});
	else if (params_adopt(&c->params, s->params, s->origin.silent) < 0)
		client_fail(c, CLOSE_OUT_OF_MEMORY);
	return client_is_open(c);
}

void replication_ready(struct server *s)
{
	struct client *c = client_of(s->ps.client);

	const usec_t waited = time_now() - c->pc.wait_since;

	s->ps.pool->counted.now.wait_time += (uint64_t)waited;
	latencies_note(s->ps.pool, LATENCY_WAIT, waited);
	latencies_note_recent(s->ps.pool, RECENT_WAIT, waited);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	pool_link(&c->pc, &s->ps);
	PROBE(server__acquire, c->id, s->id, c->db->name, waited);
	if (!greet(c, s))
		return;
	relay_resume(c);
}

void replication_drop_logins(struct pool *p, enum close_reason why)
{
	while (p->servers[SERVER_DEDICATED_LOGIN] != NULL) {
		struct pool_server *ps = p->servers[SERVER_DEDICATED_LOGIN];

		pool_unlink(ps->client);
		server_close(server_of(ps), why);
	}
}
