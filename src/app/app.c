/* app.c - the process as one value: composed here, and taken apart.
 * SPDX-License-Identifier: ISC */
#include "app/app.h"

#include <string.h>
#include <utlist.h>

#include "app/admin_ops.h"
#include "app/closedown.h"
#include "app/idle.h"
#include "app/janitor.h"
#include "app/listener.h"
#include "app/reload.h"
#include "app/set.h"
#include "app/suspend.h"
#include "app/takeover.h"
#include "app/watch.h"
#include "app/wiring.h"
#include "app/workers.h"
#include "app/workers_pools.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/force.h"
#include "base/ledger.h"
#include "base/log.h"
#include "broker/broker.h"
#include "console/admin.h"
#include "console/handover.h"
#include "http/http.h"
#include "io/bell.h"
#include "io/dns.h"
#include "io/loop.h"
#include "io/offload.h"
#include "io/watchdog.h"
#include "login/auth_cache.h"
#include "login/auth_fetch.h"
#include "login/login_guess.h"
#include "login/login_lobby.h"
#include "login/login_shape.h"
#include "login/peer.h"
#include "pool/lobby.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/unnamed.h"
#include "relay/relay_schema.h"
#include "session/client.h"
#include "session/roam.h"
#include "session/timers.h"
#include "state/custom_table.h"
#include "upstream/passwords.h"
#include "upstream/tls_setup.h"

/* --- calls upward from sessions meet here --- */

static void on_reserve(struct client *c)
{
	listener_return_reserve(c->ss->app);
}

/* --- life --- */

/* Which part this worker has of what there is. */
static struct catalog_part divide(struct app *app)
{
	struct sessions *const ss = &app->ss;
	const unsigned workers = (unsigned)app->config->set.workers;

	ss->worker = app->number;
	ss->others = workers - 1;
	ss->last_id = ss->last_unnamed = app->number;
	if (workers == 1)
		return (struct catalog_part){ 0 };
	ss->forced = force_is_on("handover");
	login_guess_share(ss, app->first != NULL ? &app->first->ss : NULL);
	login_shape_share(ss, app->first != NULL ? &app->first->ss : NULL);
	custom_table_share(ss, app->first != NULL ? &app->first->ss : NULL);
	relay_schema_share(ss, app->first != NULL ? &app->first->ss : NULL);
	roam_share(ss, app->first != NULL ? &app->first->ss : NULL);
	app->book = app->first != NULL ? app->first->book :
	    ledger_book_new(workers);
	ss->client_ops.takes = workers_take;
	ss->client_ops.may_send = workers_may_send;
	ss->client_ops.send = workers_send;
	ss->client_ops.may_move = workers_may_move;
	ss->client_ops.move = workers_move;
	ss->client_ops.may_tell = workers_may_tell;
	ss->client_ops.tell = workers_tell;
	ss->client_ops.may_ask = workers_may_ask;
	ss->client_ops.ask = workers_ask;
	ss->client_ops.may_mail = workers_may_mail;
	ss->client_ops.mail = workers_mail;
	struct app *const first = app->first != NULL ? app->first : app;

	return (struct catalog_part){ app->number, workers, app->book,
		&first->clients, &first->requests, &first->consoles };
}

/* Whether a user exists must not show in what another worker says. */
static void make_mock(struct app *app)
{
	struct sessions *const ss = &app->ss;

	ss->own_lookups.shape = MOCK_SHAPE_SERVER;
	if (app->first == NULL)
		crypto_random(ss->mock_salt, sizeof ss->mock_salt);
	else
		memcpy(ss->mock_salt, app->first->ss.mock_salt,
		    sizeof ss->mock_salt);
	apply_mock(app);
}

int app_init(struct app *app)
{
	struct sessions *const ss = &app->ss;

	ss->app = app;
	app->restless = force_is_on("moves") && app->config->set.workers > 1;
	ss->born = time_wall(time_precise());
	ss->admin = &app->admin;
	app->load.hung = app->trial.hung = &app->hung;
	app->admin = (struct admin){ .ops = admin_ops(), .app = app,
		.ss = ss };
	ss->client_ops.return_reserve = on_reserve;
	wiring_install(ss);
	make_mock(app);
	ss->params = params_table_new(app->config->set.track_extra_parameters);
	ss->prepared = prepared_table_new();
	app->catalog = ss->catalog = catalog_new_part(app->config,
	    divide(app));
	ss->baggage = baggage_table_new();
	if (ss->params == NULL || ss->prepared == NULL ||
	    ss->baggage == NULL || app->catalog == NULL)
		return -1;
	/* another process may put together what several workers have */
	prepared_table_divide(ss->prepared, ss->worker, 1 + ss->others);
	return 0;
}

