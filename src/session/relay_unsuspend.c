/* relay_unsuspend.c - a client goes on that could not, or stood still.
 * SPDX-License-Identifier: ISC */
#include "session/relay.h"
#include "session/relay_parts.h"

void relay_unsuspend(struct client *c)
{
	if (!stream_is_suspended(&c->stream))
		return;
	stream_unsuspend(&c->stream);
	if (c->login != NULL)
		return;
	/* what it waited for may have come to pass meanwhile */
	relay_update(c);
	if (c->stream.paused || c->carry.len == 0)
		return;
	stream_reread(&c->stream);
	stream_yield(&c->stream);
}

/* Everything it was sent is fetched: its server may be read again. */
void relay_client_drained(struct client *c)
{
	if (c->stream.broken) {
		client_close(c, "client unexpected eof");
		return;
	}
	if (c->pc.server != NULL)
		stream_resume(&server_of(c->pc.server)->stream);
	if (c->pc.state == CLIENT_ACTIVE)
		relay_resume(c);
}
