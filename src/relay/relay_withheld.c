/* relay_withheld.c - the end of a transaction that its client is not told yet.
 * SPDX-License-Identifier: ISC */
#include "notify/listener.h"
#include "relay/relay_parts.h"

/* Returns false when c is closed. */
static bool tell(struct client *c)
{
	static const uint8_t ready[] = { BE_READY_FOR_QUERY, 0, 0, 0, 5, 'I' };

	c->relay.withheld = WITHHELD_NOT;
	relay_note_end(c, 'I');
	if (stream_write_bytes(&c->stream, ready, sizeof ready) ==
	    STREAM_BROKEN)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	return client_is_open(c);
}

bool relay_knows_end(struct client *c)
{
	if (c->relay.withheld == WITHHELD_NOT)
		return true;
	c->relay.withheld = WITHHELD_TO_SETTLE;
	return !listener_is_unsettled(c) && tell(c);
}
