/* server_login_message.c - handles the messages of a server during its login.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/err.h"
#include "io/tls.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/startup.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"
#include "upstream/server_login_parts.h"
#include "upstream/server_origin.h"

static int fail(struct server *s, enum close_reason reason)
{
	server_fail(s, reason);
	return -1;
}

int server_login_send(struct server *s, struct writer *w)
{
	const bool bad = w->failed || (w->len > 0 &&
	    stream_write_bytes(&s->stream, w->at, w->len) == STREAM_BROKEN);

	writer_fini(w);
	if (!bad)
		return 0;
	server_fail(s, CLOSE_STARTUP_PKT_FAILED);
	return -1;
}


/*
 * Warns once for each host, because anybody on the way can read the password.
 */
static void warn_of_cleartext(struct server *s)
{
	struct database *db = s->ps.pool->key.db;
	const uint64_t bit = UINT64_C(1) << s->host.item % HOSTS_MAX;

	if (s->host.kind == HOST_UNIX || tls_state(&s->stream) == TLS_UP ||
	    (db->overheard & bit))
		return;
	db->overheard |= bit;
	log_at(LEVEL_WARNING, &s->who, "the password of \"%s\" goes to this "
	    "server in clear text, without TLS", s->ps.pool->key.user->name);
}

static void log_hint(const struct server *s, const char *hint)
{
	if (hint != NULL)
		log_at(LEVEL_WARNING, &s->who, "server login failed hint: %s",
		    hint);
}

/* Returns -1 if s was closed. */
static int act_on(struct server *s, enum server_auth_result r,
    struct writer *w)
{
	struct server_attempt *const a = s->attempt;

	if (a->auth.cleartext)
		warn_of_cleartext(s);
	switch (r) {
	case SERVER_AUTH_WAIT:
		stream_pause(&s->stream);
		return server_login_send(s, w);
	case SERVER_AUTH_MORE:
		return server_login_send(s, w);
	case SERVER_AUTH_OK:
		writer_fini(w);
		server_set_phase(s, SERVER_PHASE_SYNC);
		return 0;
	case SERVER_AUTH_FAILED:
		break;
	}
	writer_fini(w);
	if (a->auth.detail[0] != '\0')
		log_at(LEVEL_ERROR, &s->who, "%s", a->auth.detail);
	a->refused = true;
	struct close_cause why = close_cause(s->ps.dedicated ?
	    CLOSE_LOGIN_FAILED : CLOSE_FAILED_TO_ANSWER_AUTHREQ);

	why.hint = a->auth.hint;
	log_hint(s, why.hint);
	server_close_for(s, &a->auth.error, why);
	return -1;
}

/* The keys for the proof have been derived. */
static void on_woken(struct server_auth *a)
{
	struct server *s = container_of(a, struct server_attempt, auth)->server;
	struct writer w;

	writer_init(&w, SERVER_LOGIN_MAX);
	if (act_on(s, server_auth_resume(a, &w), &w) == 0)
		stream_resume(&s->stream);
}

static int on_authentication(struct server *s, const struct server_message *m)
{
	struct server_attempt *const a = s->attempt;
	struct user *const user = s->ps.pool->key.user;
	struct writer w;

	if (s->phase != SERVER_PHASE_AUTH)
		return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
	if (user_renew(s->ss->catalog, user) < 0)
		return fail(s, CLOSE_OUT_OF_MEMORY);
	if (a->plain)
		s->ps.pool->old_protocol = true;
	a->answered = true;
	a->auth.offload = s->ss->offload;
	a->auth.wake = on_woken;
	writer_init(&w, SERVER_LOGIN_MAX);
	return act_on(s, server_auth_step(&a->auth, user->name,
	    server_password_secret(s), m->body, m->len, &w), &w);
}

