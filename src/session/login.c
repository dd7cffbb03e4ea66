/* login.c - how a client gets in: start-up, limits, authentication.
 * SPDX-License-Identifier: ISC */
#include "session/login.h"

#include <stddef.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/hba.h"
#include "io/dns_host.h"
#include "io/socket.h"
#include "io/tls.h"
#include "pool/credentials.h"
#include "pool/latencies.h"
#include "pool/users.h"
#include "proto/msg.h"
#include "proto/writer.h"
#include "session/auth_query.h"
#include "session/client.h"
#include "session/login_lobby.h"
#include "session/login_log.h"
#include "session/login_parts.h"
#include "session/sessions.h"
#include "session/tls_setup.h"

#define LOGIN_MAX (64 * 1024)	/* bytes of one message before login */

struct login *login_new(struct client *c)
{
	struct login *l = mem_alloc(sizeof *l);

	if (l == NULL)
		return NULL;
	/* the rest are texts, most of which nobody needs */
	memset(l, 0, offsetof(struct login, user));
	l->user[0] = l->found_name[0] = '\0';
	l->client = c;
	return l;
}

void login_free(struct login **lp)
{
	struct login *l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	struct client *const c = l->client;

	login_queue_remove(&c->ss->login_queue, l);
	lobby_leave(&c->ss->lobby, &l->guest);
	if (c->db != NULL)
		c->db->logins--;
	if (c->user != NULL)
		c->user->logins--;
	auth_end(&l->auth);
	hba_unref(&l->hba);
	dns_host_cancel(&l->host_query);
	mem_free(l->host);
	credentials_unref(&l->found);
	mem_free(l->late);
	mem_free(l->db_name);
	mem_free(l->options);
	mem_free(l->application_name);
	for (unsigned i = 0; i < l->extension_count; i++)
		mem_free(l->extensions[i]);
	mem_free(l);
}

/* --- authentication --- */

static int check_admission(struct client *c, struct err *e)
{
	const struct settings *set = sessions_settings(c->ss);
	const char *name = c->login->db_name;

	if (c->db == NULL) {
		if (set->log_connections)
			login_log(c, LEVEL_INFO,
			    "login failed: db=%s user=%s", name,
			    c->login->user);
		return err_set(e, "08P01", "no such database: %s", name);
	}
	if (c->db->disabled)
		return err_set(e, "08P01", "database \"%s\" is disabled", name);
	if (c->login->auth.typed != NULL &&
	    login_adopt_typed(c, c->login->auth.typed, e) < 0)
		return -1;
	if (login_admit(c, e) < 0)
		return -1;
	login_keep_database(c, c->db);
	struct user *pu = catalog_pool_user(c->ss->catalog, c->db, c->user);

	c->pc.pool = pu == NULL ? NULL :
	    catalog_get_pool(c->ss->catalog, c->db, pu);
	if (c->pc.pool == NULL)
		return err_set(e, "53200", "no memory for pool");
	/* (spec/authentication.md section 6: of this database, and this only) */
	if (c->login->found != NULL && pu == c->user)
		catalog_learn_credentials(c->pc.pool, c->login->found);
	return 0;
}

/* first is what the exchange ends with. */
static void admit(struct client *c, const struct iovec *first)
{
	struct err e;

	if (check_admission(c, &e) < 0) {
		if (client_send_login(c, first) == 0)
			client_fail(c, e.code, e.text);
		return;
	}
	if (c->own_user && sessions_settings(c->ss)->log_connections)
		log_at(LEVEL_INFO, &c->who,
		    "pgbouncer access from unix socket");
	/* what was left unsaid while others failed */
	if (lobby_admit(&c->ss->lobby, &c->login->guest) &&
	    sessions_settings(c->ss)->log_connections)
		login_log_attempt(c);
	timeout_stop(&c->timer);
	login_free(&c->login);
	c->ss->logins--;
	c->pc.pool->counted.now.client_login_count++;
	latencies_note(c->pc.pool, LATENCY_LOGIN, time_precise() - c->born);
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	if (!c->db->console)
		c->ss->client_ops->ready(c, first);
	else if (client_send_login(c, first) == 0)
		c->ss->client_ops->console(c);
}

/*
 * c is not read till its password is checked. An error may have come in one
 * edge with the password, and there will be no other that tells of it.
 */
