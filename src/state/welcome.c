/* welcome.c - the messages that end a client's login.
 * SPDX-License-Identifier: ISC */
#include "state/welcome.h"

#include "base/log.h"
#include "io/stream.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/sessions.h"

#define OUT_CAP (1 << 20)

static void write_key(struct writer *w, const struct client *c)
{
	writer_begin(w, BE_BACKEND_KEY_DATA);
	writer_bytes(w, c->key, c->key_len);
	writer_end(w);
}

void welcome_send(struct client *c, const struct welcome_parts *g)
{
	const char *notice = sessions_settings(c->ss)->login_notify_message;
	struct writer w;

	writer_init(&w, OUT_CAP);
	writer_bytes(&w, g->first.iov_base, g->first.iov_len);
	writer_begin(&w, BE_AUTHENTICATION);
	writer_u32(&w, MSG_AUTH_OK);
	writer_end(&w);
	writer_bytes(&w, g->others.iov_base, g->others.iov_len);
	if (params_fill(&c->params, g->tracked) < 0)
		w.failed = true;
	else
		params_write_status(c->params, &w);
	if (c->params != g->tracked && c->replication == REPLICATION_NONE)
		c->relay.start = params_ref(c->params);
	client_new_key(c);
	write_key(&w, c);
	if (notice != NULL && notice[0] != '\0')
		report_write_notice(&w, notice, NULL);
	writer_ready(&w, 'I');
	c->welcomed = true;
	if (w.failed) {
		client_fail(c, CLOSE_WELCOME_FAILED);
		writer_fini(&w);
		return;
	}
	log_settle();
	const enum stream_write r = stream_write_bytes(&c->stream, w.at,
	    w.len);

	writer_fini(&w);
	c->answered = r == STREAM_SENT;
	if (r == STREAM_BROKEN)
		client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}
