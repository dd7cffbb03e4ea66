/* wiring.c - which module acts for a client, and for a server in each phase.
 * SPDX-License-Identifier: ISC */
#include "app/wiring.h"

#include "broker/broker.h"
#include "broker/cancel.h"
#include "broker/canceler.h"
#include "console/admin.h"
#include "login/auth_query.h"
#include "relay/relay.h"
#include "relay/relay_server.h"
#include "relay/replication.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_connect.h"
#include "upstream/server_login.h"

/* A lookup is sent in one write: it has been sent, or the write is blocked. */
static bool always(const struct server *s)
{
	(void)s;
	return true;
}

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	[SERVER_PHASE_CONNECT] = { .name = "connect", .timed = true,
		.begin = server_connect_begin },
	[SERVER_PHASE_TLS] = { .name = "tls", .timed = true,
		.begin = server_tls_begin, .input = server_tls_input },
	[SERVER_PHASE_AUTH] = { .name = "auth", .timed = true,
		.begin = server_login_begin, .input = server_login_input },
	[SERVER_PHASE_SYNC] = { .name = "sync", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_ROLE] = { .name = "role", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_QUERY] = { .name = "query", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_ORIGIN] = { .name = "origin", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_POOLED] = { .name = "pooled",
		.input = relay_server_input, .drained = relay_server_drained,
		.can_terminate = relay_can_terminate },
	[SERVER_PHASE_LOOKUP] = { .name = "lookup",
		.input = auth_query_input, .can_terminate = always },
	[SERVER_PHASE_CANCEL] = { .name = "cancel", .timed = true,
		.begin = cancel_connected, .input = canceler_input },
};

static const struct track_ops track = {
	.commit = relay_commit,
	.rollback = relay_rollback,
};

static const struct server_ops servers = {
	.phases = phases,
	.track = &track,
	.ready = broker_server_ready,
	.introduce = replication_introduce,
	.closed = broker_server_gone,
};

void wiring_install(struct sessions *ss)
{
	ss->client_ops.relay = relay_role();
	ss->client_ops.replication = replication_role();
	ss->client_ops.console = admin_role();
	ss->server_ops = &servers;
}