static void rest(struct client *c)
{
	stream_pause(&c->stream);
	if (socket_error(c->stream.fd) != 0)
		login_hung_up(c);
}

static void act_on(struct client *c, enum auth_result r, struct writer *w)
{
	const struct auth_refusal *why = c->login->auth.refusal;

	if (r == AUTH_DENY) {
		if (why->detail[0] != '\0')
			login_log(c, LEVEL_ERROR, "%s", why->detail);
		login_refuse(c, &why->error);
		return;
	}
	if (w->failed) {
		client_fail(c, "53200", "no memory for authentication pool");
		return;
	}
	const struct iovec said = { w->at, w->len };

	if (r == AUTH_OK)
		admit(c, &said);
	else if (client_send_login(c, &said) == 0 && r == AUTH_WAIT)
		rest(c);
}

static void write_negotiate(const struct client *c, struct writer *w)
{
	const struct login *l = c->login;
	const uint32_t version = startup_protocol(l->startup.code);

	if (l->startup.code != version || l->extension_count > 0)
		startup_write_negotiate(w, version,
		    (const char *const *)l->extensions, l->extension_count);
}

/* Who the kernel says is at the other end; NULL: it does not. */
static const uid_t *peer_uid(const struct client *c, uid_t *uid)
{
	pid_t pid;

	return c->addr.family == NET_UNIX &&
	    socket_peer_cred(c->stream.fd, uid, &pid) == 0 ? uid : NULL;
}

/* What a hasty client has sent meanwhile is read, behind the carry. */
static void read_on(struct client *c)
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
	struct login *l = (struct login *)((char *)a -
	    offsetof(struct login, auth));
	struct client *c = l->client;
	struct auth_refusal why;
	struct writer w;

	a->refusal = &why;
	writer_init(&w, LOGIN_MAX);
	stream_resume(&c->stream);
	login_examine(c, 0);
	act_on(c, auth_resume(a, &w), &w);
	writer_fini(&w);
	read_on(c);
}

static void begin_auth(struct client *c)
{
	const struct settings *set = sessions_settings(c->ss);
	struct login *l = c->login;
	struct auth_refusal why;
	char cert[TLS_NAME_MAX];
	uid_t uid;
	struct writer w;

	/* without his secret nobody is told that his password is wrong */
	if (c->user != NULL && user_renew(c->ss->catalog, c->user) < 0) {
		client_fail(c, "53200", "out of memory");
		return;
	}
	login_choose_method(c);
	struct auth_request rq = {
		.type = l->method,
		.user = l->user,
		.credentials = login_credentials(c),
		.map = l->rule != NULL ? l->rule->map : NULL,
		.os_uid = l->method == AUTH_PEER ? peer_uid(c, &uid) : NULL,
		.cert_name = l->method == AUTH_CERT ?
		    cert_name(c, cert, sizeof cert) : NULL,
		.tls = tls_state(&c->stream) == TLS_UP,
		.options = l->rule != NULL ? l->rule->options :
		    set->auth_ldap_options,
		.addr = &c->addr,
		.scram_iterations = set->scram_iterations,
		.random = &c->ss->random,
		.mock_salt = c->ss->mock_salt,
		.mock_shape = login_mock_shape(c),
		.offload = c->ss->offload,
		.wake = on_woken,
	};

	offer_binding(c, &rq);
	if (set->log_connections && login_speaks(c))
		login_log_attempt(c);
	l->auth.refusal = &why;
	writer_init(&w, LOGIN_MAX);
	write_negotiate(c, &w);
	act_on(c, auth_begin(&l->auth, &rq, &w), &w);
	writer_fini(&w);
}

static void identify(struct client *c)
{
	struct err e;

	switch (login_identify(c, &e)) {
	case LOGIN_KNOWN:
		begin_auth(c);
		return;
	case LOGIN_ASK:
		if (auth_query_start(c, &e) == 0)
			return;
		break;
	case LOGIN_REFUSED:
		break;
	}
	client_fail(c, e.code, e.text);
}

static void on_host_answered(struct client *c)
{
	stream_resume(&c->stream);
	identify(c);
	read_on(c);
}

