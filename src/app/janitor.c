/* janitor.c - time-outs and upkeep, a few times a second, and the end of each
 * stats_period.
 * SPDX-License-Identifier: ISC */
#include "app/janitor.h"

#include <inttypes.h>
#include <limits.h>
#include <sys/wait.h>

#include "app/app.h"
#include "app/closedown.h"
#include "app/idle.h"
#include "app/listener.h"
#include "app/notify.h"
#include "app/reload.h"
#include "app/takeover.h"
#include "app/tls_watch.h"
#include "app/upkeep.h"
#include "app/workers.h"
#include "app/workers_pools.h"
#include "base/ceiling.h"
#include "base/container.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/broker.h"
#include "broker/vacate.h"
#include "http/http.h"
#include "io/loop.h"
#include "login/auth_fetch.h"
#include "login/login_cached.h"
#include "login/login_lobby.h"
#include "login/shed.h"
#include "pool/users.h"
#include "relay/own_queries.h"
#include "session/client.h"
#include "session/server.h"
#include "session/timers.h"
#include "upstream/passwords.h"
#include "upstream/server_login.h"

#define AT_ONCE 16	/* between two looks at the clock */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SLICE (USEC / 1000)	/* of a turn */
#define STALL USEC	/* that a tick is late by: nobody was served */
#define ROLLBACK_LIMIT (3 * USEC)	/* it is quick, or not to be had */
#define ORPHAN_AGE (3 * USEC)	/* a thread waits for its own child sooner */

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

static void on_own_query_timeout(struct timeout *t, void *arg)
{
	(void)arg;
	own_query_late(server_of_timer(t), t->since);
}

static void on_rollback_timeout(struct timeout *t, void *arg)
{
	struct server *const s = server_of_timer(t);

	(void)arg;
	server_close(s, own_query_row(s)->late);
}

static void on_vacancy(struct timeout *t, void *arg)
{
	(void)arg;
	vacate_due(t);
}

static void on_answer_late(struct timeout *t, void *arg)
{
	(void)arg;
	login_cached_late(t);
}

static bool run_lists(struct app *app)
{
	struct sessions *const ss = &app->ss;
	const struct settings *const set = &app->config->set;
	const struct {
		struct timeout_list *list;
		usec_t limit;
	} all[] = {
		{ &ss->login_list, set->client_login_timeout },
		{ &ss->connect_list, set->server_connect_timeout },
		{ &ss->cancel_list, set->cancel_wait_timeout },
		{ &ss->peer_list, set->cancel_wait_timeout },
		{ &ss->own_query_list, set->server_connect_timeout },
		{ &ss->rollback_list, ROLLBACK_LIMIT },
		{ &ss->vacate_list, VACATE_INTERVAL },
		{ &ss->answer_list, AUTH_FETCH_PATIENCE },
	};
	const usec_t now = time_now();
	bool more = false;

	for (size_t i = 0; i < COUNT(all); i++)
		more |= timeout_list_run(all[i].list, all[i].limit, now);
	return idle_run(app->idle, now) || more;
}

/* --- the rest --- */

static bool renew_users(struct app *app)
{
	return users_renew(app->catalog);
}

static bool turn_wheels(struct app *app)
{
	catalog_turn(app->catalog, time_now());
	return false;
}

static bool keep_databases(struct app *app)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct database *const db = catalog_turn_database(app->catalog);

		if (db == NULL)
			return false;
		upkeep_database(app, db, time_now());
	}
	return true;
}

/* Servers count like pools. */
static bool keep_pools(struct app *app)
{
	for (unsigned done = 0; done < AT_ONCE;) {
		struct pool *const p = catalog_turn_pool(app->catalog);

		if (p == NULL)
			return false;
		done += 1 + pool_total(p);
		upkeep_pool(app, p, time_now());
	}
	return true;
}

static bool close_down(struct app *app)
{
	if (closedown_tick(app, time_now()))
		app_exit(app, 0);
	return false;
}

static bool begin_period(struct app *app)
{
	period_begin(app, time_now());
	return false;
}

static bool take_samples(struct app *app)
{
	return http_go_on(app->http, time_now());
}

