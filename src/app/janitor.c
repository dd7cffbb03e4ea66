/* janitor.c - time-outs and upkeep, a few times a second.
 * SPDX-License-Identifier: ISC */
#include "app/janitor.h"

#include "app/app.h"
#include "app/closedown.h"
#include "app/idle.h"
#include "app/listener.h"
#include "app/period.h"
#include "app/reload.h"
#include "app/takeover.h"
#include "app/upkeep.h"
#include "app/workers.h"
#include "base/log.h"
#include "http/http.h"
#include "io/loop.h"
#include "pool/users.h"
#include "session/broker.h"
#include "session/client.h"
#include "session/login_lobby.h"
#include "session/server.h"
#include "session/server_login.h"
#include "session/timers.h"

#define PER_TICK 2000	/* takes about a millisecond */
#define STALL USEC	/* that a tick is late by: nobody was served */
#define ROLLBACK_LIMIT (3 * USEC)	/* it is quick, or not to be had */

/* --- lists in which all have the same time --- */

static void on_login_timeout(struct timeout *t, void *arg)
{
	struct client *const c = client_of_timer(t);

	if (c->pc.state == CLIENT_WELCOME)
		upkeep_fail_login(arg, c, time_now());
	else
		client_fail(c, CLOSE_CLIENT_LOGIN_TIMEOUT);
}

static void on_connect_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	server_fail(server_of_timer(t), CLOSE_CONNECT_TIMEOUT);
}

static void on_cancel_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	client_close(client_of_timer(t), CLOSE_CANCEL_WAIT_TIMEOUT);
}

static void on_peer_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	server_close(server_of_timer(t), CLOSE_CANCEL_WAIT_TIMEOUT);
}

static void on_chore_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	broker_chore_late(server_of_timer(t), t->since);
}

static void on_rollback_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	server_close(server_of_timer(t), CLOSE_ROLLBACK_TIMEOUT);
}

static void run_lists(struct app *app, usec_t now)
{
	struct sessions *const ss = &app->ss;
	const struct settings *const set = &app->config->set;

	timeout_list_run(&ss->login_list, set->client_login_timeout, now);
	timeout_list_run(&ss->connect_list, set->server_connect_timeout, now);
	timeout_list_run(&ss->cancel_list, set->cancel_wait_timeout, now);
	timeout_list_run(&ss->peer_list, set->cancel_wait_timeout, now);
	timeout_list_run(&ss->chore_list, set->server_connect_timeout, now);
	timeout_list_run(&ss->rollback_list, ROLLBACK_LIMIT, now);
	idle_run(app->idle, now);
}

/* --- the rest --- */

/*
 * Where many are due, a tick looks at some and the next one goes on: nobody
 * waits for the end of a long list. Servers count like pools.
 */
static void maintain(struct app *app, usec_t now)
{
	struct catalog *const c = app->catalog;
	struct database *db;
	struct pool *p;

	users_renew(c);
	catalog_turn(c, now);
	/* databases first: they make the pools that want a minimum */
	for (unsigned i = 0; i < PER_TICK &&
	    (db = catalog_turn_database(c)) != NULL; i++)
		upkeep_database(app, db, now);
	for (unsigned done = 0; done < PER_TICK &&
	    (p = catalog_turn_pool(c)) != NULL;) {
		done += 1 + pool_total(p);
		upkeep_pool(app, p, now);
	}
}

/*
 * The process was stopped, or SUSPEND is over. What is in the sockets since
 * then may not have been read yet, and its time has not been used by anybody.
 */
static void note_stall(struct app *app, usec_t now)
{
	const usec_t late = now - app->ticked - JANITOR_INTERVAL;

	if (late > STALL)
		time_note_lapse(app->ticked + STALL / 2, late);
	app->ticked = now;
}

/* The budget of test/bench finds it by its name. */
static void janitor_tick(void *arg)
{
	struct app *const app = arg;
	const usec_t now = time_now();

	workers_watch(app);
	listener_tick(app, now);
	takeover_tick(app, now);
	reload_tick(app);
	http_tick(app->http, now);
	if (!app->ss.suspended) {
		note_stall(app, now);
		login_tick(&app->ss, now);
		run_lists(app, now);
		maintain(app, now);
		if (closedown_tick(app, now))
			app_exit(app, 0);
	}
	/* behind the upkeep, which notes the pools that were woken */
	period_tick(app, now);
}

int janitor_start(struct app *app)
{
	struct sessions *const ss = &app->ss;

	timeout_list_init(&ss->login_list, on_login_timeout, app);
	timeout_list_init(&ss->connect_list, on_connect_timeout, app);
	timeout_list_init(&ss->cancel_list, on_cancel_timeout, app);
	timeout_list_init(&ss->peer_list, on_peer_timeout, app);
	timeout_list_init(&ss->chore_list, on_chore_timeout, app);
	timeout_list_init(&ss->rollback_list, on_rollback_timeout, app);
	app->ticked = time_now();
	app->idle = idle_new(app);
	if (app->idle == NULL)
		return -1;
	period_start(app, time_now());
	return loop_every(app->loop, JANITOR_INTERVAL, janitor_tick, app);
}
