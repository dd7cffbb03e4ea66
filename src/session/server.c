/* server.c - a server connection: its phases, own queries, close.
 * SPDX-License-Identifier: ISC */
#include "session/server.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/dns.h"
#include "io/loop.h"
#include "pool/hosts.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "relay/relay_schema.h"
#include "session/client.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"

static void server_describe(const struct log_who *who, struct log_facts *out)
{
	const struct server *s = container_of(who, const struct server, who);
	const struct pool *p = s->ps.pool;

	out->side = 'S';
	out->object = s;
	out->peer = p->peer_id;
	out->database = p->key.db->name;
	out->user = p->key.user->name;
	net_format(&s->addr, out->address, sizeof out->address);
}

static const struct server_phase_ops *phase_of(const struct server *s)
{
	return &s->ss->server_ops->phases[s->phase];
}

void server_set_phase(struct server *s, enum server_phase phase)
{
	struct sessions *const ss = s->ss;

	if (log_wants(LEVEL_DEBUG))
		log_at(LEVEL_DEBUG, &s->who, "%s -> %s", phase_of(s)->name,
		    ss->server_ops->phases[phase].name);
	s->phase = phase;
	if (!phase_of(s)->timed)
		timeout_stop(&s->timer);
	else if (!timeout_running(&s->timer))
		timeout_start(s->ps.pool->peer_id != 0 ? &ss->peer_list :
		    &ss->connect_list, &s->timer, s->ps.born);
}

void server_begin(struct server *s, enum server_phase phase)
{
	server_set_phase(s, phase);
	phase_of(s)->begin(s);
}

static void server_on_readable(struct stream *st)
{
	struct server *s = (struct server *)st;

	phase_of(s)->input(s);
}

static void server_on_drained(struct stream *st)
{
	struct server *s = (struct server *)st;

	if (phase_of(s)->drained != NULL)
		phase_of(s)->drained(s);
}

/* A paused server is read when its client can take more. */
static void server_on_hangup(struct stream *st)
{
	(void)st;
}

static void server_on_describe(const struct stream *st, struct text *t)
{
	const struct server *const s = (const struct server *)st;
	struct log_facts f = { 0 };

	server_describe(&s->who, &f);
	text_addf(t, "server %s/%s@%s (%s%s)", f.database, f.user, f.address,
	    phase_of(s)->name, s->ps.client != NULL ? ", linked" : "");
}

static const struct stream_ops stream_ops = {
	.describe = server_on_describe,
	.readable = server_on_readable,
	.drained = server_on_drained,
	.hangup = server_on_hangup,
};

_Static_assert(offsetof(struct server, stream) == 0,
    "a server is found from its stream");

static void server_free_task(struct loop_task *t)
{
	struct server *s = container_of(t, struct server, stream.task);

	mem_delete(MEM_SERVER, s, sizeof *s);
}

struct server *server_new(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	struct server *s = mem_new(MEM_SERVER, sizeof *s);

	if (s == NULL)
		return NULL;
	s->params = params_empty(ss->params);
	s->attempt = s->params == NULL || state == SERVER_IDLE ? NULL :
	    server_attempt_new(s);
	if (s->params == NULL || (s->attempt == NULL && state != SERVER_IDLE)) {
		params_unref(&s->params);
		mem_delete(MEM_SERVER, s, sizeof *s);
		return NULL;
	}
	s->ss = ss;
	s->stream.fd = -1;
	s->stream.loop = ss->loop;
	s->who.describe = server_describe;
	s->id = sessions_next_id(ss);
	s->ps.pool = p;
	s->ps.state = SERVER_GONE;
	s->ps.born = s->ps.used = time_now();
	track_init(&s->track, ss->server_ops->track, s);
	s->ps.dedicated = state == SERVER_DEDICATED_LOGIN;
	pool_server_set(&s->ps, state);
	cursor_list_add(&ss->all_servers, &s->node);
	ss->servers++;
	return s;
}

void server_close_for(struct server *s, const struct err *failure,
    struct close_cause why)
{
	if (s->ps.state == SERVER_GONE)
		return;
	s->failure = failure;
	server_close_cause(s, why);
	s->failure = NULL;
}

struct server *server_adopt(struct sessions *ss, struct pool *p, int fd)
{
	struct server *const s = server_new(ss, p, SERVER_IDLE);

