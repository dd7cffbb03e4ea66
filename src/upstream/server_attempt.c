/* server_attempt.c - a server connection before it is pooled, and its password if
 * that changes by itself.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_attempt.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/dial.h"
#include "io/tls_context.h"
#include "pool/catalog.h"
#include "proto/msg.h"
#include "session/server.h"
#include "session/sessions.h"

#define WELCOME_MAX (1 << 20)

struct server_attempt *server_attempt_new(struct server *s)
{
	struct server_attempt *a = mem_zalloc(sizeof *a);

	if (a == NULL)
		return NULL;
	a->server = s;
	writer_init(&a->welcome, WELCOME_MAX);
	return a;
}

void server_attempt_end_dialling(struct server_attempt *a)
{
	struct dialling *const d = a->dialling;

	a->dialling = NULL;
	if (d == NULL)
		return;
	dial_cancel(&d->dial, false);
	mem_free(d->hosts);
	mem_free(d);
}

void server_attempt_free(struct server_attempt **a)
{
	struct server_attempt *const old = *a;

	*a = NULL;
	if (old == NULL)
		return;
	server_attempt_end_dialling(old);
	tls_context_unref(&old->context);
	server_auth_end(&old->auth);
	server_password_end(old);
	mem_free(old->refusal);
	writer_fini(&old->welcome);
	secret_wipe(old, sizeof *old);
	mem_free(old);
}

void server_attempt_blame(const struct dialling *d, unsigned winner)
{
	for (unsigned i = 0; i < d->count && d->listed; i++) {
		if (i != winner && d->outcomes[i] >= OUTCOME_SLOW)
			hosts_failed(d->server->ps.pool, d->hosts[i].item,
			    d->outcomes[i] == OUTCOME_SLOW, time_now());
	}
}

void server_attempt_failed(struct server *s)
{
	struct dialling *const d = s->attempt->dialling;

	if (d != NULL) {
		dial_cancel(&d->dial, true);
		server_attempt_blame(d, d->count);
	} else if (s->host.kind != HOST_NONE) {
		hosts_failed(s->ps.pool, s->host.item, false, time_now());
	}
}

#define REFUSALS_MAX 3

#define HINT_SAME \
	"password_file or password_command in [databases] or [users] gives the " \
	"password that the server has refused."

static struct server_attempt *attempt_of(struct password_wait *w)
{
	return container_of(w, struct server_attempt, password);
}

static void set_waiting(struct server_attempt *a, bool waiting)
{
	struct pool *const p = a->server->ps.pool;

	if (a->fetching == waiting)
		return;
	a->fetching = waiting;
	if (waiting) {
		p->password_waits++;
		/* password_timeout is for this, not server_connect_timeout */
		timeout_stop(&a->server->timer);
	} else {
		p->password_waits--;
	}
}

/* The server has its time for the login from now on. */
static void go_on(struct server_attempt *a)
{
	struct server *const s = a->server;

	if (!a->fetching)
		return;
	set_waiting(a, false);
	a->fetched_at = time_now();
	timeout_start(&s->ss->connect_list, &s->timer, a->fetched_at);
}

usec_t server_attempt_waits_since(const struct server *s)
{
	const struct server_attempt *const a = s->attempt;

	if (a == NULL || a->fetching)
		return INT64_MAX;
	return a->fetched_at > s->ps.born ? a->fetched_at : s->ps.born;
}

void server_password_end(struct server_attempt *a)
{
	set_waiting(a, false);
	password_leave(&a->password);
}

/* Like libpq, names a Unix socket by its directory. */
static void name_host(const struct server *s, char *out, size_t size)
{
	text_copy(out, size, s->host.text);
	char *const slash = s->host.kind == HOST_UNIX ? strrchr(out, '/') :
	    NULL;

	if (slash != NULL)
		*slash = '\0';
}

/* What the command has printed goes to the log, not to clients. */
static void fail(struct server *s)
{
	struct server_attempt *const a = s->attempt;
	struct close_cause why = close_cause(CLOSE_NO_PASSWORD);
	char text[512];

	snprintf(text, sizeof text, "%s: %s of user \"%s\" failed", why.text,
	    a->password.of == NULL ? "memory" : password_key(&a->password),
	    s->ps.pool->key.user->name);
	why.text = text;
	why.hint = "Look at the log, and at this key in [databases] or "
	    "[users]. The login is tried again after server_login_retry.";
	server_fail_cause(s, why);
}

