/* channels_send.c - notifications as messages; to a client, between others.
 * SPDX-License-Identifier: ISC */
#include "session/channels_send.h"

#include <string.h>
#include <utlist.h>

#include "proto/msg.h"
#include "proto/reader.h"
#include "session/channels.h"
#include "session/client.h"
#include "session/server.h"

bool channels_parse(const uint8_t *m, size_t size, struct notification *out)
{
	struct reader r;

	if (size < MSG_HEADER || m[0] != BE_NOTIFICATION_RESPONSE)
		return false;
	reader_init(&r, m + MSG_HEADER, size - MSG_HEADER);
	out->pid = reader_u32(&r);
	out->channel = reader_str(&r);
	out->payload = reader_str(&r);
	return !r.failed;
}

void channels_write(struct writer *w, const char *command, const char *name)
{
	writer_bytes(w, command, strlen(command));
	writer_bytes(w, " \"", 2);
	for (; *name != '\0'; name++) {
		if (*name == '"')
			writer_u8(w, '"');
		writer_u8(w, (uint8_t)*name);
	}
	writer_bytes(w, "\";", 2);
}

/* Is c amid a message? */
static bool must_wait(const struct client *c)
{
	return c->pc.server != NULL &&
	    rest_passes(&server_of(c->pc.server)->rest);
}

static void write_now(struct client *c, const void *p, size_t n)
{
	if (stream_is_blocked(&c->stream) &&
	    stream_queued(&c->stream) + n > CHANNELS_WAITING)
		client_fail(c, CLOSE_TOO_MANY_NOTIFICATIONS);
	else if (stream_write_bytes(&c->stream, p, n) == STREAM_BROKEN)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

void channels_send(struct client *c, const void *p, size_t n)
{
	struct writer *const w = &c->listening->waiting;

	if (w->len == 0 && !must_wait(c)) {
		write_now(c, p, n);
		return;
	}
	writer_bytes(w, p, n);
	if (w->failed)
		client_fail(c, CLOSE_TOO_MANY_NOTIFICATIONS);
}

/* Of a server that is amid a burst: too much of it is found at the flush. */
void channels_keep(struct client *c, const void *p, size_t n)
{
	writer_bytes(&c->listening->ahead, p, n);
}

void channels_drop_early(struct client *c)
{
	struct writer *const w = &c->listening->ahead;
	const struct subscription *it;
	struct notification n;
	size_t kept = 0, size;

	for (size_t at = 0; at < w->len; at += size) {
		size = msg_size(w->at + at, UINT32_MAX);
		it = channels_parse(w->at + at, size, &n) ?
		    channels_find(c, n.channel) : NULL;
		if (it != NULL && it->from != FROM_SERVER)
			continue;
		memmove(w->at + kept, w->at + at, size);
		kept += size;
	}
	w->len = kept;
}

static struct writer take(struct writer *w)
{
	const struct writer all = *w;

	writer_init(w, CHANNELS_WAITING);
	return all;
}

void channels_flush(struct client *c)
{
	struct listening *const g = c->listening;
	struct writer *const w = g == NULL ? NULL : &g->waiting;

	if (w != NULL && (w->failed || g->ahead.failed)) {
		client_fail(c, CLOSE_TOO_MANY_NOTIFICATIONS);
		return;
	}
	if (w == NULL || w->len == 0 || must_wait(c))
		return;
	struct writer all = take(w);

	write_now(c, all.at, all.len);
	writer_fini(&all);
}

void channels_end_move(struct client *c)
{
	struct listening *const g = c->listening;
	struct subscription *it;

	if (g->marks != MARK_BOTH)
		return;
	DL_FOREACH2(g->own, it, own_next) {
		if (it->from == TO_LISTENER)
			it->from = FROM_LISTENER;
		else if (it->from == TO_SERVER)
			it->from = FROM_SERVER;
	}
	g->token = 0;
	g->marks = 0;
	struct writer all = take(&g->ahead);

	writer_bytes(&g->waiting, all.at, all.len);
	g->waiting.failed = g->waiting.failed || all.failed;
	writer_fini(&all);
}
