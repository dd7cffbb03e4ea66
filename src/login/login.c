/* login.c - how a client gets in: start-up, limits, authentication.
 * SPDX-License-Identifier: ISC */
#include "login/login.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/probe.h"
#include "broker/cancel.h"
#include "conf/hba.h"
#include "io/dns_host.h"
#include "io/gssenc.h"
#include "io/tls.h"
#include "login/auth_query.h"
#include "login/login_cached.h"
#include "login/login_guess.h"
#include "login/login_lobby.h"
#include "login/login_log.h"
#include "login/login_move.h"
#include "login/login_others.h"
#include "login/login_parts.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "session/client.h"
#include "session/sessions.h"
#include "upstream/tls_setup.h"

#define LOOKUPS_MAX 3	/* in vain, as each time something was set anew */

/* --- who the client is --- */

void login_turn_away(struct client *c, const struct err *e)
{
	struct close_cause why = close_cause_err(CLOSE_LOGIN_REFUSED, e);

	why.hint = login_hint(c, e);
	client_fail_cause(c, why);
}

static void ask_here(struct client *c)
{
	struct err e;

	if (auth_query_start(c, &e) < 0)
		login_turn_away(c, &e);
}

/* The pool that is asked may be another worker's: c goes there, and comes back. */
static void ask(struct client *c)
{
	struct auth_errand **const errand = &c->login->query.errand;
	struct err e;

	login_cached_end(c->login);
	auth_errand_free(errand);
	*errand = auth_errand_new(c, login_part(c));
	const unsigned at = auth_query_home(c);

	if (*errand == NULL)
		login_turn_away(c, (err_set(&e, ERRCODE_OUT_OF_MEMORY,
		    "bouncer resources exhaustion"), &e));
	else if (sessions_settings(c->ss)->auth_query_cache > 0)
		login_cached_ask(c);
	else if (at == c->ss->worker)
		ask_here(c);
	else if (c->has_reserve_fd)	/* it is given back where it was lent */
		login_turn_away(c, (err_set(&e, ERRCODE_TOO_MANY_CONNECTIONS,
		    "no descriptor is free to ask for the user"), &e));
	else
		login_travel(c, at, ask_here);
}

static void on_turn(struct client *c);

static void pursue(struct client *c, enum login_who who, const struct err *e)
{
	switch (who) {
	case LOGIN_KNOWN:
		login_begin_auth(c);
		return;
	case LOGIN_ASK:
		if (!login_guess_waits(c, on_turn))
			ask(c);
		return;
	case LOGIN_REFUSED:
		break;
	}
	login_turn_away(c, e);
}

static void find_user(struct client *c)
{
	struct err e;
	const enum login_who who = login_find_user(c, &e);

	pursue(c, who, &e);
}

/* There may be nobody to ask any more. */
static void on_turn(struct client *c)
{
	find_user(c);
	login_read_on(c);
}

static void identify(struct client *c)
{
	struct err e;
	const enum login_who who = login_identify(c, &e);

	pursue(c, who, &e);
}

static void on_host_answered(struct client *c)
{
	stream_resume(&c->stream);
	identify(c);
	login_read_on(c);
}

static void on_startup(struct client *c, const struct startup *m)
{
	struct err e;

	c->login->startup = *m;
	c->key_len = startup_protocol(m->code) >= PROTOCOL_3_2 ?
	    CLIENT_KEY_MAX : CLIENT_KEY_BYTES;
	if (c->addr.family != NET_UNIX && tls_state(&c->stream) != TLS_UP &&
	    c->ss->tls->client_mode >= SSLMODE_REQUIRE) {
		client_fail(c, CLOSE_SSL_REQUIRED);
		return;
	}
	if (c->addr.family != NET_UNIX &&
	    gssenc_state(&c->stream) != GSSENC_UP &&
	    sessions_settings(c->ss)->client_gssencmode ==
	    GSSENCMODE_REQUIRE) {
		client_fail(c, CLOSE_GSSENC_REQUIRED);
		return;
	}
	if (login_read_params(c, m, &e) < 0 || login_check_room(c, &e) < 0) {
		login_turn_away(c, &e);
		return;
	}
	const struct hba_login who = login_describe(c);
	if (!login_ask_host(c, &who, on_host_answered))
		identify(c);
}

/* Something else would be asked by now, or nobody. */
static void ask_again(struct client *c)
{
	struct err e;

	login_cached_end(c->login);
	auth_query_fini(&c->login->query);
	if (c->login->lookups == LOOKUPS_MAX) {
		login_turn_away(c, (err_set(&e, ERRCODE_CANNOT_CONNECT_NOW,
		    "settings of authentication keep changing"), &e));
		return;
	}
	find_user(c);
}

/*
 * auth_query found a user, or did not: a client that is then asked for a password
 * learns no more than one whose password is wrong.
 */
static void go_on(struct client *c)
{
	struct err e;

	c->login->lookups++;
	if (!auth_errand_holds(c)) {
		ask_again(c);
		return;
	}
	if (c->login->query.found == NULL)
		login_log(c, LEVEL_INFO, "no such user: %s", c->login->user);
	else if (login_adopt(c, &e) < 0) {
		login_turn_away(c, &e);
		return;
	}
	login_begin_auth(c);
}

