/* login_auth.c - the exchange of a login, and its end: in or out.
 * SPDX-License-Identifier: ISC */
#include <stddef.h>
#include <string.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/probe.h"
#include "io/gssenc.h"
#include "io/socket.h"
#include "io/tls.h"
#include "login/login_cached.h"
#include "login/login_database.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_others.h"
#include "login/login_parts.h"
#include "login/login_shape.h"
#include "pool/credentials.h"
#include "pool/latencies.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/sessions.h"

/*
 * A reload may have changed the secret or the way to find it, or removed the
 * user, meanwhile.
 */
static int check_secret(const struct client *c, struct err *e)
{
	const struct login *const l = c->login;
	const bool holds = l->query.found == NULL || auth_errand_holds(c);

	return holds && login_credentials(c) == l->asked_for ? 0 :
	    err_set(e, ERRCODE_INVALID_PASSWORD,
	    "password authentication failed");
}

static int check_admission(struct client *c, struct err *e)
{
	const struct settings *set = sessions_settings(c->ss);
	const char *name = c->login->db_name;

	if (check_secret(c, e) < 0)
		return -1;
	if (c->db == NULL) {
		if (set->log_connections)
			login_log(c, LEVEL_INFO,
			    "login failed: db=%.*s user=%s",
			    login_name_length(c), name, c->login->user);
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "no such database: %.*s", login_name_length(c), name);
	}
	if (c->db->disabled)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "database \"%s\" is disabled", name);
	if (login_is_checked_elsewhere(c->login->method) &&
	    login_adopt_typed(c, c->login->auth.typed, e) < 0)
		return -1;
	if (login_admit(c, e) < 0)
		return -1;
	login_keep_database(c, c->db);
	struct user *pu = catalog_pool_user(c->ss->catalog, c->db, c->user);

	/* KILL, or a reload, has taken the part from under this login */
	if (pu != NULL && c->db->is_part &&
	    catalog_find_pool(c->ss->catalog, c->db, pu) == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "database removed");
	c->pc.pool = pu == NULL ? NULL :
	    catalog_get_pool(c->ss->catalog, c->db, pu);
	if (c->pc.pool == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY, "no memory for pool");
	/* (spec/authentication.md section 6: of this database, and this only) */
	if (c->login->query.found != NULL && pu == c->user)
		catalog_learn_credentials(c->pc.pool, c->login->query.found);
	return login_accept_others(c, e) < 0 ? -1 : login_leave_lobby(c, e);
}

static void count_login(const struct client *c, enum tally_result r)
{
	c->ss->tally.client_logins[c->login->method][r]++;
}

static const struct client_role *next_role(const struct client *c)
{
	const struct client_ops *const ops = &c->ss->client_ops;

	if (c->db->console)
		return ops->console;
	return c->replication != REPLICATION_NONE ? ops->replication :
	    ops->relay;
}

/* What to do, for somebody who has had the right password. */
static const char *refusal_hint(const struct client *c, const struct err *e)
{
	if (strcmp(e->code, ERRCODE_INVALID_AUTHORIZATION) == 0 &&
	    c->db != NULL && c->db->console)
		return "Add the user to admin_users, or to stats_users for "
		    "read-only access, and run RELOAD.";
	if (strcmp(e->code, ERRCODE_PROTOCOL_VIOLATION) != 0 ||
	    login_refuses_other(c, e))
		return login_hint(c, e);
	if (c->db == NULL)
		return "Add a line for it, or for *, to [databases], and run "
		    "RELOAD; SHOW DATABASES on the console lists the databases.";
	return c->db->disabled ? "The administrator ends it with ENABLE." :
	    NULL;
}

