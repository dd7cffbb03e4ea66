/* closedown.c - the end of the process, where it waits for others.
 * SPDX-License-Identifier: ISC */
#include "app/closedown.h"

#include <stdio.h>
#include <utlist.h>

#include "app/app.h"
#include "app/idle.h"
#include "app/listener.h"
#include "app/notify.h"
#include "app/workers.h"
#include "base/log.h"
#include "broker/broker.h"
#include "console/console.h"
#include "io/socket.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/timers.h"

#define LONGEST (86400 * USEC)
#define TELL (5 * USEC)		/* between two lines of progress */
#define STRANGERS (3 * USEC)	/* most logins are done by then */
#define TRIES 64		/* a turn: clients that prove to be busy */

/* --- clients that are left --- */

/* c, which logs in, is refused when it has, and keeps nobody waiting. */
static bool closedown_is_late(const struct app *app, const struct client *c)
{
	return departure_is_late(&app->ss.departure, c->born) ||
	    (app->ss.shutdown == SHUTDOWN_WAIT_FOR_CLIENTS &&
	    c->addr.family == NET_UNIX && c->born >= app->ss.shutdown_since);
}

static unsigned count_late(const struct app *app)
{
	struct timeout *t;
	unsigned n = 0;

	DL_FOREACH(app->ss.login_list.head, t)
		n += closedown_is_late(app, client_of_timer(t));
	return n;
}

/* Of this worker; but for consoles, which may stay and watch. */
static unsigned count_left(const struct app *app)
{
	const struct console *k;
	unsigned consoles;

	DL_COUNT(app->admin.consoles, k, consoles);
	const unsigned others = consoles + count_late(app);

	return app->catalog->clients > others ?
	    app->catalog->clients - others : 0;
}

/* Of all workers, which stand still. */
static unsigned count_all_left(const struct app *app)
{
	unsigned n = workers_count_mailed(app);

	for (; app != NULL; app = workers_next(app))
		n += count_left(app);
	return n;
}

/* --- telling them to go --- */

/*
 * Between two transactions, and nothing of the next one is here yet: what a
 * client has sent is served first. (Whoever sends while it is told so learns
 * from the answer that nothing was done.)
 */
static bool closedown_may_go(const struct client *c)
{
	return c->pc.state == CLIENT_ACTIVE && c->pc.server == NULL &&
	    c->carry.len == 0 && c->rest.bytes == 0 &&
	    !stream_is_blocked(&c->stream) && !stream_is_ready(&c->stream) &&
	    !socket_has_input(c->stream.fd);
}

void closedown_turn(struct app *app)
{
	struct departure *const d = &app->ss.departure;
	struct timeout *t;

	if (app->ss.suspended)
		return;
	for (int i = 0; i < TRIES && departure_may_tell(d) &&
	    (t = idle_oldest(app->idle)) != NULL; i++) {
		struct client *const c = client_of_timer(t);

		if (closedown_may_go(c)) {
			client_fail(c, CLOSE_DRAINED);
			departure_note_told(d);
		} else {
			timeout_start(t->list, t, time_now());
		}
	}
}

/* --- its course --- */

static usec_t at_most(usec_t time)
{
	return time < LONGEST ? time : LONGEST;
}

static void closedown_begin(struct app *app, usec_t doors, usec_t end)
{
	departure_begin(&app->ss.departure, doors, end);
	if (app->ss.shutdown != SHUTDOWN_WAIT_FOR_SERVERS)
		app->ss.shutdown = SHUTDOWN_DRAIN;
	/* the clients that are idle have to be known */
	idle_reset(app->idle);
}

void closedown_drain(struct app *app, usec_t time)
{
	struct departure *const d = &app->ss.departure;
	const bool held = workers_hold(app);
	const bool running = app->ss.shutdown == SHUTDOWN_NONE ||
	    app->ss.shutdown == SHUTDOWN_DRAIN;
	const usec_t doors = time_now() + (running ?
	    at_most(app->config->set.shutdown_grace) : 0);

	for (struct app *w = app; w != NULL; w = held ? workers_next(w) : NULL)
		closedown_begin(w, doors, doors + at_most(time));
	d->left = held ? count_all_left(app) : count_left(app);
	if (held)
		workers_let_go(app);
	log_info("draining, %u s left", departure_seconds(d, time_now()));
}

/*
 * Where other processes can have the address, it is left to them. Else a client
 * that connects is told to try elsewhere, and cancel requests find us.
 */
static void shut_doors(struct app *app, usec_t now)
{
	struct departure *const d = &app->ss.departure;

	for (struct app *w = app; w != NULL; w = workers_next(w)) {
		w->ss.departure.doors = now;
		w->ss.departure.shut = true;
		w->ss.shutdown_since = now;
	}
	app->told_at = now;
	listener_accept_rest(app);
	listener_drain(app, false);
	log_info("drain: refusing new connections, %u clients must leave within "
	    "%u s", d->left, departure_seconds(d, now));
}