static void go_on_reading(struct client *c)
{
	stream_resume(&c->stream);
	go_on(c);
	login_read_on(c);
}

static void on_return(struct client *c)
{
	struct err e;

	if (login_has_no_part(c)) {
		c->login->query.errand->home = catalog_home(c->ss->catalog,
		    c->login->db_name);
		login_travel(c, c->login->query.errand->home, on_return);
	} else if (login_unpack(c, &e) < 0)
		login_turn_away(c, &e);
	else
		go_on_reading(c);
}

static void on_answered(struct client *c)
{
	const struct auth_errand *const errand = c->login->query.errand;

	if (errand->home != c->ss->worker)
		login_travel(c, errand->home, on_return);
	else if (errand->landed != NULL)	/* it goes on where it has asked */
		on_return(c);
	else
		go_on_reading(c);
}

/* --- the messages of a login --- */

static void bad_header(struct client *c, const uint8_t *p, size_t len)
{
	char text[MSG_BAD_TEXT];

	client_fail_cause(c, (struct close_cause){
	    .reason = CLOSE_BAD_PACKET_HEADER,
	    .text = msg_bad_header(p, len, text),
	});
}

/* It left because we would not encrypt; libpq with sslmode=require does. */
static void say_tls_was_wanted(const struct client *c)
{
	const bool asked = (c->login->asked & 1 << STARTUP_SSL) != 0;

	if (asked && tls_state(&c->stream) == TLS_NONE && c->carry.len == 0 &&
	    sessions_settings(c->ss)->log_disconnections && login_speaks(c))
		log_at(LEVEL_INFO, &c->who, "the client wants TLS, and "
		    "client_tls_sslmode does not offer it");
}

static void take_cancel(struct client *c, const struct startup *m)
{
	if (!login_departs(c, m))
		cancel_request(c, m->body, m->body_len);
}

static size_t take_startup(struct client *c, const struct startup *m)
{
	if (login_departs(c, m))
		return 0;
	on_startup(c, m);
	return m->size;
}

/* PostgreSQL source: ProcessStartupPacket() takes SSL and GSS once each. */
static enum startup_kind peek_once(const struct client *c, const uint8_t *p,
    size_t len, struct startup *m)
{
	const enum startup_kind kind = startup_peek(p, len, m);
	const bool again = (c->login->asked & 1 << kind) != 0;

	if (kind == STARTUP_SSL && gssenc_state(&c->stream) == GSSENC_UP)
		return STARTUP_BAD;
	/* inside of TLS a request for it ends the connection in silence */
	return again && tls_state(&c->stream) != TLS_UP ? STARTUP_BAD : kind;
}

static size_t first_message(struct client *c, const uint8_t *p, size_t len)
{
	struct startup m;

	if (c->login->proxy != LOGIN_PROXY_NEVER) {
		const size_t n = login_take_proxy(c, p, len);

		if (n > 0 || !client_is_open(c) ||
		    c->login->proxy != LOGIN_PROXY_NEVER)
			return n;
	}
	if (p[0] == TLS_FIRST_BYTE && c->login->asked == 0 && login_may_use_tls(c))
		return login_start_tls(c, p, len);
	switch (peek_once(c, p, len, &m)) {
	case STARTUP_SHORT:
		if (m.size <= STARTUP_LONG)
			return 0;
		break;
	case STARTUP_SSL:
	case STARTUP_GSS:
		return login_answer_encryption(c, &m, len);
	case STARTUP_CANCEL:
		take_cancel(c, &m);
		return 0;
	case STARTUP_V2:
		client_fail(c, CLOSE_OLD_V2_PROTOCOL);
		return 0;
	case STARTUP_MESSAGE:
		return take_startup(c, &m);
	case STARTUP_TYPED:
		if (p[0] == FE_PASSWORD)
			client_fail(c, CLOSE_PASSWORD_BEFORE_STARTUP);
		else if (login_is_proxy_header(p, len))
			client_close(c, CLOSE_PROXY_HEADER_UNEXPECTED);
		else
			client_close(c, CLOSE_BAD_PACKET);
		return 0;
	case STARTUP_BAD:
		break;
	}
	bad_header(c, p, len);
	return 0;
}