	if (s == NULL) {
		close(fd);
		return NULL;
	}
	server_set_phase(s, SERVER_PHASE_POOLED);
	s->ps.lent = true;
	s->unnamed = OWN_UNKNOWN;
	if (stream_open(&s->stream, ss->loop, fd, &stream_ops) == 0)
		return s;
	server_fail(s, CLOSE_OUT_OF_MEMORY);
	return NULL;
}

void server_fail(struct server *s, enum close_reason reason)
{
	server_fail_cause(s, close_cause(reason));
}

void server_fail_as(struct server *s, enum close_reason reason,
    const char *code)
{
	struct close_cause why = close_cause(reason);

	why.code = code;
	server_fail_cause(s, why);
}

void server_fail_cause(struct server *s, struct close_cause why)
{
	struct err e;

	err_set(&e, why.code == NULL ? ERRCODE_PROTOCOL_VIOLATION : why.code,
	    "%s", why.text);
	server_close_for(s, &e, why);
}

int server_open(struct server *s, int fd)
{
	if (stream_open(&s->stream, s->ss->loop, fd, &stream_ops) == 0)
		return 0;
	server_fail_as(s, CLOSE_CONNECT_FAILED, ERRCODE_OUT_OF_MEMORY);
	return -1;
}

void server_set_own_query(struct server *s, enum own_query query)
{
	s->own_query = query;
	if (query == OWN_QUERY_NONE)
		timeout_stop(&s->timer);
	else if (!timeout_running(&s->timer))
		timeout_start(&s->ss->own_query_list, &s->timer, time_now());
}

int server_send_query(struct server *s, const char *sql,
    enum own_query query)
{
	struct writer w;
	int rc = -1;

	/* answers to an own query are not owed to a client */
	if (s->ps.client != NULL)
		own_settle(&client_of(s->ps.client)->relay.own, &s->unnamed);
	s->unnamed = OWN_NONE;
	writer_init(&w, 1 << 24);
	writer_query(&w, sql);
	server_set_own_query(s, query);
	if (w.failed || track_add(&s->track, FE_QUERY, TRACK_SKIP, NULL) < 0)
		server_fail(s, CLOSE_OUT_OF_MEMORY);
	else if (stream_write_bytes(&s->stream, w.at, w.len) == STREAM_BROKEN)
		server_close(s, CLOSE_SERVER_CONNECTION_CLOSED);
	else
		rc = 0;
	writer_fini(&w);
	return rc;
}

static void terminate(struct server *s)
{
	static const uint8_t message[] = { 'X', 0, 0, 0, 4 };
	bool (*const can)(const struct server *) = phase_of(s)->can_terminate;

	if (can != NULL && !s->stream.broken && !stream_is_blocked(&s->stream) &&
	    can(s))
		stream_write_bytes(&s->stream, message, sizeof message);
}

/* Even a good host may refuse what a replication client asks for. */
static bool is_host_to_blame(const struct server *s)
{
	return s->failure != NULL && (s->ps.state == SERVER_LOGIN ||
	    (s->ps.state == SERVER_LISTENING && s->attempt != NULL) ||
	    (s->ps.state == SERVER_DEDICATED_LOGIN &&
	    !server_is_introduced(s)));
}

/* Frees what s owns now, and s itself after the turn. */
static void bury(struct server *s)
{
	track_fini(&s->track);
	prepared_uses_clear(&s->prepared);
	params_unref(&s->params);
	params_unref(&s->origin.set);
	carry_fini(&s->carry);
	writer_fini(&s->deallocates);
	keep_fini(s);
	dialect_fini(&s->dialect);
	carry_fini(&s->asked);
	server_attempt_free(&s->attempt);
	secret_wipe(s->key, sizeof s->key);
	s->stream.task.run = server_free_task;
	loop_defer(s->ss->loop, &s->stream.task);
}

void server_lose(struct server *s)
{
	s->ss->tally.disconnects[TALLY_SERVER][CLOSE_DATABASE_REMOVED]++;
	terminate(s);
	stream_close(&s->stream);
	bury(s);
}

void server_close(struct server *s, enum close_reason reason)
{
	server_close_cause(s, close_cause(reason));
}

