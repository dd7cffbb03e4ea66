/* workers_crew.c - threads that serve databases of their own: made, started and ended.
 * SPDX-License-Identifier: ISC */
#include "app/workers_crew.h"

#include <stdio.h>
#include <string.h>

#include "app/suspend.h"
#include "app/workers_parts.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/num.h"
#include "broker/broker.h"
#include "http/http.h"
#include "io/hold.h"
#include "io/loop.h"
#include "io/mailbox.h"
#include "io/stack.h"
#include "io/thread.h"
#include "login/auth_fetch.h"
#include "login/login_move.h"
#include "pool/lobby.h"
#include "transfer/client_move.h"
#include "transfer/server_move.h"
#include "upstream/tls_setup.h"

static void on_mail(void *arg, void *object)
{
	struct post *const p = arg;

	/* the client may have been accepted since this turn began */
	loop_forward(p->app->loop);
	login_arrive(&p->app->ss, object);
	suspend_note_arrival(p->app);
	atomic_fetch_add_explicit(&p->arrived, 1, memory_order_relaxed);
}

static void on_move(void *arg, void *object)
{
	struct post *const p = arg;

	loop_forward(p->app->loop);
	client_arrive(&p->app->ss, object);
	suspend_note_arrival(p->app);
}

static void on_word(void *arg, void *object)
{
	struct post *const p = arg;

	broker_hear(&p->app->ss, object);
}

static void on_ask(void *arg, void *object)
{
	struct post *const p = arg;

	if (p->over) {
		auth_fetch_discard(object);
		return;
	}
	loop_forward(p->app->loop);
	auth_fetch_arrive(&p->app->ss, object);
}

static void on_server(void *arg, void *object)
{
	struct post *const p = arg;

	loop_forward(p->app->loop);
	struct pool *const pool = server_arrive(&p->app->ss, object);

	if (pool != NULL)
		broker_arrived(&p->app->ss, pool);
	suspend_note_arrival(p->app);
}

static int open_post(struct app *app, struct workers *ws)
{
	struct post *const p = &ws->posts[app->number];

	p->app = app;
	p->mail = mailbox_new(app->loop, app->ss.others + 1, on_mail, p);
	p->moves = mailbox_new(app->loop, app->ss.others + 1, on_move, p);
	p->words = mailbox_new(app->loop, app->ss.others + 1, on_word, p);
	p->asks = mailbox_new(app->loop, app->ss.others + 1, on_ask, p);
	p->servers = mailbox_new(app->loop, app->ss.others + 1, on_server, p);
	return p->mail == NULL || p->moves == NULL || p->words == NULL ||
	    p->asks == NULL || p->servers == NULL ? -1 : 0;
}

static struct worker *make(struct app *first, unsigned number, struct err *e)
{
	struct worker *const w = mem_zalloc(sizeof *w);
	struct app *const app = w == NULL ? NULL : &w->app;

