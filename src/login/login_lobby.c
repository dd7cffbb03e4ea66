/* login_lobby.c - what a connection may cost before it has logged in.
 * SPDX-License-Identifier: ISC */
#include "login/login_lobby.h"

#include <stddef.h>
#include <string.h>

#include "base/ceiling.h"
#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/tls.h"
#include "login/login_cached.h"
#include "login/login_guess.h"
#include "login/login_others.h"
#include "login/login_parts.h"
#include "pool/lobby.h"
#include "session/client.h"
#include "session/sessions.h"

#define SILENCE USEC	/* a client that means to log in has spoken by then */
#define SLOW (3 * USEC)	/* most logins are done by then */

static struct client *client_of_guest(struct lobby_guest *g)
{
	return container_of(g, struct login, guest)->client;
}

static const struct settings *settings(const struct client *c)
{
	return sessions_settings(c->ss);
}

/* --- limits --- */

static void describe(struct err *e, enum tally_limit limit)
{
	err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "no more connections allowed (%s)", tally_limit_name(limit));
}

static void drop(struct lobby_guest *g, enum tally_limit limit)
{
	struct client *const c = client_of_guest(g);
	struct err e;

	describe(&e, limit);
	c->ss->tally.limits_hit[limit][0]++;
	client_fail_cause(c,
	    close_cause_err(CLOSE_LOGIN_REFUSED, &e));
}

unsigned login_max_strangers(const struct sessions *ss)
{
	const struct settings *const set = sessions_settings(ss);
	const int max = set->max_unauthenticated > 0 ?
	    set->max_unauthenticated : set->max_client_conn;

	/* the console is there with a limit of 0, too */
	return max > 0 ? (unsigned)max : 1;
}

bool login_enter(struct client *c)
{
	const struct settings *set = settings(c);
	struct lobby *const l = &c->ss->lobby;
	struct lobby_guest *const me = &c->login->guest, *g;
	const struct net_addr nobody = { .family = NET_UNIX };

	/* until a balancer has said for whom it speaks, no address counts */
	if (lobby_enter(l, me, c->login->proxy == LOGIN_PROXY_NEVER ?
	    &c->addr : &nobody) < 0) {
		client_close(c, CLOSE_NO_MEMORY_FOR_A_LOGIN);
		return false;
	}
	g = lobby_surplus_mate(l, me,
	    (unsigned)set->max_unauthenticated_per_address);
	if (g != NULL)
		drop(g, TALLY_max_unauthenticated_per_address);
	while (client_is_open(c) &&
	    (g = lobby_surplus(l, me, login_max_strangers(c->ss))) != NULL)
		drop(g, TALLY_max_unauthenticated);
	if (client_is_open(c))
		login_weigh(c);
	return client_is_open(c);
}

/* Another worker has expelled g, and it is not closed yet. */
static void drop_expelled(struct lobby_guest *g)
{
	drop(g, (enum tally_limit)g->limit);
}

bool login_enter_again(struct client *c)
{
	struct lobby_guest *const g = &c->login->guest;

	if (!lobby_leave(&c->ss->lobby, g)) {
		drop_expelled(g);
		return false;
	}
	*g = (struct lobby_guest){ 0 };
	return login_enter(c);
}

int login_leave_lobby(struct client *c, struct err *e)
{
	struct lobby_guest *const g = &c->login->guest;

	if (lobby_leave(&c->ss->lobby, g))
		return 0;
	c->ss->tally.limits_hit[g->limit][0]++;
	describe(e, (enum tally_limit)g->limit);
	return -1;
}

void login_expel(struct sessions *ss)
{
	struct lobby_guest *g;

	while ((g = lobby_take_expelled(&ss->lobby)) != NULL)
		drop_expelled(g);
}

bool login_enter_from_other(struct client *c)
{
	struct lobby_guest *const g = &c->login->guest;
	const bool stays = lobby_arrive(&c->ss->lobby, g);

	if (!stays)
		drop_expelled(g);
	return stays;
}

void login_weigh(struct client *c)
{
	struct lobby *const l = &c->ss->lobby;
	struct login *const me = c->login;
	struct lobby_guest *g;

	lobby_hold(l, &me->guest, sizeof *c + sizeof *me +
	    me->startup.size + me->asked_bytes + c->carry.size,
	    tls_memory(&c->stream));
	while (client_is_open(c) && (g = lobby_surplus_bytes(l, &me->guest,
	    (size_t)settings(c)->login_memory)) != NULL)
		drop(g, TALLY_login_memory);
}

/* The client says nothing, or only waits to be told that it failed. */
static bool is_idle(const struct lobby_guest *g)
{
	const struct client *const c =
	    container_of(g, struct login, guest)->client;

	return lobby_is_punished(g) || (!c->stream.paused &&
	    time_now() - c->request_time >= SILENCE);
}

/* Drop by drop it may say something without an end. */
static bool is_slow(const struct lobby_guest *g)
{
	return time_now() - container_of(g, struct login,
	    guest)->client->born >= SLOW;
}