void server_close_cause(struct server *s, struct close_cause why)
{
	struct sessions *ss = s->ss;

	if (s->ps.state == SERVER_GONE)
		return;
	ss->tally.disconnects[TALLY_SERVER][why.reason]++;
	if (sessions_settings(ss)->log_disconnections)
		log_at(LEVEL_INFO, &s->who, "closing because: %s (age=%llds)",
		    why.text, (long long)((time_now() - s->ps.born) / USEC));
	if (is_host_to_blame(s))
		server_attempt_failed(s);
	timeout_stop(&s->timer);
	relay_schema_end(s);
	if (s->stream.fd >= 0) {
		terminate(s);
		stream_close(&s->stream);
	}
	pool_server_set(&s->ps, SERVER_GONE);
	cursor_list_remove(&ss->all_servers, &s->node);
	ss->servers--;
	ss->server_ops->closed(s, why);
	bury(s);
}

const char *server_hint(const char *sqlstate, const char *message)
{
	/* PostgreSQL docs, Appendix A. */
	static const struct {
		const char *code, *words, *hint;
	} rows[] = {
		{ "28P01", "", SERVER_HINT_SECRET },
		/*
		 * PostgreSQL's text in English; with another text the general
		 * hint is used
		 */
		{ "28000", "no encryption", "The server may want TLS from "
		    "pgsluice: set server_tls_sslmode = require, or allow its "
		    "address without TLS in pg_hba.conf." },
		{ "28000", "does not exist", "The role is that of user= in "
		    "the line of [databases], of auth_user for auth_query, or "
		    "the client's own: create it on the server." },
		{ "28000", "", "The server refuses pgsluice: its pg_hba.conf must "
		    "allow the address of pgsluice, with this user and database." },
		{ "3D000", "", "The name is that of dbname= in the line of "
		    "[databases], or of the database itself if there is none." },
		{ "53300", "", "max_connections of the server is reached: lower "
		    "default_pool_size, max_db_connections or "
		    "max_user_connections, so that their sum stays below it." },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].code, sqlstate) == 0 &&
		    strstr(message, rows[i].words) != NULL)
			return rows[i].hint;
	}
	return NULL;
}

static enum session_attrs attrs_of(const struct server *s)
{
	return s->ps.pool->limits.attrs;
}

/* A physical replication connection does not understand SQL. */
bool server_role_question(const struct server *s, struct writer *w)
{
	if (s->attempt->no_sql ||
	    host_role_is_known(&s->attempt->role, attrs_of(s)))
		return false;
	writer_query(w, "SELECT pg_catalog.pg_is_in_recovery(), "
	    "pg_catalog.current_setting('transaction_read_only')");
	return true;
}

/* 't' and 'on' are true. */
static enum fact take_fact(struct reader *r)
{
	const uint32_t len = reader_u32(r);
	const uint8_t *const at = reader_bytes(r, r->failed ? 0 : len);

	if (r->failed || len == 0)
		return FACT_UNKNOWN;
	return at[0] == 't' || (len == 2 && at[1] == 'n') ? FACT_YES : FACT_NO;
}

void server_role_answer(struct server *s, const uint8_t *body, size_t len)
{
	struct reader r;

	reader_init(&r, body, len);
	(void)reader_u16(&r);	/* number of columns */
	s->attempt->role.standby = take_fact(&r);
	s->attempt->role.read_only = take_fact(&r);
}

/* Avoids this address of a name for a while, if there are others. */
static void avoid_address(const struct server *s)
{
	if (s->host.kind == HOST_NAME)
		dns_avoid(s->ss->dns, s->host.text, &s->addr,
		    time_now() + s->ps.pool->limits.login_retry);
}

int server_role_check(struct server *s)
{
	struct pool *const p = s->ps.pool;
	const char *const why = host_role_misfit(&s->attempt->role,
	    attrs_of(s));

	s->standby = (uint8_t)s->attempt->role.standby;
	if (attrs_of(s) == ATTRS_ANY)
		return 0;
	hosts_set_misfit(p, s->host.item, why != NULL);
	if (why == NULL || (attrs_of(s) == ATTRS_PREFER_STANDBY &&
	    !hosts_better_left(p, s->ss->catalog, time_now())))
		return 0;
	hosts_failed(p, s->host.item, false, time_now());
	avoid_address(s);
	struct close_cause cause = close_cause(CLOSE_HOST_DOES_NOT_FIT);

	cause.text = why;
	server_fail_cause(s, cause);
	return -1;
}