	if (w == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	first->workers->at[first->workers->count++] = w;
	app->args = first->args;
	app->number = number;
	app->first = first;
	app->config = config_ref(first->config);
	app->ss.runner = first->ss.runner;
	app->ss.tls = tls_setup_share(first->ss.tls);
	if (app->ss.tls == NULL || app_init(app) < 0) {
		(void)err_nomem(e);
		return NULL;
	}
	if (app_start(app, e) < 0)
		return NULL;
	loop_measure(app->loop);
	lobby_share(&first->ss.lobby, &app->ss.lobby);
	if (open_post(app, first->workers) < 0 ||
	    hold_join(first->workers->hold, app->loop) < 0) {
		(void)err_nomem(e);
		return NULL;
	}
	return w;
}

int crew_make(struct app *app, struct err *e)
{
	const unsigned others = app->ss.others;
	struct app *last = app;

	if (others == 0)
		return 0;
	loop_measure(app->loop);
	app->workers = mem_zalloc(sizeof *app->workers +
	    others * sizeof app->workers->at[0]);
	if (app->workers == NULL)
		return err_nomem(e);
	parts_watch_init(&app->workers->parts);
	app->workers->hold = hold_new();
	app->workers->posts = mem_zalloc((others + 1) *
	    sizeof app->workers->posts[0]);
	if (app->workers->hold == NULL || app->workers->posts == NULL ||
	    open_post(app, app->workers) < 0)
		return err_nomem(e);
	for (unsigned i = 1; i <= others; i++) {
		struct worker *const w = make(app, i, e);

		if (w == NULL)
			return err_prepend(e, "worker: ");
		last->next = &w->app;
		last->admin.next = &w->app.admin;
		w->app.admin.first = &app->admin;
		last = &w->app;
	}
	return 0;
}

/* Before it allocates anything: what it touches first is near. */
static void pin(const struct app *app)
{
	const int cpu = cpu_list_at(app->config->set.worker_cpus, app->number);

	const int rc = cpu < 0 ? 0 : os_cpus_pin(cpu);

	if (rc != 0)
		log_warning("worker_cpus: worker %u can't have CPU %d: %s",
		    app->number, cpu, strerror(rc));
}

static void run(void *arg)
{
	struct app *const app = arg;

	pin(app);
	app->admin.memory = mem_account();
	app_run(app);
}

static void on_frame(void *arg, unsigned who, const char *frame)
{
	(void)arg;
	log_error("worker %u: %s", who, frame);
}

int crew_start(struct app *app, struct err *e)
{
	struct workers *const ws = app->workers;

	if (ws == NULL)
		return 0;
	ws->stacks = stacks_new(app->loop, on_frame, NULL);
	if (ws->stacks == NULL)
		return err_nomem(e);
	log_share();
	for (unsigned i = 0; i < ws->count; i++) {
		char name[24];

		snprintf(name, sizeof name, "worker %u", i + 1);
		ws->at[i]->thread = thread_start(name, run, &ws->at[i]->app);
		if (ws->at[i]->thread == NULL)
			return err_set(e, ERRCODE_SYSTEM_ERROR,
			    "cannot start a thread for each worker");
	}
	return 0;
}

void crew_go(struct app *app)
{
	const unsigned count = app->workers == NULL ? 0 : app->workers->count;

	/* who writes the log knows by now which CPUs it may have */
	pin(app);
	for (unsigned i = 0; i < count; i++)
		thread_go(app->workers->at[i]->thread);
}

/* Who never arrived is closed with the others. */
static void close_posts(struct workers *ws)
{
	for (unsigned i = 0; ws->posts != NULL && i <= ws->count; i++) {
		if (ws->posts[i].moves != NULL)
			mailbox_deliver(ws->posts[i].moves);
		if (ws->posts[i].servers != NULL)
			mailbox_deliver(ws->posts[i].servers);
		mailbox_free(&ws->posts[i].mail);
		mailbox_free(&ws->posts[i].words);
		ws->posts[i].over = true;
		mailbox_free(&ws->posts[i].asks);
	}
	/* one that has found no place here has gone home */
	for (unsigned i = 0; ws->posts != NULL && i <= ws->count; i++) {
		mailbox_free(&ws->posts[i].servers);
		mailbox_free(&ws->posts[i].moves);
	}
	mem_free(ws->posts);
	ws->posts = NULL;
}

bool crew_end(struct app *app)
{
	struct workers *const ws = app->workers;

	if (ws == NULL)
		return true;
	if (ws->count > 0 && ws->at[0]->thread != NULL) {
		if (!workers_hold(app))
			return false;
		for (unsigned i = 0; i < ws->count; i++)
			loop_stop(ws->at[i]->app.loop);
		/* answers have their places in lists of all */
		http_free(&app->http);
		admin_leave_workers(&app->admin);
		workers_let_go(app);
	}
	for (unsigned i = 0; i < ws->count; i++)
		thread_join(&ws->at[i]->thread);
	close_posts(ws);
	hold_free(&ws->hold);
	stacks_free(&ws->stacks);
	for (unsigned i = 0; i < ws->count; i++) {
		app_fini(&ws->at[i]->app);
		app->stuck = app->stuck || ws->at[i]->app.stuck;
		mem_free(ws->at[i]);
	}
	mem_free(ws);
	app->workers = NULL;
	app->next = NULL;
	app->admin.next = NULL;
	return true;
}