void login_enter_pool(struct client *c, const struct iovec *first)
{
	struct err e;

	if (check_admission(c, &e) < 0) {
		struct close_cause why =
		    close_cause_err(CLOSE_LOGIN_REFUSED, &e);

		why.hint = refusal_hint(c, &e);
		count_login(c, TALLY_FAILED);
		if (client_send_login(c, first) == 0)
			client_fail_cause(c, why);
		return;
	}
	/* what was left unsaid while others failed */
	if (lobby_admit(&c->ss->lobby, &c->login->guest) &&
	    sessions_settings(c->ss)->log_connections)
		login_log_attempt(c);
	count_login(c, TALLY_OK);
	client_become(c, next_role(c));
	c->pc.pool->counted.now.client_login_count++;
	const usec_t took = time_precise() - c->born;

	latencies_note(c->pc.pool, LATENCY_LOGIN, took);
	PROBE(login__end, c->id, c->db->name, c->user->name, took);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	c->role->admitted(c, first);
}

/*
 * c is not read till its password is checked. An error may have come in one
 * edge with the password, and there will be no other that tells of it.
 */
void login_rest(struct client *c)
{
	stream_pause(&c->stream);
	if (socket_error(c->stream.fd) != 0)
		login_hung_up(c);
}

static void count_refusal(const struct client *c,
    const struct auth_refusal *why)
{
	if (why->detail[0] != '\0')
		login_log(c, LEVEL_ERROR, "%s", why->detail);
	count_login(c, TALLY_FAILED);
	if (strcmp(why->error.code, ERRCODE_TOO_MANY_CONNECTIONS) == 0)
		c->ss->tally.limits_hit[TALLY_auth_queue][0]++;
}

void login_deny(struct client *c, const struct auth_refusal *why)
{
	count_refusal(c, why);
	login_refuse(c, &why->error);
}

void login_deny_uncounted(struct client *c, const struct auth_refusal *why)
{
	struct close_cause cause = close_cause_err(CLOSE_LOGIN_REFUSED,
	    &why->error);

	count_refusal(c, why);
	cause.hint = login_hint(c, &why->error);
	client_fail_cause(c, cause);
}

static void act_on(struct client *c, enum auth_result r, struct writer *w)
{
	const struct auth_refusal *why = c->login->auth.refusal;

	/* right or wrong: whoever has no place pays for no guess */
	if ((r == AUTH_DENY || r == AUTH_OK) && login_was_expelled(c))
		return;
	if (r == AUTH_DENY) {
		if (!login_cached_doubts_refusal(c, why))
			login_deny(c, why);
		return;
	}
	if (w->failed) {
		client_fail(c, CLOSE_NO_MEMORY_FOR_AUTH);
		return;
	}
	const struct iovec said = { w->at, w->len };

	if (r == AUTH_OK) {
		if (!login_cached_doubts_proof(c, &said))
			login_enter_pool(c, &said);
	} else if (client_send_login(c, &said) == 0 && r == AUTH_WAIT)
		login_rest(c);
}

static void write_negotiate(const struct client *c, struct writer *w)
{
	const struct login *l = c->login;
	const uint32_t version = startup_protocol(l->startup.code);

	if (l->startup.code != version || l->extension_count > 0)
		startup_write_negotiate(w, version,
		    (const char *const *)l->extensions, l->extension_count);
}

/* The user at the other end, as the kernel says; NULL: it does not. */
static const uid_t *peer_uid(const struct client *c, uid_t *uid)
{
	pid_t pid;

	return c->addr.family == NET_UNIX &&
	    socket_peer_cred(c->stream.fd, uid, &pid) == 0 ? uid : NULL;
}

/* What a hasty client has sent meanwhile is read, behind the carry. */
void login_read_on(struct client *c)
{
	if (!client_is_open(c) || c->stream.paused)
		return;
	stream_reread(&c->stream);
	stream_yield(&c->stream);
}

/* The one that counts for the method cert. */
static const char *cert_name(const struct client *c, char *buf, size_t size)
{
	return tls_peer_is_verified(&c->stream) &&
	    tls_peer_name(&c->stream, buf, size) ? buf : NULL;
}

static const char *peer_name(const struct client *c, char *buf, size_t size)
{
	switch (c->login->method) {
	case AUTH_CERT: return cert_name(c, buf, size);
	case AUTH_GSS: return gssenc_peer(&c->stream);
	default: return NULL;
	}
}

