/* relay_role.c - what a client is that has logged in to be served.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>

#include "broker/broker.h"
#include "relay/relay.h"
#include "relay/relay_silence.h"
#include "relay/replication.h"
#include "session/client.h"
#include "session/server.h"

/* A client that waits is not read: one that hangs up wants no answer. */
static void on_hung_up(struct client *c)
{
	if (c->pc.state == CLIENT_WAITING || c->pc.state == CLIENT_WELCOME ||
	    c->pc.state == CLIENT_DEDICATED_WAITING || relay_has_hung_up(c))
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

static enum close_reason on_cancel(struct client *c)
{
	if (c->pc.state != CLIENT_WAITING)
		return CLOSE_NONE;
	relay_cancel_wait(c);
	return CLOSE_CANCEL_WAITING_CLIENT;
}

static void on_dedicated(struct client *c)
{
	replication_ready(server_of(c->pc.server));
}

static const struct client_role relay = {
	.name = "relay",
	.admitted = broker_welcome,
	.input = relay_client_input,
	.drained = relay_client_drained,
	.hung_up = on_hung_up,
	.go_on = relay_resume,
	.cancel = on_cancel,
	.leave = broker_client_gone,
};

static const struct client_role replication = {
	.name = "replication",
	.admitted = broker_welcome,
	.input = relay_client_input,
	.drained = relay_client_drained,
	.hung_up = on_hung_up,
	.go_on = on_dedicated,
	.cancel = on_cancel,
	.leave = broker_client_gone,
};

const struct client_role *relay_role(void)
{
	return &relay;
}

const struct client_role *replication_role(void)
{
	return &replication;
}
