/* channels_send.c - notifications as messages; they are sent to a client
 * between two other messages.
 * SPDX-License-Identifier: ISC */
#include "notify/channels_send.h"

#include <string.h>
#include <utlist.h>

#include "notify/channels.h"
#include "proto/msg.h"
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

/* Has c received only a part of a message? */
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

/* The server is in the middle of a burst. channels_flush() checks the limit. */
void channels_keep(struct client *c, const void *p, size_t n)
{
	writer_bytes(&c->listening->ahead, p, n);
}

static struct writer channels_send_take(struct writer *w)
{
	const struct writer all = *w;

	writer_init(w, CHANNELS_WAITING);
	return all;
}

void channels_keep_early(struct client *c, const void *p, size_t n)
{
	writer_bytes(&c->listening->early, p, n);
}

void channels_tell_early(struct client *c)
{
	struct writer all = channels_send_take(&c->listening->early);
	struct notification n;
	size_t size;

	for (size_t at = 0; at < all.len && !all.failed; at += size) {
		size = msg_size(all.at + at, UINT32_MAX);
		if (channels_parse(all.at + at, size, &n) &&
		    channels_find(c, n.channel) != NULL)
			writer_bytes(&c->listening->waiting, all.at + at, size);
	}
	c->listening->waiting.failed |= all.failed;
	writer_fini(&all);
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
	struct writer all = channels_send_take(w);

	write_now(c, all.at, all.len);
	writer_fini(&all);
}

void channels_end_move(struct client *c)
{
	struct listening *const g = c->listening;

	if (g->marks != MARK_BOTH)
		return;
	g->hears = g->becomes;
	g->token = 0;
	g->marks = 0;
	struct writer all = channels_send_take(&g->ahead);

	writer_bytes(&g->waiting, all.at, all.len);
	g->waiting.failed = g->waiting.failed || all.failed;
	writer_fini(&all);
}
