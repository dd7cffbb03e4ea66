/* server_tls.c - TLS with a server, between connecting and logging in.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_tls.h"

#include "base/err.h"
#include "base/errcodes.h"
#include "io/tls.h"
#include "io/tls_context.h"
#include "proto/msg.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"
#include "upstream/tls_setup.h"

#define SSL_REQUEST 80877103

static void crashed(struct server *s)
{
	server_fail_as(s, CLOSE_SERVER_CRASHED, ERRCODE_CANNOT_CONNECT);
}

static void hand_shake(struct server *s);

static void done(struct server *s)
{
	server_begin(s, server_is_canceler(s) ? SERVER_PHASE_CANCEL :
	    SERVER_PHASE_AUTH);
}

static void start(struct server *s)
{
	const int rc = tls_connect(&s->stream, s->attempt->context, s->host.text);

	tls_context_unref(&s->attempt->context);
	if (rc < 0)
		server_fail(s, CLOSE_NO_MEMORY_FOR_TLS);
	else
		hand_shake(s);
}

static void ask(struct server *s)
{
	uint8_t request[8];

	msg_put_u32(request, sizeof request);
	msg_put_u32(request + 4, SSL_REQUEST);
	if (stream_write_bytes(&s->stream, request, sizeof request) ==
	    STREAM_BROKEN)
		server_fail(s, CLOSE_SSLREQ_PROCESSING_FAILED);
}

/* Is TLS wanted, and how? false: there is no usable context. */
static bool choose(struct server *s)
{
	const struct tls_target *t;

	/* a canceler goes the way of its target, and peers know no TLS */
	if (s->host.kind == HOST_UNIX || s->ps.pool->peer_id != 0 ||
	    s->ps.state == SERVER_ACTIVE_CANCEL)
		return true;
	tls_context_unref(&s->attempt->context);
	t = tls_setup_find(s->ss->tls, s->ps.pool->key.db->conf);
	if (t == NULL)
		return false;
	if (t->context != NULL)
		s->attempt->context = tls_context_ref(t->context);
	s->attempt->tls_required = t->what.sslmode >= SSLMODE_REQUIRE;
	s->tls_direct = t->what.negotiation == TLS_DIRECT;
	return true;
}

void server_tls_begin(struct server *s)
{
	if (!choose(s)) {
		server_fail(s, CLOSE_TLS_CONFIGURATION_IS_BROKEN);
		return;
	}
	if (s->attempt->context == NULL) {
		done(s);
		return;
	}
	if (s->tls_direct)
		start(s);
	else
		ask(s);
}

static void log_established(const struct server *s)
{
	const bool loud = sessions_settings(s->ss)->log_connections;
	char text[TLS_TEXT_MAX];

	if (s->ps.state == SERVER_ACTIVE_CANCEL)
		return;
	log_at(loud ? LEVEL_INFO : LEVEL_NOISE, &s->who,
	    "SSL established: %s", tls_describe(&s->stream, text,
	    sizeof text));
}

static void hand_shake(struct server *s)
{
	struct err e;

	const enum tls_step step = tls_handshake(&s->stream, &e);

	if (step != TLS_MORE)
		s->ss->tally.tls_handshakes[TALLY_SERVER][step == TLS_DONE ?
		    TALLY_OK : TALLY_FAILED]++;
	switch (step) {
	case TLS_MORE:
		return;
	case TLS_DONE:
		log_established(s);
		/* there is nothing to read yet that we have asked for */
		stream_reread(&s->stream);
		done(s);
		return;
	case TLS_GONE:
		crashed(s);
		return;
	case TLS_FAILED:
		log_at(LEVEL_WARNING, &s->who, "TLS handshake error: %s",
		    e.text);
		server_fail(s, CLOSE_TLS_HANDSHAKE_FAILED);
	}
}

/* PostgreSQL docs, Message Flow, SSL Session Encryption */
static void on_answer(struct server *s)
{
	char answer[2];
	const ssize_t n = stream_read(&s->stream, answer, sizeof answer);

	if (n == STREAM_NONE)
		return;
	if (n < 0)
		crashed(s);
	else if (n > 1 && answer[0] == 'S')
		/* CVE-2021-3935, CVE-2021-23222: nobody has signed that */
		server_fail(s, CLOSE_DATA_AFTER_SSL_RESPONSE);
	else if (n > 1 || (answer[0] != 'S' && answer[0] != 'N'))
		server_fail(s, CLOSE_BAD_SSLREQ_ANSWER);
	else if (answer[0] == 'S')
		start(s);
	else if (s->attempt->tls_required)
		server_fail(s, CLOSE_SERVER_REFUSED_SSL);
	else
		done(s);
}

void server_tls_input(struct server *s)
{
	if (tls_state(&s->stream) == TLS_NONE)
		on_answer(s);
	else
		hand_shake(s);
}