static void offer_binding(const struct client *c, struct auth_request *rq)
{
	const int mode = sessions_settings(c->ss)->client_channel_binding;

	_Static_assert(SCRAM_BINDING_MAX == TLS_BINDING_MAX, "they differ");
	if (mode != BINDING_DISABLE)
		rq->binding.len = tls_end_point(&c->stream,
		    rq->binding.bytes);
	rq->must_bind = mode == BINDING_REQUIRE && !c->own_user;
}

/* What the exchange waited for is there. */
static void on_woken(struct auth *a)
{
	struct login *l = container_of(a, struct login, auth);
	struct client *c = l->client;
	struct auth_refusal why;
	struct writer w;

	a->refusal = &why;
	writer_init(&w, LOGIN_MAX);
	stream_resume(&c->stream);
	login_examine(c, 0);
	act_on(c, auth_resume(a, &w), &w);
	writer_fini(&w);
	login_read_on(c);
}

static const char *options_of(const struct login *l,
    const struct settings *set)
{
	if (l->method == AUTH_GSS)
		return set->krb_server_keyfile;
	return l->rule != NULL ? l->rule->options : set->auth_ldap_options;
}

void login_begin_auth(struct client *c)
{
	const struct settings *set = sessions_settings(c->ss);
	struct login *l = c->login;
	struct auth_refusal why;
	char cert[TLS_NAME_MAX];
	uid_t uid;
	struct writer w;

	/* where no secret is known a password is not called wrong */
	if (c->user != NULL && user_renew(c->ss->catalog, c->user) < 0) {
		client_fail(c, CLOSE_OUT_OF_MEMORY);
		return;
	}
	login_choose_method(c);
	struct auth_request rq = {
		.type = l->method,
		.user = l->user,
		.credentials = login_credentials(c),
		.rule = l->rule,
		.os_uid = l->method == AUTH_PEER ? peer_uid(c, &uid) : NULL,
		.peer_name = peer_name(c, cert, sizeof cert),
		.tls = tls_state(&c->stream) == TLS_UP,
		.options = options_of(l, set),
		.caseless = l->method == AUTH_GSS && set->krb_caseins_users,
		.addr = &c->addr,
		.scram_iterations = set->scram_iterations,
		.random = &c->ss->random,
		.mock_salt = c->ss->mock_salt,
		.mock_shape = login_shape(c),
		.offload = c->ss->offload,
		.wake = on_woken,
		.doubtful = login_cached_is_used(l),
	};

	credentials_unref(&l->asked_for);
	if (rq.credentials != NULL)
		l->asked_for = credentials_ref(rq.credentials);
	offer_binding(c, &rq);
	if (set->log_connections && login_speaks(c))
		login_log_attempt(c);
	l->auth.refusal = &why;
	writer_init(&w, LOGIN_MAX);
	write_negotiate(c, &w);
	act_on(c, auth_begin(&l->auth, &rq, &w), &w);
	writer_fini(&w);
}

void login_step_auth(struct client *c, uint8_t *body, size_t len)
{
	struct auth_refusal why;
	struct writer w;

	c->login->auth.refusal = &why;
	writer_init(&w, LOGIN_MAX);
	login_cached_note(c, body, len);
	const enum auth_result r = auth_step(&c->login->auth, body, len, &w);

	/* the shared buffer might keep a password for long */
	secret_wipe(body, len);
	/* a thread that looks at the password now has a copy */
	login_examine(c, r == AUTH_WAIT ? MSG_HEADER + len : 0);
	act_on(c, r, &w);
	writer_fini(&w);
}

void login_judge_again(struct client *c, struct credentials *found,
    const struct iovec *body)
{
	struct login *const l = c->login;
	struct auth_refusal why;
	struct writer w;

	credentials_unref(&l->query.found);
	l->query.found = credentials_ref(found);
	l->query.errand->cached = false;
	credentials_unref(&l->asked_for);
	l->asked_for = credentials_ref(found);
	l->auth.refusal = &why;
	writer_init(&w, LOGIN_MAX);
	const enum auth_result r = auth_judge_again(&l->auth, found, body, &w);

	login_examine(c, r == AUTH_WAIT ? MSG_HEADER +
	    body->iov_len : 0);
	act_on(c, r, &w);
	writer_fini(&w);
}