/*
 * In this order, each until it has no more to do, or was called for so often
 * that the rest can wait for the next tick.
 */
static const struct round {
	bool (*go_on)(struct app *app);
	int most;
	bool suspended;		/* goes on while all stands still */
} rounds[] = {
	{ .go_on = run_lists, .most = 16 },
	{ .go_on = renew_users, .most = INT_MAX },
	{ .go_on = turn_wheels, .most = 1 },
	/* before pools: databases make those that want a minimum */
	{ .go_on = keep_databases, .most = 100 },
	{ .go_on = keep_pools, .most = 100 },
	{ .go_on = close_down, .most = 1 },
	/* behind the upkeep, which notes the pools that were woken */
	{ .go_on = begin_period, .most = 1, .suspended = true },
	{ .go_on = period_go_on, .most = INT_MAX, .suspended = true },
	{ .go_on = take_samples, .most = INT_MAX, .suspended = true },
};

/* Thousands of pools may be due at once: no turn has more than a slice of it. */
static void go_on(struct loop_task *t)
{
	struct janitor *const j = container_of(t, struct janitor, task);
	struct app *const app = container_of(j, struct app, janitor);
	const usec_t begun = time_precise();

	while (j->round < COUNT(rounds)) {
		const struct round *const r = &rounds[j->round];

		if ((app->ss.suspended && !r->suspended) ||
		    ++j->calls > r->most || !r->go_on(app)) {
			j->round++;
			j->calls = 0;
		}
		if (time_precise() - begun < SLICE)
			continue;
		loop_again(app->loop, t);
		return;
	}
}

/*
 * The process was stopped, or SUSPEND is over. What is in the sockets since
 * then may not have been read yet, and its time has not been used by anybody.
 */
static void note_stall(struct app *app, usec_t now)
{
	const usec_t late = now - app->janitor.ticked - JANITOR_INTERVAL;

	if (late > STALL)
		time_note_lapse(app->janitor.ticked + STALL / 2, late);
	app->janitor.ticked = now;
}

/* The budget of test/bench finds it by its name. */
/*
 * As the process 1 of a container, the pooler is the parent of each process that
 * has lost its own. A module of PAM waits for its children itself, so a dead child
 * is left to others for a while.
 */
static void wait_for_orphan(struct janitor *j, usec_t now)
{
	siginfo_t info = { .si_pid = 0 };

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
		info.si_pid = 0;
	if (info.si_pid != j->dead) {
		j->dead = info.si_pid;
		j->dead_since = now;
	}
	if (j->dead != 0 && now - j->dead_since >= ORPHAN_AGE)
		(void)waitpid(j->dead, NULL, WNOHANG);
}

static void janitor_tick(void *arg)
{
	struct app *const app = arg;
	const usec_t now = time_now();

	workers_watch(app);
	parts_tick(app, now);
	listener_tick(app, now);
	takeover_tick(app, now);
	reload_tick(app);
	tls_watch_tick(app, now);
	http_tick(app->http, now);
	if (app->first == NULL) {
		ceiling_tick(now);
		wait_for_orphan(&app->janitor, now);
	}
	if (!app->ss.suspended) {
		broker_pass_words(&app->ss);
		note_stall(app, now);
		login_tick(&app->ss, now);
		shed_tick(&app->ss, now);
		passwords_tick(app->ss.passwords, now);
		balance_tick(app, now);
	}
	/* the last one's may not have come to their end */
	if (app->janitor.round == COUNT(rounds))
		app->janitor.round = 0;
	go_on(&app->janitor.task);
}

int janitor_start(struct app *app)
{
	struct sessions *const ss = &app->ss;

	timeout_list_init(&ss->login_list, on_login_timeout, app);
	timeout_list_init(&ss->connect_list, on_connect_timeout, app);
	timeout_list_init(&ss->cancel_list, on_cancel_timeout, app);
	timeout_list_init(&ss->peer_list, on_peer_timeout, app);
	timeout_list_init(&ss->own_query_list, on_own_query_timeout, app);
	timeout_list_init(&ss->rollback_list, on_rollback_timeout, app);
	timeout_list_init(&ss->vacate_list, on_vacancy, app);
	timeout_list_init(&ss->answer_list, on_answer_late, app);
	app->janitor = (struct janitor){
		.task = { .run = go_on }, .round = COUNT(rounds),
		.ticked = time_now(),
	};
	app->idle = idle_new(app);
	if (app->idle == NULL)
		return -1;
	period_start(app, time_now());
	return loop_every(app->loop, JANITOR_INTERVAL, janitor_tick, app);
}