static size_t auth_message(struct client *c, const uint8_t *p, size_t len)
{
	struct startup m;

	if (p[0] == 0) {
		if (startup_peek(p, len, &m) == STARTUP_SHORT)
			return 0;
		client_fail(c, CLOSE_STARTUP_SENT_AGAIN);
		return 0;
	}
	if (p[0] != FE_PASSWORD) {
		if (login_deny_told(c))
			return len;
		client_close(c, CLOSE_BAD_PACKET);
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
	login_step_auth(c, (uint8_t *)p + MSG_HEADER, size - MSG_HEADER);
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

	while (used < b->len && client_logs_in(c)) {
		const size_t n = next_message(c, b->at + used, b->len - used);

		if (!client_is_open(c))
			return -1;
		if (n == 0)
			break;
		used += n;
		if (c->stream.paused)
			break;
	}
	if (client_logs_in(c))
		c->login->unread = c->stream.paused && used < b->len;
	/* what a hasty client sent behind its login waits for the relay */
	if (carry_rest(&c->carry, b, used) < 0) {
		client_fail(c, CLOSE_RESOURCES_EXHAUSTED);
		return -1;
	}
	if (client_logs_in(c))
		login_weigh(c);
	return client_is_open(c) ? 0 : -1;
}

/* Messages behind one that could not be answered at once. */
static int take_unread(struct client *c)
{
	struct burst b;

	if (!client_logs_in(c) || !c->login->unread || c->stream.paused)
		return 0;
	return carry_again(&c->carry, &b) ? on_burst(c, &b) : 0;
}

/* Only a password or token may be long. */
static size_t burst_max(const struct login *l)
{
	return l->startup.kind == STARTUP_MESSAGE ? LOGIN_MAX + MSG_HEADER :
	    STARTUP_LONG;
}

void login_work(struct client *c)
{
	struct burst b;

	if (take_unread(c) < 0)
		return;
	while (client_is_open(c) && client_logs_in(c) && !c->stream.paused &&
	    stream_is_ready(&c->stream)) {
		if (tls_state(&c->stream) == TLS_HANDSHAKE) {
			if (!login_hand_shake(c))
				return;
			continue;
		}
		if (gssenc_state(&c->stream) == GSSENC_HANDSHAKE) {
			if (!login_shake_gssenc(c))
				return;
			continue;
		}
		const ssize_t n = carry_read(&c->carry, &c->stream, &b,
		    burst_max(c->login));

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			if (login_deny_told(c))
				return;
			say_tls_was_wanted(c);
			client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
			return;
		}
		c->request_time = time_now();
		c->has_spoken = true;
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
	if (client_is_open(c) && !client_logs_in(c) && !c->stream.paused)
		c->role->input(c);
}

/* --- life --- */

/* So much malloc() of glibc keeps at hand for the next one. */
_Static_assert(sizeof(struct login) <= 1032, "it costs twice as much");

static struct login *new(void)
{
	struct login *l = mem_alloc(sizeof *l);

	if (l == NULL)
		return NULL;
	mem_note(MEM_LOGIN, 1, sizeof *l);
	/* the rest are texts, most of which nobody needs */
	memset(l, 0, offsetof(struct login, user));
	l->user[0] = '\0';
	return l;
}

static void on_leave(struct client *c)
{
	struct login *const l = c->login;

	auth_query_leave(c);
	login_cached_end(l);
	c->login = NULL;
	c->ss->logins--;
	login_queue_remove(&c->ss->login_queue, l);
	login_guess_leave(c->ss, l);
	lobby_leave(&c->ss->lobby, &l->guest);
	if (c->db != NULL)
		c->db->logins--;
	if (c->user != NULL)
		c->user->logins--;
	auth_end(&l->auth);
	credentials_unref(&l->asked_for);
	hba_unref(&l->hba);
	dns_host_cancel(&l->host_query);
	mem_free(l->host);
	auth_query_fini(&l->query);
	mem_free(l->late);
	login_others_fini(l);
	mem_free(l->db_name);
	mem_free(l->options);
	mem_free(l->application_name);
	for (unsigned i = 0; i < l->extension_count; i++)
		mem_free(l->extensions[i]);
	mem_free(l->extensions);
	mem_delete(MEM_LOGIN, l, sizeof *l);
}

/* Bytes wait to be read: soon they will be. */
static void on_input(struct client *c)
{
	login_queue_add(&c->ss->login_queue, c->login);
}

static struct auth_query *query_of(const struct client *c)
{
	return &c->login->query;
}

static struct timeout_list *time_out(struct sessions *ss)
{
	return &ss->login_list;
}

static const struct client_role role = {
	.name = "login",
	.logging_in = true,
	.time_out = time_out,
	.input = on_input,
	.hung_up = login_hung_up,
	.go_on = auth_query_send,
	.query = query_of,
	.speaks = login_speaks,
	.leave = on_leave,
};

struct client *login_accept(struct sessions *ss, int fd,
    const struct net_addr *peer)
{
	struct login *l = new();

	if (l == NULL) {
		close(fd);
		return NULL;
	}
	struct client *const c = client_open(ss, fd, peer);

	if (c == NULL) {
		mem_free(l);
		return NULL;
	}
	l->client = c;
	l->work = login_work;
	l->query = (struct auth_query){ .user = l->user,
	    .answered = on_answered };
	c->login = l;
	ss->logins++;
	PROBE(login__start, c->id);
	client_become(c, &role);
	l->proxy = login_expect_proxy(c);
	if (l->proxy == LOGIN_PROXY_REFUSED) {
		client_fail(c, CLOSE_NOT_A_TRUSTED_PROXY);
		return NULL;
	}
	return login_enter(c) ? c : NULL;
}