static void on_startup(struct client *c, const struct startup *m)
{
	struct err e;

	c->login->startup = *m;
	c->key_len = startup_protocol(m->code) >= PROTOCOL_3_2 ?
	    CLIENT_KEY_MAX : CLIENT_KEY_BYTES;
	if (c->addr.family != NET_UNIX && tls_state(&c->stream) != TLS_UP &&
	    c->ss->tls->client_mode >= SSLMODE_REQUIRE) {
		client_fail(c, "28000", "SSL required");
		return;
	}
	if (login_read_params(c, m, &e) < 0 || login_check_room(c, &e) < 0) {
		client_fail(c, e.code, e.text);
		return;
	}
	const struct hba_login who = login_describe(c);
	if (!login_ask_host(c, &who, on_host_answered))
		identify(c);
}

/*
 * auth_query found somebody, or did not: who is asked for a password then
 * learns no more than one whose password is wrong.
 */
static void go_on(struct client *c)
{
	struct err e;

	c->login->looked_up = true;
	if (c->login->found == NULL)
		login_log(c, LEVEL_INFO, "no such user: %s", c->login->user);
	else if (login_adopt(c, &e) < 0) {
		client_fail(c, e.code, e.text);
		return;
	}
	begin_auth(c);
}

void login_answered(struct client *c)
{
	stream_resume(&c->stream);
	go_on(c);
	read_on(c);
}

/* --- the messages of a login --- */

static void bad_header(struct client *c, const uint8_t *p, size_t len)
{
	char text[MSG_BAD_TEXT];

	client_fail(c, NULL, msg_bad_header(p, len, text));
}

static bool may_use_tls(const struct client *c)
{
	return c->ss->tls->client != NULL && c->addr.family != NET_UNIX &&
	    tls_state(&c->stream) == TLS_NONE;
}

/* start: what of the ClientHello is here. Returns len, or 0: c was closed. */
static size_t start_tls(struct client *c, const uint8_t *start, size_t len)
{
	if (tls_accept(&c->stream, c->ss->tls->client, start, len) == 0)
		return len;
	client_close(c, "no memory for TLS");
	return 0;
}

/* Returns true when it is done; false: later, or c was closed. */
static bool hand_shake(struct client *c)
{
	struct err e;

	switch (tls_handshake(&c->stream, &e)) {
	case TLS_DONE:
		/* as PostgreSQL: it may be meant for another service */
		if (!c->login->asked && !tls_has_alpn(&c->stream)) {
			client_close(c, "direct TLS without ALPN");
			return false;
		}
		stream_reread(&c->stream);
		return true;
	case TLS_MORE:
		return false;
	case TLS_GONE:
		client_close(c, "client unexpected eof");
		return false;
	case TLS_FAILED:
		login_log(c, LEVEL_WARNING, "TLS handshake error: %s",
		    e.text);
		client_close(c, "failed to accept SSL");
		break;
	}
	return false;
}

/* SSLRequest and GSSENCRequest: the answer is one byte. */
static size_t answer_encryption(struct client *c, const struct startup *m,
    size_t have)
{
	const bool tls = m->kind == STARTUP_SSL && may_use_tls(c);

	c->login->asked = true;
	if (m->kind == STARTUP_SSL && tls_state(&c->stream) == TLS_UP) {
		client_close(c, "SSL req inside SSL");
		return 0;
	}
	if (have > m->size) {
		client_fail(c, NULL, m->kind == STARTUP_SSL ?
		    "received unencrypted data after SSL request" :
		    "received unencrypted data after GSSAPI encryption request");
		return 0;
	}
	if (stream_write_bytes(&c->stream, tls ? "S" : "N", 1) !=
	    STREAM_SENT) {
		client_close(c, "client unexpected eof");
		return 0;
	}
	c->answered = true;
	if (tls && tls_accept(&c->stream, c->ss->tls->client, NULL, 0) < 0) {
		client_close(c, "no memory for TLS");
		return 0;
	}
	return m->size;
}

static size_t first_message(struct client *c, const uint8_t *p, size_t len)
{
	struct startup m;

	if (p[0] == TLS_FIRST_BYTE && !c->login->asked && may_use_tls(c))
		return start_tls(c, p, len);
	switch (startup_peek(p, len, &m)) {
	case STARTUP_SHORT:
		if (m.size <= LOBBY_LIGHT)
			return 0;
		break;
	case STARTUP_SSL:
	case STARTUP_GSS:
		return answer_encryption(c, &m, len);
	case STARTUP_CANCEL:
		c->ss->client_ops->cancel(c, m.body, m.body_len);
		return 0;
	case STARTUP_V2:
		client_fail(c, NULL, "old V2 protocol not supported");
		return 0;
	case STARTUP_MESSAGE:
		on_startup(c, &m);
		return m.size;
	case STARTUP_TYPED:
		if (p[0] == FE_PASSWORD)
			client_fail(c, NULL,
			    "client password pkt before startup packet");
		else
			client_close(c, "bad packet");
		return 0;
	case STARTUP_BAD:
		break;
	}
	bad_header(c, p, len);
	return 0;
}

