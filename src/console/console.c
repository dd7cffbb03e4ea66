/* console.c - one console that has logged in: its replies, and what blocks it.
 * SPDX-License-Identifier: ISC */
#include "console/console.h"

#include <string.h>

#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "console/admin.h"
#include "console/command.h"
#include "console/console_extended.h"
#include "console/console_show.h"
#include "console/driver_query.h"
#include "console/mistyped.h"
#include "console/view_fds.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"

#define CHUNK 65536		/* rows leave in pieces of about this size */
#define QUEUE_MAX (256 << 20)	/* bytes of a result nobody has read yet */

/* After the last reply to a Query; in the extended protocol Sync asks for it. */
static void ready(struct console *k)
{
	if (!k->extended && !k->more)
		writer_ready(&k->out, 'I');
}

void console_complete(struct console *k, const char *tag)
{
	writer_begin(&k->out, BE_COMMAND_COMPLETE);
	writer_str(&k->out, tag);
	writer_end(&k->out);
	ready(k);
}

void console_nothing(struct console *k)
{
	console_signal(k, BE_EMPTY_QUERY_RESPONSE);
	ready(k);
}

void console_signal(struct console *k, char type)
{
	writer_begin(&k->out, type);
	writer_end(&k->out);
}

void console_notice(struct console *k, const char *text, const char *detail)
{
	report_write_notice(&k->out, text, detail);
}

static int message_len(const struct err *e)
{
	return (int)strcspn(e->text, ERR_DETAIL);
}

static void write_error(struct console *k, const struct err *e)
{
	const char *const end = strstr(e->text, ERR_DETAIL);
	char line[sizeof e->text];
	struct text t;

	text_init(&t, line, sizeof line);
	text_add_bytes(&t, e->text, (size_t)message_len(e));
	report_write(&k->out, BE_ERROR_RESPONSE, &(struct report){
		.severity = "ERROR",
		.code = e->code,
		.message = line,
		.detail = end != NULL ? end + 1 : NULL,
	});
}

static const char *loggable(const struct err *e, char line[sizeof e->text])
{
	struct text t;

	text_init(&t, line, sizeof e->text);
	mistyped_hide(e->text, (size_t)message_len(e), &t);
	return line;
}

void console_refuse(struct console *k, const struct err *e)
{
	const struct client *const c = k->client;
	char line[sizeof e->text];

	write_error(k, e);
	/* PostgreSQL docs, Extended Query: ErrorResponse skips to Sync */
	k->skipping = k->extended;
	ready(k);
	if (sessions_settings(c->ss)->log_pooler_errors)
		log_at(LEVEL_WARNING, &c->who, "pooler error: %s",
		    loggable(e, line));
}

void console_error(struct console *k, const struct err *e)
{
	char line[sizeof e->text];

	log_error("%s", loggable(e, line));
	console_refuse(k, e);
}

/* Hand over what is collected; the buffer is kept. 0, or -1: broken. */
static int console_push(struct console *k)
{
	log_settle();
	const enum stream_write rc = stream_write_bytes(&k->client->stream,
	    k->out.at, k->out.len);

	k->out.len = 0;
	return rc == STREAM_BROKEN ? -1 : 0;
}

static int console_on_row(struct row_sink *sink, const struct cell *cells)
{
	struct console_sink *const to =
	    container_of(sink, struct console_sink, sink);
	struct console *const k = to->console;

	table_write_row(&k->out, to->shape, cells);
	to->failed = k->out.failed;
	if (!to->failed && k->out.len >= CHUNK)
		to->failed = console_push(k) < 0 ||
		    stream_queued(&k->client->stream) > QUEUE_MAX;
	return to->failed ? -1 : 0;
}

void console_sink_init(struct console_sink *to, struct console *k,
    const struct shape *s)
{
	*to = (struct console_sink){ { console_on_row }, k, s, false };
}

void console_send(struct console *k)
{
	struct client *const c = k->client;

	if (k->out.failed) {
		client_fail(c, CLOSE_NO_MEM);
		return;
	}
	const int rc = console_push(k);

	writer_fini(&k->out);
	if (rc < 0)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

void console_go_on(struct console *k)
{
	struct client *const c = k->client;

	k->wait = CONSOLE_READY;
	console_send(k);
	if (c->console != NULL) {
		/* look next turn at what came meanwhile */
		stream_reread(&c->stream);
		stream_yield(&c->stream);
	}
}

struct asker console_asker(const struct console *k)
{
	const struct client *const c = k->client;
	const int which = params_find(c->ss->params, "application_name");
	const char *name = NULL;

	if (which >= 0 && c->params != NULL)
		name = params_get(c->params, which);
	return (struct asker){
		.user = c->user != NULL ? c->user->name : "",
		.application_name = name != NULL ? name : "",
		.id = (int64_t)(c->id & INT32_MAX),
		.version = sessions_settings(c->ss)->console_version,
		.born = c->ss->born,
	};
}

/* --- the extended protocol --- */

void extended_refuse(struct console *k, const struct err *e)
{
	k->extended = true;
	console_error(k, e);
	console_send(k);
}

void extended_bad_message(struct console *k, const char *what)
{
	struct err e;

	err_set(&e, ERRCODE_PROTOCOL_VIOLATION, "invalid %s message", what);
	extended_refuse(k, &e);
}
