/* server_login.c - how we get in: StartupMessage, authentication, parameters.
 * SPDX-License-Identifier: ISC */
#include "session/server_login.h"

#include <string.h>

#include "base/mem.h"
#include "conf/require.h"
#include "io/tls.h"
#include "pool/latencies.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/reader.h"
#include "proto/report.h"
#include "proto/startup.h"
#include "session/server.h"
#include "session/server_attempt.h"
#include "session/server_phases.h"
#include "session/sessions.h"

#define LOGIN_MAX (1 << 20)	/* bytes of one message while logging in */

static void write_option(struct writer *w, const char *name,
    const char *value)
{
	if (value == NULL)
		return;
	writer_str(w, name);
	writer_str(w, value);
}

/* Send w and forget it. Returns -1 when s was closed. */
static int send_out(struct server *s, struct writer *w)
{
	const bool bad = w->failed || (w->len > 0 &&
	    stream_write_bytes(&s->stream, w->at, w->len) == STREAM_BROKEN);

	writer_fini(w);
	if (!bad)
		return 0;
	server_fail(s, "08006", "startup pkt failed");
	return -1;
}

void server_login_begin(struct server *s)
{
	const struct config_db *db = s->ps.pool->key.db->conf;
	struct writer w;
	struct err e;

	_Static_assert(SCRAM_BINDING_MAX == TLS_BINDING_MAX, "they differ");
	s->attempt->auth.mode = (enum channel_binding)sessions_settings(
	    s->ss)->server_channel_binding;
	s->attempt->auth.binding.len = s->attempt->auth.mode == BINDING_DISABLE ? 0 :
	    tls_end_point(&s->stream, s->attempt->auth.binding.bytes);
	/* it was parsed once, at least, when it was set */
	if (require_auth_parse(sessions_settings(s->ss)->server_require_auth,
	    &s->attempt->auth.forbidden, &e) < 0)
		s->attempt->auth.forbidden = ~0u;
	s->attempt->plain = s->attempt->plain || s->ps.pool->old_protocol;
	writer_init(&w, LOGIN_MAX);
	writer_begin(&w, 0);
	writer_u32(&w, s->attempt->plain ? PROTOCOL_3_0 : PROTOCOL_3_2);
	write_option(&w, "database", db->dbname);
	write_option(&w, "client_encoding", db->client_encoding);
	write_option(&w, "datestyle", db->datestyle);
	write_option(&w, "timezone", db->timezone);
	write_option(&w, "application_name", db->application_name);
	s->attempt->no_sql = s->ps.dedicated &&
	    !s->ss->server_ops->introduce(s, &w);
	write_option(&w, "user", s->ps.pool->key.user->name);
	writer_u8(&w, 0);
	writer_end(&w);
	send_out(s, &w);
}

/*
 * --- the messages of a login ---
 * Each returns 0; 1 when it was the last one of the login; or -1 when s was
 * closed, or starts anew.
 */

struct message {
	char type;
	const uint8_t *body;
	size_t len;
};

/* Once for each host: everybody on the way can read it. */
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

/* Returns -1 when s was closed. */
static int act_on(struct server *s, enum server_auth_result r,
    struct writer *w)
{
	if (s->attempt->auth.cleartext)
		warn_of_cleartext(s);
	switch (r) {
	case SERVER_AUTH_WAIT:
		stream_pause(&s->stream);
		return send_out(s, w);
	case SERVER_AUTH_MORE:
		return send_out(s, w);
	case SERVER_AUTH_OK:
		writer_fini(w);
		server_set_phase(s, SERVER_PHASE_SYNC);
		return 0;
	case SERVER_AUTH_FAILED:
		break;
	}
	writer_fini(w);
	if (s->attempt->auth.detail[0] != '\0')
		log_at(LEVEL_ERROR, &s->who, "%s", s->attempt->auth.detail);
	s->attempt->refused = true;
	server_close_for(s, &s->attempt->auth.error, s->ps.dedicated ?
	    "login failed" : "failed to answer authreq");
	return -1;
}

/* Its keys are derived: go on. */
static void on_woken(struct server_auth *a)
{
	struct server *s = ((struct server_attempt *)((char *)a -
	    offsetof(struct server_attempt, auth)))->server;
	struct writer w;

	writer_init(&w, LOGIN_MAX);
	if (act_on(s, server_auth_resume(a, &w), &w) == 0)
		stream_resume(&s->stream);
}

