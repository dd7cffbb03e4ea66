/* server_login.c - logs in to a server: StartupMessage, authentication,
 * parameters.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_login.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "conf/require.h"
#include "conf/startup_params.h"
#include "io/gssapi.h"
#include "io/tls.h"
#include "pool/latencies.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/startup.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"
#include "upstream/server_login_parts.h"
#include "upstream/server_origin.h"

#define TARGET_MAX 512	/* of "service@host" */

/* The allowed methods, by the present settings. */
static void prepare_auth(struct server *s)
{
	const struct settings *set = sessions_settings(s->ss);
	struct server_auth *const auth = &s->attempt->auth;
	struct err e;

	_Static_assert(SCRAM_BINDING_MAX == TLS_BINDING_MAX, "they differ");
	auth->mode = (enum channel_binding)set->server_channel_binding;
	auth->binding.len = auth->mode == BINDING_DISABLE ? 0 :
	    tls_end_point(&s->stream, auth->binding.bytes);
	/* the setting was valid when it was set */
	if (require_auth_parse(set->server_require_auth, &auth->forbidden,
	    &e) < 0)
		auth->forbidden = ~0u;
}

/* May a server ask for a ticket of ours? 0, or -1: no memory. */
static int prepare_gss(struct server *s)
{
	const struct settings *const set = sessions_settings(s->ss);
	const int own = s->ps.pool->key.db->conf->server_gss;
	struct server_auth *const auth = &s->attempt->auth;
	char target[TARGET_MAX];

	gssapi_free(&auth->gss);
	if (!GSSAPI_BUILT || s->host.kind == HOST_UNIX ||
	    (own != CONFIG_UNSET ? own : set->server_gss) == 0)
		return 0;
	snprintf(target, sizeof target, "%s@%s", set->krbsrvname,
	    s->host.text);
	auth->gss = gssapi_new(&(struct gssapi_order){
		.target = target,
		.principal = set->krb_client_principal,
		.keytab = set->krb_client_keyfile,
		.done = server_auth_on_stepped,
		.owner = auth,
	});
	return auth->gss != NULL ? 0 : -1;
}

static void introduce(struct server *s)
{
	const struct config_db *db = s->ps.pool->key.db->conf;
	struct server_attempt *const a = s->attempt;
	struct startup_params params;
	struct writer w;

	if (startup_params_of(&params, s->ss->catalog->config, db,
	    s->ps.pool->key.user->conf) < 0) {
		server_fail(s, CLOSE_OUT_OF_MEMORY);
		return;
	}
	prepare_auth(s);
	if (prepare_gss(s) < 0) {
		startup_params_fini(&params);
		server_fail(s, CLOSE_OUT_OF_MEMORY);
		return;
	}
	a->plain = a->plain || s->ps.pool->old_protocol;
	writer_init(&w, SERVER_LOGIN_MAX);
	writer_begin(&w, 0);
	writer_u32(&w, a->plain ? PROTOCOL_3_0 : PROTOCOL_3_2);
	startup_write_param(&w, "database", db->dbname);
	for (size_t i = 0; i < params.count; i++)
		startup_write_param(&w, params.at[i].name, params.at[i].value);
	startup_params_fini(&params);
	a->no_sql = s->ps.dedicated && !s->ss->server_ops->introduce(s, &w);
	startup_write_param(&w, "user", s->ps.pool->key.user->name);
	writer_u8(&w, 0);
	writer_end(&w);
	server_login_send(s, &w);
}

void server_login_begin(struct server *s)
{
	server_password_get(s, introduce);
}

/*
 * What the pool's latest server reports is the welcome for its clients, because
 * it changes after a failover or an upgrade. Returns 0, or -1: too much, or no
 * memory.
 */
static int keep_welcome(struct server *s)
{
	struct pool *p = s->ps.pool;
	struct writer *w = &s->attempt->welcome;

	/*
	 * with the wishes of one client, or without a database, the reports
	 * differ
	 */
	if (s->ps.dedicated)
		return 0;
	if (s->ps.close_needed)
		return 0;
	return w->failed ? -1 : pool_put_welcome(p, params_ref(s->params),
	    w->at, w->len);
}