bool login_displace(struct client *c)
{
	static const struct lobby_judge judge = { is_idle, is_slow };
	struct lobby_guest *own;

	if (!lobby_displace(&c->ss->lobby, &c->login->guest, &judge, &own))
		return false;
	if (own != NULL)
		drop(own, TALLY_max_client_conn);
	return true;
}

bool login_expel_oldest(struct sessions *ss, int limit)
{
	const enum tally_limit name = (enum tally_limit)limit;
	struct lobby_guest *own;

	if (!lobby_expel_oldest(&ss->lobby, name, &own))
		return false;
	if (own != NULL)
		drop(own, name);
	return true;
}

bool login_was_expelled(struct client *c)
{
	struct lobby_guest *const g = &c->login->guest;

	if (!lobby_is_expelled(&c->ss->lobby, g))
		return false;
	drop_expelled(g);
	return true;
}

/* --- failures --- */

/* Want of memory or room says nothing about the client. */
static bool is_clients_fault(const struct err *why)
{
	return why->code[0] != '5';
}

/* Returns false when it need not wait. */
static bool punish(struct client *c)
{
	struct lobby *const l = &c->ss->lobby;
	const usec_t now = time_now();
	const usec_t delay = lobby_fail(l, &c->login->guest,
	    settings(c)->auth_failure_delay, now);

	if (delay <= 0)
		return false;
	stream_pause(&c->stream);
	lobby_punish(l, &c->login->guest, now + delay);
	return true;
}

/* These errors share the SQLSTATE of nearly all. */
static const char *hint_by_text(const char *text)
{
	static const struct {
		const char *text, *hint;
	} rows[] = {
		{ "no more connections allowed (max_client_conn)",
		    "Raise max_client_conn, or use fewer connections: SHOW "
		    "CLIENTS on the console lists them." },
		{ "server login failed", "The pooler's log says what is wrong "
		    "with auth_query, or with auth_user and auth_dbname." },
		{ "bouncer config error", "The pooler's log says what is wrong: "
		    "with auth_query, auth_user and auth_dbname, or with "
		    "auth_type = any and a database without user=." },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (strcmp(rows[i].text, text) == 0)
			return rows[i].hint;
	}
	return NULL;
}

const char *login_hint(const struct client *c, const struct err *why)
{
	if (login_refuses_other(c, why))
		return c->replication != REPLICATION_NONE ||
		    (c->db != NULL && c->db->console) ?
		    "Add it to ignore_startup_parameters to ignore it." :
		    "Set pool_mode = session, or session_state = keep (or "
		    "clean), to set it, or add it to ignore_startup_parameters to "
		    "ignore it.";
	if (strcmp(why->code, ERRCODE_OUT_OF_MEMORY) == 0 &&
	    ceiling_level() == CEILING_FULL)
		return "The pooler has used nearly all of memory_limit: try "
		    "again later, or raise it.";
	if (strcmp(why->code, ERRCODE_INVALID_PASSWORD) == 0)
		return "Check the user name and the password. The pooler's log "
		    "says what was wrong with them.";
	return hint_by_text(why->text);
}

static void tell(struct client *c, const struct err *why)
{
	struct close_cause cause = close_cause_err(CLOSE_LOGIN_REFUSED, why);

	cause.hint = login_hint(c, why);
	client_fail_cause(c, cause);
}

void login_refuse(struct client *c, const struct err *why)
{
	struct login *const l = c->login;

	l->late = mem_dup(why, sizeof *why);
	if (l->late == NULL || !is_clients_fault(why) || !punish(c))
		tell(c, why);
}

void login_examine(struct client *c, size_t bytes)
{
	c->login->asked_bytes = bytes;
	lobby_examine(&c->ss->lobby, &c->login->guest, bytes > 0);
}

bool login_deny_told(struct client *c)
{
	struct auth_refusal why;

	c->login->auth.refusal = &why;
	if (!auth_had_failed(&c->login->auth))
		return false;
	login_deny(c, &why);
	return true;
}

void login_hung_up(struct client *c)
{
	struct login *const l = c->login;

	if (lobby_is_punished(&l->guest))
		return;
	login_cached_end(l);
	if (login_deny_told(c))
		return;
	if (l->guest.examined) {
		auth_end(&l->auth);
		login_examine(c, 0);
		if (punish(c))
			return;
	}
	client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
}

/* --- */

void login_tick(struct sessions *ss, usec_t now)
{
	const unsigned unsaid = lobby_take_unsaid(&ss->lobby, now);
	struct lobby_guest *g;

	if (unsaid > 0)
		log_warning("%u more logins were refused or not finished "
		    "(auth_failure_log_rate)", unsaid);
	lobby_turn(&ss->lobby, now);
	login_guess_tick(ss);
	login_queue_tick(&ss->login_queue);
	login_cached_tick(ss, now);
	while ((g = lobby_take_served(&ss->lobby, now)) != NULL) {
		struct client *const c = client_of_guest(g);

		if (c->login->late == NULL)
			client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
		else
			tell(c, c->login->late);
	}
}