static void on_address_lost(void *arg, const char *name,
    const struct net_addr *addr)
{
	broker_address_lost(arg, name, addr);
}

static void on_called(void *arg)
{
	struct app *const app = arg;
	void *share;

	while ((share = ledger_take_called(app->book, app->number)) != NULL)
		broker_called(&app->ss, share);
	login_expel(&app->ss);
}

static void ring(void *arg)
{
	bell_ring(arg);
}

static int join_book(struct app *app)
{
	if (app->book == NULL)
		return 0;
	app->bell = bell_new(app->loop, on_called, app);
	if (app->bell == NULL)
		return -1;
	ledger_book_join(app->book, app->number,
	    (struct ledger_bell){ ring, app->bell });
	return 0;
}

int app_start(struct app *app, struct err *e)
{
	const struct settings *const set = &app->config->set;

	app->loop = app->ss.loop = loop_new();
	if (app->loop == NULL || janitor_start(app) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "cannot start the event loop");
	if (join_book(app) < 0)
		return err_nomem(e);
	login_queue_init(&app->ss.login_queue, app->loop);
	lobby_init(&app->ss.lobby, time_now());
	lobby_on_call(&app->ss.lobby, ring, app->bell);
	app->ss.dns = dns_new(app->loop, set->resolv_conf, e);
	if (app->ss.dns == NULL)
		return err_prepend(e, "cannot start the resolver: ");
	dns_on_lost(app->ss.dns, on_address_lost, &app->ss);
	apply_dns(app);
	if (app->first == NULL)
		apply_memory(app);
	app->ss.offload = offload_new(app->loop);
	if (app->ss.offload == NULL)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "cannot prepare helper threads");
	apply_threads(app);
	app->ss.passwords = passwords_new(&app->ss);
	if (app->ss.passwords == NULL)
		return err_nomem(e);
	app->http = http_new(&app->admin);
	if (app->http == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY, "out of memory");
	slow_turn_watch(app);
	return 0;
}

/* Is there something that is not done by each turn? */
static inline bool is_busy(const struct app *app)
{
	return app->load.ready || app->persisting != NULL ||
	    app->ss.catalog->dirty != NULL || app->ss.departure.shut ||
	    app->restless || app->ss.suspended ||
	    app->admin.consoles != NULL || app->admin.next != NULL;
}

/* Out of line: after most turns nothing is to be done. */
static __attribute__((noinline)) void work_after_turn(struct app *app)
{
	/* what a successor has of us must stay what it is */
	if (app->load.ready && !handover_is_on(&app->admin))
		reload_turn(app);
	if (app->persisting != NULL && set_persist_is_due(app) &&
	    !handover_is_on(&app->admin))
		set_persist_turn(app);
	broker_turn(&app->ss);
	/* who has to go is not sent on */
	if (app->ss.departure.shut)
		closedown_turn(app);
	if (app->restless)
		restless_turn(app);
	if (app->ss.suspended)
		suspend_turn(app);
	if (app->admin.consoles != NULL || app->admin.next != NULL)
		admin_turn(&app->admin);
}

static void after_turn(void *arg)
{
	struct app *const app = arg;

	if (is_busy(app))
		work_after_turn(app);
}

void app_run(struct app *app)
{
	loop_run(app->loop, after_turn, app);
}

void app_exit(struct app *app, int code)
{
	app->exit_code = code;
	loop_stop(app->loop);
}

/* --- taking it apart --- */

/*
 * Nobody is told anything (spec/config-files.md section 19, "immediate"): what the
 * sessions would send on closing is lost. The sockets themselves may be in the
 * hands of another process by now.
 */
static void mute(struct stream *s)
{
	s->broken = true;
}

static void close_pool_servers(struct pool *p)
{
	struct pool_server *ps;

	for (int i = 0; i < SERVER_GONE; i++) {
		DL_FOREACH(p->servers[i], ps)
			mute(&server_of(ps)->stream);
		while ((ps = p->servers[i]) != NULL) {
			server_close(server_of(ps), CLOSE_SHUTDOWN);
			if (p->servers[i] == ps)
				break;
		}
	}
}

static void mute_pool_clients(struct pool *p)
{
	struct pool_client *pc;

	for (int i = 0; i < CLIENT_STATES; i++) {
		DL_FOREACH(p->clients[i], pc)
			mute(&client_of(pc)->stream);
	}
}