static size_t auth_message(struct client *c, const uint8_t *p, size_t len)
{
	struct auth_refusal why;
	struct startup m;
	struct writer w;

	if (p[0] == 0) {
		if (startup_peek(p, len, &m) == STARTUP_SHORT)
			return 0;
		client_fail(c, NULL, "client re-sent startup pkt");
		return 0;
	}
	if (p[0] != FE_PASSWORD) {
		client_close(c, "bad packet");
		return 0;
	}
	if (len < MSG_HEADER)
		return 0;
	const size_t size = msg_size(p, LOGIN_MAX - 1);
	if (size == 0) {
		bad_header(c, p, len);
		return 0;
	}
	if (len < size)
		return 0;
	c->login->auth.refusal = &why;
	writer_init(&w, LOGIN_MAX);
	const enum auth_result r = auth_step(&c->login->auth, p + MSG_HEADER,
	    size - MSG_HEADER, &w);

	/* the shared buffer might keep a password for long */
	secret_wipe((uint8_t *)p + MSG_HEADER, size - MSG_HEADER);
	/* whoever looks at it now has a copy */
	login_examine(c, r == AUTH_WAIT ? size : 0);
	act_on(c, r, &w);
	writer_fini(&w);
	return size;
}

/* Take the next message of the burst; 0: it is short, or c was closed. */
static size_t next_message(struct client *c, const uint8_t *p, size_t len)
{
	return c->login->startup.kind == STARTUP_MESSAGE ?
	    auth_message(c, p, len) : first_message(c, p, len);
}

/* Work off a burst, as far as this is a login. Returns -1 when c is closed. */
static int on_burst(struct client *c, const struct burst *b)
{
	size_t used = 0;

	while (used < b->len && c->login != NULL) {
		const size_t n = next_message(c, b->at + used, b->len - used);

		if (!client_is_open(c))
			return -1;
		if (n == 0)
			break;
		used += n;
		if (c->stream.paused)
			break;
	}
	if (c->login != NULL)
		c->login->unread = c->stream.paused && used < b->len;
	/* what a hasty client sent behind its login waits for the relay */
	if (carry_rest(&c->carry, b, used) < 0) {
		client_fail(c, "53200", "bouncer resources exhaustion");
		return -1;
	}
	if (c->login != NULL)
		login_weigh(c);
	return client_is_open(c) ? 0 : -1;
}

/* Messages behind one that could not be answered at once. */
static int take_unread(struct client *c)
{
	struct burst b;

	if (c->login == NULL || !c->login->unread || c->stream.paused)
		return 0;
	return carry_again(&c->carry, &b) ? on_burst(c, &b) : 0;
}

void login_input(struct client *c)
{
	login_queue_add(&c->ss->login_queue, c->login);
}

/* Only a password or token may be long. */
static size_t burst_max(const struct login *l)
{
	return l->startup.kind == STARTUP_MESSAGE ? LOGIN_MAX + MSG_HEADER :
	    LOBBY_LIGHT;
}

void login_work(struct client *c)
{
	struct burst b;

	if (take_unread(c) < 0)
		return;
	while (client_is_open(c) && c->login != NULL && !c->stream.paused &&
	    stream_is_ready(&c->stream)) {
		if (tls_state(&c->stream) == TLS_HANDSHAKE) {
			if (!hand_shake(c))
				return;
			continue;
		}
		const ssize_t n = carry_read(&c->carry, &c->stream, &b,
		    burst_max(c->login));

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			client_close(c, "client unexpected eof");
			return;
		}
		c->request_time = time_now();
		c->heard = true;
		c->answered = false;
		if (on_burst(c, &b) < 0)
			return;
		/*
		 * An error may have come with the bytes, and no other edge
		 * tells of it; but it would have failed an answer, too.
		 */
		if (!c->answered)
			stream_reread(&c->stream);
	}
	if (client_is_open(c) && c->login == NULL && !c->stream.paused)
		c->ss->client_ops->input(c);
}