static int on_authentication(struct server *s, const struct message *m)
{
	struct writer w;

	if (s->phase != SERVER_PHASE_AUTH) {
		server_fail(s, "08P01", "unknown pkt from server");
		return -1;
	}
	if (user_renew(s->ss->catalog, s->ps.pool->key.user) < 0) {
		server_fail(s, "53200", "out of memory");
		return -1;
	}
	if (s->attempt->plain)
		s->ps.pool->old_protocol = true;
	s->attempt->answered = true;
	s->attempt->auth.offload = s->ss->offload;
	s->attempt->auth.wake = on_woken;
	writer_init(&w, LOGIN_MAX);
	return act_on(s, server_auth_step(&s->attempt->auth, s->ps.pool->key.user->name,
	    catalog_pool_credentials(s->ss->catalog, s->ps.pool), m->body,
	    m->len, &w), &w);
}

static int on_parameter(struct server *s, const struct message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const char *name = reader_str(&r), *value = reader_str(&r);

	if (r.failed) {
		server_fail(s, "08P01", "broken ParameterStatus packet");
		return -1;
	}
	const int i = params_find(s->ss->params, name);

	if (strcmp(name, "is_superuser") == 0)
		s->superuser = strcmp(value, "on") == 0;
	if (i >= 0 && params_set(&s->params, i, value) < 0) {
		server_fail(s, "53200", "no memory for what the server said");
		return -1;
	}
	if (i < 0)
		writer_parameter_status(&s->attempt->welcome, name, value);
	return 0;
}

static int on_key(struct server *s, const struct message *m)
{
	if (m->len < 8 || m->len > sizeof s->key) {
		server_fail(s, "08P01", "bad cancel key");
		return -1;
	}
	memcpy(s->key, m->body, m->len);
	s->key_len = (uint16_t)m->len;
	return 0;
}

static int on_notice(struct server *s, const struct message *m)
{
	(void)s;
	(void)m;
	return 0;
}

static int on_query_error(struct server *s, const struct message *m)
{
	struct report r;

	(void)s;
	if (report_parse(&r, m->body, m->len) == 0)
		log_error("S: error while executing exec_on_query: %s: %s",
		    r.severity, r.message);
	return 0;
}

/* It asks for an older protocol than we did. */
static int on_negotiate(struct server *s, const struct message *m)
{
	const uint32_t version = m->len < 8 ? UINT32_MAX : msg_u32(m->body);

	if (s->phase != SERVER_PHASE_AUTH || s->attempt->answered || s->attempt->plain ||
	    version < PROTOCOL_3_0 || version > PROTOCOL_3_2) {
		server_fail(s, "08P01", "unknown pkt from server");
		return -1;
	}
	s->attempt->answered = true;
	return 0;
}

/*
 * Servers of before 2017, and some proxies, don't negotiate: they refuse. The
 * second attempt is one that everybody knows.
 */
static bool refuses_protocol(const struct server *s, const struct report *r)
{
	return !s->attempt->answered && !s->attempt->plain && (strcmp(r->code, "0A000") == 0 ||
	    strcmp(r->code, "08P01") == 0);
}

static void try_old_protocol(struct server *s, const struct report *r)
{
	log_at(LEVEL_DEBUG, &s->who, "trying protocol 3.0 because of: %s",
	    r->message);
	s->attempt->plain = true;
	carry_fini(&s->carry);
	stream_close(&s->stream);
	server_begin(s, SERVER_PHASE_CONNECT);
}

static int on_login_error(struct server *s, const struct report *r)
{
	if (refuses_protocol(s, r)) {
		try_old_protocol(s, r);
		return -1;
	}
	/* cannot_connect_now passes; any other refusal does not */
	s->attempt->refused = strcmp(r->code, "57P03") != 0;
	if (s->ps.dedicated)
		log_error("S: login failed: %s: %s", r->severity, r->message);
	else
		log_warning("server login failed: %s %s", r->severity,
		    r->message);
	server_fail(s, r->code[0] != '\0' ? r->code : "08P01",
	    s->ps.dedicated || r->message[0] == '\0' ? "login failed" : r->message);
	return -1;
}

static int on_error(struct server *s, const struct message *m)
{
	struct report r;

	if (s->phase == SERVER_PHASE_QUERY)
		return on_query_error(s, m);
	if (report_parse(&r, m->body, m->len) < 0) {
		server_fail(s, "08P01", "unknown pkt from server");
		return -1;
	}
	return on_login_error(s, &r);
}

/*
 * What a pool's first server has said is the welcome for its clients. 0, or
 * -1: it is too much.
 */
static int keep_welcome(struct server *s)
{
	struct pool *p = s->ps.pool;
	struct writer *w = &s->attempt->welcome;

	/* it is another one with the wishes of one client, or no database */
	if (s->ps.dedicated)
		return 0;
	if (p->welcome == NULL && !s->ps.close_needed) {
		if (w->failed)
			return -1;
		p->welcome = mem_alloc(sizeof *p->welcome + w->len);
		if (p->welcome == NULL)
			return -1;
		p->welcome->params = params_ref(s->params);
		p->welcome->len = w->len;
		if (w->len > 0)
			memcpy(p->welcome->bytes, w->at, w->len);
	}
	return 0;
}