#define PERIOD_AT_ONCE 16	/* pools, each with its histograms */

void period_start(struct app *app, usec_t now)
{
	struct averages *const c = &app->catalog->averages;

	c->since = c->since_before = now;
}

/* (spec/logging.md section 10) us: how a microsecond is written. */
static void write_stats(struct text *out, const struct counters *avg,
    enum console_version version, const char *us)
{
	text_addf(out, "stats: %" PRIu64 " xacts/s, %" PRIu64 " queries/s, "
	    "%" PRIu64 " client parses/s, %" PRIu64 " server parses/s, "
	    "%" PRIu64 " binds/s, ", avg->xact_count, avg->query_count,
	    avg->client_parse_count, avg->server_parse_count, avg->bind_count);
	if (version >= CONSOLE_1_26)
		text_addf(out, "%" PRIu64 " client logins/s, ",
		    avg->client_login_count);
	text_addf(out, "in %" PRIu64 " B/s, out %" PRIu64 " B/s, "
	    "xact %" PRIu64 " %s, query %" PRIu64 " %s, wait %" PRIu64 " %s",
	    avg->received, avg->sent, avg->xact_time, us, avg->query_time, us,
	    avg->wait_time, us);
}

static void report(const struct app *app, const struct counters *avg)
{
	const enum console_version version = app->config->set.console_version;
	char buf[512];
	struct text t;

	text_init(&t, buf, sizeof buf);
	write_stats(&t, avg, version, "\316\274s");	/* micro sign */
	notify_status(buf);
	if (!app->config->set.log_stats)
		return;
	text_init(&t, buf, sizeof buf);
	write_stats(&t, avg, version, "us");
	log_info("%s", buf);
}

/* The others' are as old as a period at most: each ends its own. */
static void report_all(struct app *app)
{
	struct counters sum = app->average;

	if (app->first != NULL || !workers_hold(app))
		return;
	for (const struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w))
		counters_add_average(&sum, &w->average);
	workers_let_go(app);
	report(app, &sum);
}

static void note_load(struct app *app, usec_t length)
{
	struct loop_load load;

	if (!loop_take_load(app->loop, &load) || length <= 0)
		return;
	/* the two clocks are not read at once, so it may be more than all */
	const usec_t percent = (100 * load.busy + length / 2) / length;
	struct admin_load *const l = &app->admin.load;

	l->known = true;
	l->percent = percent < 100 ? (unsigned)percent : 100;
	l->longest = load.longest;
}

/* Servers may come that no client needs any more: more than all is no share. */
static void note_handovers(struct app *app, uint64_t assignments)
{
	struct admin_load *const l = &app->admin.load;
	const uint64_t came = app->ss.servers_in - l->servers_in;

	l->servers_in = app->ss.servers_in;
	l->handovers = came >= assignments ? (came > 0) * 1000000u :
	    (unsigned)(came * 1000000 / assignments);
}

void period_begin(struct app *app, usec_t now)
{
	struct averages *const c = &app->catalog->averages;

	if (now - c->since >= app->config->set.stats_period * USEC) {
		c->since_before = c->since;
		c->since = now;
		averages_begin(c);
		note_load(app, c->since - c->since_before);
	}
}

bool period_go_on(struct app *app)
{
	struct averages *const c = &app->catalog->averages;

	if (averages_go_on(c, PERIOD_AT_ONCE))
		return true;
	if (averages_close(c, c->since - c->since_before, &app->average)) {
		note_handovers(app, c->last.server_assignment_count -
		    c->before.server_assignment_count);
		report_all(app);
	}
	return false;
}