static int on_parameter(struct server *s, const struct server_message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const char *name = reader_str(&r), *value = reader_str(&r);

	if (r.failed)
		return fail(s, CLOSE_BROKEN_PARAMETER_STATUS);
	const int i = params_find(s->ss->params, name);

	host_role_note(&s->attempt->role, name, value);
	if (strcmp(name, "is_superuser") == 0)
		s->superuser = strcmp(value, "on") == 0;
	if (i >= 0 && params_set(&s->params, i, value) < 0)
		return fail(s, CLOSE_NO_MEMORY_FOR_WELCOME);
	if (i < 0)
		writer_parameter_status(&s->attempt->welcome, name, value);
	return 0;
}

static int on_key(struct server *s, const struct server_message *m)
{
	if (m->len < 8 || m->len > sizeof s->key)
		return fail(s, CLOSE_BAD_CANCEL_KEY);
	memcpy(s->key, m->body, m->len);
	s->key_len = (uint16_t)m->len;
	return 0;
}

static int on_notice(struct server *s, const struct server_message *m)
{
	(void)s;
	(void)m;
	return 0;
}

/*
 * connect_query may be what hides rows from clients, so no server is used
 * without it.
 */
static int on_query_error(struct server *s, const struct server_message *m)
{
	struct close_cause why = close_cause(CLOSE_CONNECT_QUERY_FAILED);
	char text[256];
	struct report r;

	if (report_parse(&r, m->body, m->len) < 0)
		return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
	log_error("S: error while executing exec_on_query: %s: %s",
	    r.severity, r.message);
	snprintf(text, sizeof text, "%s: %s", why.text, r.message);
	why.text = text;
	if (r.code[0] != '\0')
		why.code = r.code;
	why.hint = "Look at connect_query in [databases].";
	s->attempt->refused = true;
	server_fail_cause(s, why);
	return -1;
}

/* The server asks for an older protocol version than ours. */
static int on_negotiate(struct server *s, const struct server_message *m)
{
	struct server_attempt *const a = s->attempt;
	const uint32_t version = m->len < 8 ? UINT32_MAX : msg_u32(m->body);

	if (s->phase != SERVER_PHASE_AUTH || a->answered || a->plain ||
	    version < PROTOCOL_3_0 || version > PROTOCOL_3_2)
		return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
	a->answered = true;
	return 0;
}

/*
 * Servers before 2017, and some proxies, refuse a new protocol instead of
 * negotiating. The second attempt uses the protocol that all of them know.
 */
static bool refuses_protocol(const struct server_attempt *a,
    const struct report *r)
{
	return !a->answered && !a->plain &&
	    (strcmp(r->code, ERRCODE_FEATURE_NOT_SUPPORTED) == 0 ||
	    strcmp(r->code, ERRCODE_PROTOCOL_VIOLATION) == 0);
}

static void try_old_protocol(struct server *s, const struct report *r)
{
	log_at(LEVEL_DEBUG, &s->who, "trying protocol 3.0 because of: %s",
	    r->message);
	s->attempt->plain = true;
	s->attempt->heard = s->attempt->parameters = 0;
	carry_fini(&s->carry);
	stream_close(&s->stream);
	server_begin(s, SERVER_PHASE_CONNECT);
}

static int on_login_error(struct server *s, const struct report *r)
{
	if (refuses_protocol(s->attempt, r)) {
		try_old_protocol(s, r);
		return -1;
	}
	if (server_password_refused(s, r))
		return -1;
	/* cannot_connect_now is temporary, other refusals are not */
	s->attempt->refused = strcmp(r->code, ERRCODE_CANNOT_CONNECT_NOW) != 0;
	if (s->ps.dedicated)
		log_error("S: login failed: %s: %s", r->severity, r->message);
	else
		log_warning("server login failed: %s %s", r->severity,
		    r->message);
	struct close_cause why = close_cause(CLOSE_LOGIN_FAILED);

	if (r->code[0] != '\0')
		why.code = r->code;
	if (!s->ps.dedicated && r->message[0] != '\0')
		why.text = r->message;
	why.hint = server_hint(r->code, r->message);
	log_hint(s, why.hint);
	server_fail_cause(s, why);
	return -1;
}

