/* relay_probe.c - how many replies will come? The server is asked.
 *
 * Behind a COPY that failed: whether it has read the Syncs that came before the
 * end of its data, the server alone knows. A request of ours behind them, whose
 * reply nothing else can be, says that there will be no more ReadyForQuery.
 * Close of what does not exist always succeeds and changes nothing; an empty
 * query would drop the client's unnamed statement.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"
#include "proto/prepared.h"
#include "relay/relay_parts.h"

static const struct {
	uint8_t close[MSG_HEADER + 1];
	char name[sizeof PREPARED_NAME_TRIED];
	uint8_t sync[MSG_HEADER];
} probe = {
	.close = { FE_CLOSE, 0, 0, 0, 4 + 1 + sizeof PREPARED_NAME_TRIED, 'S' },
	.name = PREPARED_NAME_TRIED,
	.sync = { FE_SYNC, 0, 0, 0, 4 },
};

bool relay_probe(struct client *c)
{
	struct server *s = server_of(c->pc.server);
	struct track *t = &s->track;

	if (t->lost) {
		server_close(s, CLOSE_COPY_UNCERTAIN);
		return false;
	}
	/* amid a message of the client nothing can be said; no pool waits */
	if (rest_passes(&c->rest) || track_is_full(t) ||
	    c->replication != REPLICATION_NONE || !track_wants_probe(t))
		return true;
	if (track_add(t, FE_CLOSE, TRACK_SKIP, NULL) < 0 ||
	    track_add(t, FE_SYNC, TRACK_SKIP, NULL) < 0) {
		server_fail(s, CLOSE_OUT_OF_MEMORY);
		return false;
	}
	(void)stream_write_bytes(&s->stream, &probe, sizeof probe);
	return true;
}