/*
 * An idle server may send notifications that nobody gets. Skips them, except
 * one that is cut off. Returns false if there is something else.
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
		const size_t size = msg_size(p, SERVER_LOGIN_MAX - 1);

		if (size == 0 || size > left)
			return size != 0;
		*used += size;
	}
	return true;
}

/* The first `used` bytes of b were the last of the login. */
static void finish(struct server *s, const struct burst *b, size_t used)
{
	/* a server that sends more without being asked is not usable */
	if (!skip_notifications(b, &used)) {
		server_fail(s, CLOSE_IDLE_SERVER_GOT_DIRTY);
		return;
	}
	if (carry_rest(&s->carry, b, used) < 0 || keep_welcome(s) < 0) {
		server_fail(s, CLOSE_NO_MEMORY_FOR_WELCOME);
		return;
	}
	server_origin_known(s);
	password_accept(&s->attempt->password);
	s->track.status = 'I';
	s->track.ready = true;
	server_set_phase(s, SERVER_PHASE_POOLED);
	s->ps.used = time_now();
	latencies_note(s->ps.pool, LATENCY_CONNECT,
	    time_precise() - s->ps.born);
	s->ss->server_ops->ready(s);
	server_attempt_free(&s->attempt);
}

/* A server that sends so much before the login is over is not PostgreSQL. */
static bool talks_too_much(struct server *s, char type, size_t size)
{
	struct server_attempt *const a = s->attempt;

	a->heard += size;
	a->parameters += type == BE_PARAMETER_STATUS;
	if (a->heard <= SERVER_LOGIN_MAX &&
	    a->parameters <= SERVER_LOGIN_PARAMETERS)
		return false;
	server_fail(s, CLOSE_LOGIN_TALKS_TOO_MUCH);
	return true;
}

/* Returns -1 if nothing more must be read for the login, or not now. */
static int on_burst(struct server *s, const struct burst *b)
{
	size_t used = 0, work = 0;
	int rc = 0;

	while (rc == 0 && !s->stream.paused && b->len - used >= MSG_HEADER &&
	    !(loop_ends_piece(&work, 0) && loop_is_long(s->stream.loop))) {
		const uint8_t *p = b->at + used;
		const size_t size = msg_size(p, SERVER_LOGIN_MAX - 1);

		if (size == 0) {
			server_fail(s, CLOSE_BAD_PKT_HEADER);
			return -1;
		}
		if (size > b->len - used)
			break;
		used += size;
		work += size;
		if (talks_too_much(s, (char)p[0], size))
			return -1;
		const struct server_message m = { (char)p[0],
		    p + MSG_HEADER, size - MSG_HEADER };

		rc = server_login_take(s, &m);
	}
	if (rc > 0)
		finish(s, b, used);
	if (rc != 0)
		return -1;
	if (carry_rest(&s->carry, b, used) == 0)
		return 0;
	server_fail_as(s, CLOSE_LOGIN_FAILED, ERRCODE_OUT_OF_MEMORY);
	return -1;
}

void server_login_input(struct server *s)
{
	struct burst b;

	if (carry_again(&s->carry, &b) && on_burst(s, &b) < 0)
		return;
	while (server_is_open(s) && !s->stream.paused &&
	    stream_is_ready(&s->stream)) {
		if (loop_is_long(s->stream.loop)) {
			stream_yield(&s->stream);
			return;
		}
		const ssize_t n = carry_read(&s->carry, &s->stream, &b,
		    SERVER_LOGIN_MAX + MSG_HEADER);

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			server_fail(s, CLOSE_SERVER_CRASHED);
			return;
		}
		s->ps.used = time_now();
		if (on_burst(s, &b) < 0)
			return;
		stream_reread(&s->stream);
	}
}
