/* relay_server.c - what a pooled server has to do with the client it serves.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_server.h"

#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "session/client.h"
#include "session/server.h"

void relay_commit(void *op, void *arg)
{
	struct server *const s = arg;

	prepared_op_tell(op, s->ps.client == NULL ? NULL :
	    client_of(s->ps.client)->statements, &s->prepared);
	prepared_op_free(op);
}

void relay_rollback(void *op, void *arg)
{
	struct server *s = arg;
	struct slots **map = s->ps.client == NULL ? NULL :
	    &client_of(s->ps.client)->statements;

	prepared_op_undo(op, map, &s->prepared);
	prepared_op_free(op);
}

bool relay_can_terminate(const struct server *s)
{
	const struct client *c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);

	return c == NULL || !rest_passes(&c->rest);
}
