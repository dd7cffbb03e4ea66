/* relay_wait.c - a client that is told to stop waiting for a server.
 *
 * It has no server, so no transaction is open and no COPY runs: what it waits
 * with has not begun, and PostgreSQL's answer to a cancel is ours to give.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"
#include "pool/latencies.h"
#include "proto/report.h"
#include "proto/writer.h"
#include "session/broker.h"
#include "session/relay.h"
#include "session/relay_parts.h"
#include "session/sessions.h"
#include "session/slow.h"

#define CANCELED "canceling statement due to user request"
#define OUT_CAP 4096

/* Send what w has, and be done with it. Returns -1 when c was closed. */
static int send_out(struct client *c, struct writer *w)
{
	int rc = 0;

	if (w->failed || stream_write_bytes(&c->stream, w->at, w->len) ==
	    STREAM_BROKEN)
		rc = -1;
	if (w->failed)
		client_fail(c, "53200", "out of memory");
	else if (rc < 0)
		client_close(c, "client unexpected eof");
	writer_fini(w);
	return rc;
}

/* The request is over, for the statistics too. */
static void note_end(struct client *c)
{
	struct counters *n = &c->pc.pool->counted.now;
	const usec_t now = time_precise();

	if (c->query_start != 0) {
		n->query_time += (uint64_t)(now - c->query_start);
		c->waited = now - c->query_start;
		latencies_note(c->pc.pool, LATENCY_QUERY, c->waited);
		if (sessions_settings(c->ss)->log_min_duration > 0)
			slow_log(c, c->waited);
	}
	if (c->xact_start != 0) {
		n->xact_time += (uint64_t)(now - c->xact_start);
		latencies_note(c->pc.pool, LATENCY_XACT, now - c->xact_start);
	}
	c->query_start = c->xact_start = 0;
}

void relay_cancel_wait(struct client *c)
{
	const struct settings *set = sessions_settings(c->ss);
	const uint8_t *m = c->carry.at;	/* the message that asked for it */
	struct writer w;

	if (c->carry.len < MSG_HEADER)
		return;
	const bool whole = m[0] == FE_QUERY || m[0] == FE_FUNCTION_CALL;

	broker_leave_queue(c);
	note_end(c);
	if (set->log_pooler_errors)
		log_at(LEVEL_WARNING, &c->who, "pooler error: %s", CANCELED);
	writer_init(&w, OUT_CAP);
	report_write_error(&w, "ERROR", "57014", CANCELED);
	if (whole) {
		/* dropped as it comes; what is behind it counts again */
		c->skip = (uint32_t)msg_size(m, set->max_packet_size);
		c->skip_drop = c->skip > 0;
		writer_ready(&w, 'I');
	} else {
		c->discard = true;
	}
	if (send_out(c, &w) == 0)
		relay_resume(c);
}

/* PostgreSQL docs, Message Flow, Extended Query: an error skips to Sync */
enum relay_step relay_discard(struct relay_up *up)
{
	struct client *c = up->c;
	struct writer w;

	if (up->m[0] != FE_SYNC)
		return relay_drop(up);
	c->discard = false;
	writer_init(&w, OUT_CAP);
	writer_ready(&w, 'I');
	return send_out(c, &w) < 0 ? RELAY_STOP : relay_drop(up);
}
