/* handover.c - the console that said SUSPEND to go on with our sockets (-R).
 * SPDX-License-Identifier: ISC */
#include "console/handover.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "console/admin.h"
#include "console/console.h"
#include "io/socket.h"
#include "proto/params.h"
#include "session/client.h"
#include "transfer/snapshot.h"

static bool is_neighbour(const struct client *c)
{
	return c->own_user && c->addr.family == NET_UNIX;
}

bool handover_reads_state(const struct client *c)
{
	const char *const name = params_get(c->params,
	    params_find(c->ss->params, "application_name"));

	return is_neighbour(c) && name != NULL &&
	    strcmp(name, SNAPSHOT_READER) == 0;
}

void handover_begin(struct console *k)
{
	struct admin *const a = k->admin;

	if (!handover_reads_state(k->client))
		return;
	a->successor = k;
	a->handover = HANDOVER_BEGUN;
}

void handover_end(struct admin *a)
{
	a->handover = HANDOVER_NONE;
}

bool handover_is_on(const struct admin *a)
{
	return a->handover != HANDOVER_NONE;
}

long handover_pid(const struct admin *a)
{
	return a->successor == NULL ? 0 :
	    (long)a->successor->client->addr.pid;
}

bool handover_is_deserted(const struct admin *a)
{
	return handover_is_on(a) && a->successor == NULL;
}

void handover_closed(struct console *k)
{
	if (k->admin->successor == k)
		k->admin->successor = NULL;
}

/*
 * The successor may find us gone before it reads on, and must not think then
 * that it is the one to go on: so nothing happens until it can read this.
 */
static void handover_tell(struct console *k)
{
	struct err e;

	k->admin->handover = HANDOVER_REVOKED;
	err_set(&e, ERRCODE_QUERY_CANCELED, "the sockets are not handed over any more");
	console_error(k, &e);
	console_send(k);
}

bool handover_revoke(struct admin *a)
{
	if (a->successor != NULL && a->handover == HANDOVER_BEGUN)
		handover_tell(a->successor);
	if (a->successor == NULL)
		return false;
	if (stream_queued(&a->successor->client->stream) == 0)
		socket_shut_input(a->successor->client->stream.fd);
	return true;
}

int handover_permit(const struct console *k, struct err *e)
{
	const struct admin *const a = k->admin;

	if (!handover_is_on(a) || a->successor == k)
		return 0;
	return err_set(e, ERRCODE_OBJECT_IN_USE, "process %ld is taking over: "
	    "RESUME would prevent that", handover_pid(a));
}