static void on_got(struct password_wait *w, enum password_result r)
{
	struct server_attempt *const a = attempt_of(w);
	struct server *const s = a->server;

	go_on(a);
	stream_resume(&s->stream);
	if (r == PASSWORD_READY)
		a->then(s);
	else
		fail(s);
}

static enum password_result ask(struct server *s,
    const struct config_secret *from)
{
	struct server_attempt *const a = s->attempt;
	const struct config_db *const db = s->ps.pool->key.db->conf;
	char host[sizeof s->host.text];

	name_host(s, host, sizeof host);
	a->password.ready = on_got;
	return passwords_get(s->ss->passwords, &(struct password_wish){
		.from = from, .host = host, .port = db->port,
		.user = s->ps.pool->key.user->name, .dbname = db->dbname,
		.database = s->ps.pool->key.db->name,
	    }, &a->password);
}

void server_password_get(struct server *s, void (*then)(struct server *s))
{
	const struct config_secret *const from =
	    s->ps.pool->peer_id != 0 ? NULL : catalog_pool_source(s->ps.pool);
	struct server_attempt *const a = s->attempt;

	a->then = then;
	if (from == NULL) {
		then(s);
		return;
	}
	switch (ask(s, from)) {
	case PASSWORD_READY:
		then(s);
		return;
	case PASSWORD_WAIT:
		set_waiting(a, true);
		stream_pause(&s->stream);
		return;
	case PASSWORD_FAILED:
		fail(s);
		return;
	}
}

struct credentials *server_password_secret(const struct server *s)
{
	const struct password_wait *const w = &s->attempt->password;

	return w->of != NULL ? w->credentials :
	    catalog_pool_credentials(s->ss->catalog, s->ps.pool);
}

/* Clients need not wait for a password that no server has ever accepted. */
static void refuse(struct server *s)
{
	struct server_attempt *const a = s->attempt;
	struct close_cause why = close_cause(CLOSE_LOGIN_FAILED);

	a->passing = password_is_proved(&a->password);
	a->refused = !a->passing;
	why.code = a->refusal_code;
	if (!s->ps.dedicated)
		why.text = a->refusal;
	why.hint = HINT_SAME;
	server_fail_cause(s, why);
}

static void try_again(struct server *s)
{
	struct server_attempt *const a = s->attempt;

	server_auth_end(&a->auth);
	a->auth = (struct server_auth){ .step = 0 };
	a->heard = a->parameters = 0;
	a->answered = false;
	server_begin(s, SERVER_PHASE_CONNECT);
}

static void on_other(struct password_wait *w, enum password_result r)
{
	struct server_attempt *const a = attempt_of(w);

	go_on(a);
	if (r == PASSWORD_READY)
		try_again(a->server);
	else
		refuse(a->server);
}

/* PostgreSQL reports failures of PAM and LDAP with the other code. */
static bool is_about_password(const struct server_attempt *a,
    const struct report *r)
{
	return a->answered &&
	    (strcmp(r->code, ERRCODE_INVALID_PASSWORD) == 0 ||
	    strcmp(r->code, ERRCODE_INVALID_AUTHORIZATION) == 0);
}

static bool note_refusal(struct server_attempt *a, const struct report *r)
{
	mem_free(a->refusal);
	a->refusal = mem_strdup(r->message);
	text_copy(a->refusal_code, sizeof a->refusal_code, r->code);
	return a->refusal != NULL;
}

/* Each try has another password than the one before, and their number is limited. */
bool server_password_refused(struct server *s, const struct report *r)
{
	struct server_attempt *const a = s->attempt;

	/* after AuthenticationOk, the error is about something else: NOLOGIN */
	if (a->password.of == NULL || a->refusals == REFUSALS_MAX ||
	    s->phase == SERVER_PHASE_SYNC ||
	    !is_about_password(a, r) || !note_refusal(a, r))
		return false;
	a->refusals++;
	log_at(LEVEL_WARNING, &s->who, "%s: fetching the password again",
	    a->refusal);
	carry_fini(&s->carry);
	stream_close(&s->stream);
	a->password.ready = on_other;
	const enum password_result result = passwords_get_other(&a->password);

	if (result == PASSWORD_WAIT)
		set_waiting(a, true);
	else
		on_other(&a->password, result);
	return true;
}