/* connect_query; a physical replication connection knows no SQL. */
static const char *first_query(const struct server *s)
{
	return s->attempt->no_sql ? NULL :
	    s->ps.pool->key.db->conf->connect_query;
}

static int on_ready(struct server *s, const struct message *m)
{
	const char *query = first_query(s);
	struct writer w;

	if (m->len != 1 || s->phase == SERVER_PHASE_AUTH) {
		server_fail(s, "08P01", "unknown pkt from server");
		return -1;
	}
	if (s->phase == SERVER_PHASE_SYNC && query != NULL) {
		server_set_phase(s, SERVER_PHASE_QUERY);
		writer_init(&w, 1 << 24);
		writer_query(&w, query);
		return send_out(s, &w);
	}
	/* connect_query left a transaction, which nobody has asked for */
	if (m->body[0] != 'I') {
		server_fail(s, "08P01", "idle server got dirty");
		return -1;
	}
	return 1;
}

/* By message type; the results of connect_query are ignored. */
static int (*const handlers[256])(struct server *, const struct message *) = {
	[BE_AUTHENTICATION] = on_authentication,
	[BE_PARAMETER_STATUS] = on_parameter,
	[BE_BACKEND_KEY_DATA] = on_key,
	[BE_NEGOTIATE_PROTOCOL_VERSION] = on_negotiate,
	[BE_NOTICE_RESPONSE] = on_notice,
	[BE_ERROR_RESPONSE] = on_error,
	[BE_READY_FOR_QUERY] = on_ready,
};

static int on_message(struct server *s, const struct message *m)
{
	int (*fn)(struct server *, const struct message *) =
	    handlers[(uint8_t)m->type];

	if (fn != NULL)
		return fn(s, m);
	if (s->phase == SERVER_PHASE_QUERY)
		return 0;
	server_fail(s, "08P01", "unknown pkt from server");
	return -1;
}

/*
 * An idle server may send notifications, which nobody gets: skip those, but
 * for one that is cut. Returns false when there is something else.
 */
static bool skip_notifications(const struct burst *b, size_t *used)
{
	while (*used < b->len) {
		const uint8_t *p = b->at + *used;
		const size_t left = b->len - *used;

		if (p[0] != BE_NOTIFICATION_RESPONSE)
			return false;
		if (left < MSG_HEADER)
			return true;
		const size_t size = msg_size(p, LOGIN_MAX - 1);

		if (size == 0 || size > left)
			return size != 0;
		*used += size;
	}
	return true;
}

/* The first used bytes of b were the last of its login. */
static void finish(struct server *s, const struct burst *b, size_t used)
{
	/* who talks on without being asked is not fit for use */
	if (!skip_notifications(b, &used)) {
		server_fail(s, "08P01", "idle server got dirty");
		return;
	}
	if (carry_rest(&s->carry, b, used) < 0 || keep_welcome(s) < 0) {
		server_fail(s, "53200", "no memory for what the server said");
		return;
	}
	s->silent = params_missing(s->params);
	s->track.status = 'I';
	s->track.ready = true;
	server_set_phase(s, SERVER_PHASE_POOLED);
	s->ps.used = time_now();
	latencies_note(s->ps.pool, LATENCY_CONNECT,
	    time_precise() - s->ps.born);
	s->ss->server_ops->ready(s);
	server_attempt_free(&s->attempt);
}

/* Returns -1 when nothing more is to be read for the login. */
static int on_burst(struct server *s, const struct burst *b)
{
	size_t used = 0;
	int rc = 0;

	while (rc == 0 && !s->stream.paused && b->len - used >= MSG_HEADER) {
		const uint8_t *p = b->at + used;
		const size_t size = msg_size(p, LOGIN_MAX - 1);

		if (size == 0) {
			server_fail(s, "08P01", "bad pkt header");
			return -1;
		}
		if (size > b->len - used)
			break;
		used += size;
		const struct message m = { (char)p[0], p + MSG_HEADER,
		    size - MSG_HEADER };

		rc = on_message(s, &m);
	}
	if (rc > 0)
		finish(s, b, used);
	if (rc != 0)
		return -1;
	if (carry_rest(&s->carry, b, used) == 0)
		return 0;
	server_fail(s, "53200", "login failed");
	return -1;
}

void server_login_input(struct server *s)
{
	struct burst b;

	while (server_is_open(s) && !s->stream.paused &&
	    stream_is_ready(&s->stream)) {
		const ssize_t n = carry_read(&s->carry, &s->stream, &b,
		    LOGIN_MAX + MSG_HEADER);

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			server_fail(s, "08006", "server conn crashed?");
			return;
		}
		s->ps.used = time_now();
		if (on_burst(s, &b) < 0)
			return;
		stream_reread(&s->stream);
	}
}