static int on_error(struct server *s, const struct server_message *m)
{
	struct report r;

	if (s->phase == SERVER_PHASE_QUERY)
		return on_query_error(s, m);
	if (s->phase == SERVER_PHASE_ORIGIN)	/* an old server: the question
						 * is RESET */
		return 0;
	if (report_parse(&r, m->body, m->len) < 0)
		return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
	return on_login_error(s, &r);
}

/* connect_query; a physical replication connection does not understand SQL. */
static const char *first_query(const struct server *s)
{
	return s->attempt->no_sql ? NULL :
	    s->ps.pool->key.db->conf->connect_query;
}

/*
 * The settings of s are known, or no other client will use s. Otherwise asks
 * for them.
 */
static int on_first_query(struct server *s)
{
	struct writer w;

	writer_init(&w, SERVER_LOGIN_MAX);
	if (s->ps.dedicated)
		return 1;
	server_origin_question(s, &w);
	server_set_phase(s, SERVER_PHASE_ORIGIN);
	return server_login_send(s, &w);
}

static int on_row(struct server *s, const struct server_message *m)
{
	if (s->phase == SERVER_PHASE_ROLE)
		server_role_answer(s, m->body, m->len);
	if (s->phase == SERVER_PHASE_ORIGIN &&
	    server_origin_answer(s, m->body, m->len) < 0)
		return fail(s, CLOSE_NO_MEMORY_FOR_WELCOME);
	return 0;
}

/*
 * Has s the role that the database requires? Returns 0 or -1 if not, or while s
 * is asked.
 */
static int on_role(struct server *s)
{
	struct writer w;

	if (s->phase == SERVER_PHASE_ROLE)
		return server_role_check(s) < 0 ? -1 : 1;
	writer_init(&w, SERVER_LOGIN_MAX);
	if (!server_role_question(s, &w)) {
		writer_fini(&w);
		return server_role_check(s) < 0 ? -1 : 1;
	}
	server_set_phase(s, SERVER_PHASE_ROLE);
	return server_login_send(s, &w);
}

static int on_ready(struct server *s, const struct server_message *m)
{
	const bool early = s->phase == SERVER_PHASE_SYNC ||
	    s->phase == SERVER_PHASE_ROLE;
	const char *query = first_query(s);
	struct writer w;

	if (m->len != 1 || s->phase == SERVER_PHASE_AUTH)
		return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
	const int rc = early ? on_role(s) : 1;

	if (rc <= 0)
		return rc;
	if (early && query != NULL) {
		server_set_phase(s, SERVER_PHASE_QUERY);
		writer_init(&w, 1 << 24);
		writer_query(&w, query);
		return server_login_send(s, &w);
	}
	/* connect_query has left a transaction open */
	if (m->body[0] != 'I')
		return fail(s, CLOSE_IDLE_SERVER_GOT_DIRTY);
	return s->phase == SERVER_PHASE_QUERY ? on_first_query(s) : 1;
}

/* Does s run a query that has results? */
static bool runs_sql(const struct server *s)
{
	return s->phase == SERVER_PHASE_ROLE ||
	    s->phase == SERVER_PHASE_QUERY ||
	    s->phase == SERVER_PHASE_ORIGIN;
}

/* By type of message. Rows of connect_query are ignored. */
static int (*const handlers[256])(struct server *,
    const struct server_message *) = {
	[BE_AUTHENTICATION] = on_authentication,
	[BE_PARAMETER_STATUS] = on_parameter,
	[BE_BACKEND_KEY_DATA] = on_key,
	[BE_NEGOTIATE_PROTOCOL_VERSION] = on_negotiate,
	[BE_NOTICE_RESPONSE] = on_notice,
	[BE_ERROR_RESPONSE] = on_error,
	[BE_READY_FOR_QUERY] = on_ready,
};

int server_login_take(struct server *s, const struct server_message *m)
{
	int (*fn)(struct server *, const struct server_message *) =
	    handlers[(uint8_t)m->type];

	if (runs_sql(s) && fn == NULL)
		return m->type == BE_DATA_ROW ? on_row(s, m) : 0;
	if (fn != NULL)
		return fn(s, m);
	return fail(s, CLOSE_UNKNOWN_PKT_FROM_SERVER);
}