static void close_pool_clients(struct pool *p)
{
	struct pool_client *pc;

	for (int i = 0; i < CLIENT_STATES; i++) {
		while ((pc = p->clients[i]) != NULL) {
			client_close(client_of(pc), CLOSE_SHUTDOWN);
			if (p->clients[i] == pc)
				break;
		}
	}
}

/* Clients that are in no pool yet are in a list of time-outs. */
static void close_listed_clients(struct timeout_list *l)
{
	struct timeout *t;

	while ((t = l->head) != NULL) {
		struct client *const c = client_of_timer(t);

		mute(&c->stream);
		client_close(c, CLOSE_SHUTDOWN);
		timeout_stop(t);
	}
}

static void close_sessions(struct app *app)
{
	struct pool *p, *next;

	HASH_ITER(hh, app->catalog->pools, p, next)
		mute_pool_clients(p);
	HASH_ITER(hh, app->catalog->pools, p, next)
		close_pool_servers(p);
	HASH_ITER(hh, app->catalog->pools, p, next)
		close_pool_clients(p);
	peer_drop_all(&app->ss, CLOSE_SHUTDOWN);
	close_listed_clients(&app->ss.login_list);
	close_listed_clients(&app->ss.cancel_list);
}

void app_fini(struct app *app)
{
	/* one line for each of ten thousand clients would tell nobody more */
	log_setup(&(struct log_opts){ .quiet = true });
	takeover_free(&app->takeover);
	listener_close_all(app);
	http_free(&app->http);
	if (app->loop != NULL) {
		close_sessions(app);
		broker_forget_words(&app->ss);
		auth_fetch_forget(&app->ss);
		loop_finish(app->loop);
	}
	lobby_fini(&app->ss.lobby);
	auth_cache_free(&app->ss.answers);
	/* jobs know credentials, but no sessions any more */
	if (!offload_free(&app->ss.offload))
		app->stuck = true;
	else
		passwords_free(&app->ss.passwords);
	dns_free(&app->ss.dns);
	idle_free(&app->idle);
	catalog_free(&app->catalog);
	tls_setup_free(&app->ss.tls);
	unnamed_free(&app->ss.unnamed);
	prepared_table_free(&app->ss.prepared);
	slow_fini(&app->ss.slow);
	params_table_free(&app->ss.params);
	recall_fini(&app->ss.recall);
	baggage_table_free(&app->ss.baggage);
	custom_fini(&app->ss.own_custom);
	if (app->book != NULL)
		ledger_book_leave(app->book, app->number);
	bell_free(&app->bell);
	if (app->first == NULL)
		ledger_book_free(&app->book);
	carried_free(&app->carried);
	watchdog_free(&app->watchdog);
	loop_free(&app->loop);
	load_clear(&app->load);
	set_persist_fini(app);
	config_unref(&app->config);
	config_unref(&app->loaded);
}

/* --- modes of the whole --- */

static void put_paused(struct app *app, bool paused)
{
	const bool held = workers_hold(app);

	for (struct app *w = app; w != NULL; w = held ? workers_next(w) : NULL) {
		w->catalog->paused = paused;
		if (!paused) {
			suspend_end(w);
			broker_retry(&w->ss, NULL);
		}
		broker_pause_changed(&w->ss);
	}
	if (held)
		workers_let_go(app);
}

void app_pause(struct app *app)
{
	put_paused(app, true);
}

void app_resume(struct app *app)
{
	/* suspend_turn() comes again when it has heard of it */
	if (handover_revoke(&app->admin))
		return;
	put_paused(app, false);
}

static void put_mode(struct app *app, enum shutdown_mode mode, bool all)
{
	for (; app != NULL; app = all ? workers_next(app) : NULL) {
		if (app->ss.shutdown == SHUTDOWN_NONE)
			app->ss.shutdown_since = time_now();
		app->ss.shutdown = mode;
	}
}

void app_shutdown(struct app *app, enum shutdown_mode mode)
{
	const enum shutdown_mode before = app->ss.shutdown;

	/* a drain ends sooner than clients leave */
	if (before == SHUTDOWN_DRAIN && mode == SHUTDOWN_WAIT_FOR_CLIENTS)
		return;
	/* one that does not come goes on, and is left in the end */
	const bool held = workers_hold(app);

	put_mode(app, mode, held);
	listener_drain(app, true);
	if (mode == SHUTDOWN_WAIT_FOR_SERVERS) {
		app_pause(app);	/* the broker drops clients that wait */
	} else if (before == SHUTDOWN_WAIT_FOR_SERVERS) {
		app_resume(app);	/* clients are waited for: serve them */
	}
	if (held)
		workers_let_go(app);
}