/* The service manager can tell why the process does not end yet. */
static void tell_left(struct app *app, unsigned left, const char *whom)
{
	char text[64];

	if (left == app->left)
		return;
	app->left = left;
	snprintf(text, sizeof text, "shutting down, waiting for %u %s", left,
	    whom);
	notify_status(text);
}

static void tell_progress(struct app *app, usec_t now)
{
	const struct departure *const d = &app->ss.departure;

	tell_left(app, d->left, "clients");
	if (now < app->told_at + TELL || !d->shut)
		return;
	app->told_at = now;
	log_info("drain: %u clients left, %u s", d->left,
	    departure_seconds(d, now));
}

static void close_listed(struct timeout_list *l)
{
	struct timeout *t;

	while ((t = l->head) != NULL) {
		timeout_stop(t);
		client_fail(client_of_timer(t), CLOSE_DRAINED);
	}
}

/* A client that has not shown yet who it is keeps nobody waiting for long. */
static void close_strangers(struct app *app)
{
	struct timeout *t, *next;

	for (t = app->ss.login_list.head; t != NULL; t = next) {
		struct client *const c = client_of_timer(t);

		next = t->next;
		if (c->pc.state == CLIENT_LOGIN && !closedown_is_late(app, c))
			client_fail(c, CLOSE_DRAINED);
	}
}

/* The process ends a tick later: till then words go out. */
static void end_drain(struct app *app)
{
	struct departure *const d = &app->ss.departure;

	if (d->left > 0)
		log_warning("drain: time is up, closing %u clients", d->left);
	else
		log_info("drain: all clients have left, exiting");
	for (; app != NULL; app = workers_next(app)) {
		close_listed(&app->ss.login_list);
		broker_fail_clients(&app->ss, CLOSE_DRAINED);
	}
	d->over = true;
}

static void drain_worker(struct app *app, usec_t now)
{
	struct departure *const d = &app->ss.departure;

	if (now >= d->doors + STRANGERS && !app->ss.suspended)
		close_strangers(app);
	departure_earn(d, count_left(app), now);
}

/* On the first worker, for all. */
static void drain_all(struct app *app, usec_t now)
{
	struct departure *const d = &app->ss.departure;

	d->left = count_all_left(app);
	if (!d->shut && now >= d->doors)
		shut_doors(app, now);
	tell_progress(app, now);
	if (now >= d->end || (d->shut && d->left == 0 &&
	    !listener_is_draining(app)))
		end_drain(app);
	else if (d->shut)
		for (; app != NULL; app = workers_next(app))
			drain_worker(app, now);
}

static void drain_tick(struct app *app, usec_t now)
{
	struct departure *const d = &app->ss.departure;

	if (workers_hold(app)) {
		drain_all(app, now);
		workers_let_go(app);
	} else if (now >= d->end) {
		/* one that hangs ends with the process */
		d->over = true;
	}
}

/* A drain tells of itself. */
static void tell_wait(struct app *app, unsigned left, const char *whom)
{
	const usec_t now = time_now();

	if (departure_is_on(&app->ss.departure) || left == 0 ||
	    now < app->told_at + TELL)
		return;
	if (app->told_at != 0)
		log_info("shutting down, waiting for %u %s; another SIGINT or "
		    "SIGTERM ends the process at once", left, whom);
	app->told_at = now;
}

static unsigned count_servers(const struct app *app)
{
	unsigned n = 0;

	for (; app != NULL; app = workers_next(app))
		n += app->ss.servers;
	return n;
}

static unsigned closedown_count_clients(const struct app *app)
{
	unsigned n = catalog_clients(app->catalog);

	for (; app != NULL; app = workers_next(app))
		n -= count_late(app);
	return n;
}

/* (spec/config-files.md section 19) Is there nobody left? */
static bool others_have_gone(struct app *app)
{
	if (!workers_hold(app))
		return false;
	const unsigned servers = count_servers(app);
	const unsigned clients = closedown_count_clients(app);

	workers_let_go(app);
	const struct {
		unsigned left;
		const char *whom, *text;
	} modes[] = {
		[SHUTDOWN_WAIT_FOR_SERVERS] = { servers, "servers",
		    "server connections dropped, exiting" },
		[SHUTDOWN_WAIT_FOR_CLIENTS] = { clients, "clients",
		    "client connections dropped, exiting" },
	}, *const mode = &modes[app->ss.shutdown];

	tell_left(app, mode->left, mode->whom);
	tell_wait(app, mode->left, mode->whom);
	if (mode->left > 0 || listener_is_draining(app))
		return false;
	log_info("%s", mode->text);
	return true;
}

bool closedown_tick(struct app *app, usec_t now)
{
	const enum shutdown_mode mode = app->ss.shutdown;

	/* the first one ends them all */
	if (app->first != NULL)
		return false;
	if (app->ss.departure.over)
		return true;
	if (departure_is_on(&app->ss.departure))
		drain_tick(app, now);
	return mode != SHUTDOWN_NONE && mode != SHUTDOWN_DRAIN &&
	    others_have_gone(app);
}
