/* workers.c - the workers: made, started and ended, and what the first one
 * does with them.
 * SPDX-License-Identifier: ISC */
#include "app/workers.h"

#include <stdio.h>
#include <string.h>

#include "app/suspend.h"
#include "app/workers_parts.h"
#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "broker/broker.h"
#include "http/http.h"
#include "io/hold.h"
#include "io/loop.h"
#include "io/mailbox.h"
#include "io/stack.h"
#include "io/thread.h"
#include "login/login_move.h"
#include "pool/lobby.h"
#include "transfer/client_move.h"
#include "transfer/server_move.h"
#include "upstream/tls_setup.h"

#define HOLD_LIMIT (5 * USEC)	/* a turn is a few milliseconds */

/* --- of whom it is --- */

static const struct app *first_of(const struct app *app)
{
	return app->first != NULL ? app->first : app;
}

static struct post *post_of(const struct app *app, unsigned number)
{
	return &first_of(app)->workers->posts[number];
}

/* --- all of them at once --- */

static unsigned signs_of(const struct worker *w)
{
	return atomic_load_explicit(&w->signs, memory_order_relaxed);
}

/* Who comes next must not wait as long. */
static void give_up(struct workers *ws)
{
	const unsigned missing = hold_missing(ws->hold);
	struct worker *const w = ws->at[missing - 1];

	log_error("worker %u does not answer", missing);
	watch_give_up(&w->watch, signs_of(w));
	stacks_ask(ws->stacks, w->thread, missing);
}

/*
 * Where it arrives, one may be sent on; who finds no place goes home, where there is
 * always one.
 */
static void deliver(const struct workers *ws)
{
	bool any = true;

	while (any) {
		any = false;
		for (unsigned i = 0; i <= ws->count; i++)
			any = mailbox_deliver(ws->posts[i].servers) ||
			    mailbox_deliver(ws->posts[i].moves) || any;
	}
}

bool workers_hold(struct app *app)
{
	if (app->workers == NULL)
		return true;
	/* clients of this one must not wait for it over and over */
	if (!workers_turn(app))
		return false;
	if (!hold_take(app->workers->hold, HOLD_LIMIT)) {
		give_up(app->workers);
		return false;
	}
	/* what they have noted is not of the future */
	loop_forward(app->loop);
	deliver(app->workers);
	return true;
}

void workers_let_go(struct app *app)
{
	if (app->workers != NULL)
		hold_release(app->workers->hold);
}

struct app *workers_next(const struct app *app)
{
	return app->next;
}

struct app *workers_home(struct app *app, const char *database)
{
	for (unsigned n = catalog_home(app->catalog, database); n > 0; n--)
		app = app->next;
	return app;
}

/* --- does each of them turn? --- */

static void look_at(struct worker *w)
{
	switch (watch_look(&w->watch, signs_of(w))) {
	case WATCH_HANGS:
		log_error("worker %u hangs: its clients are not served, and "
		    "commands cannot reach all workers", w->app.number);
		stacks_ask(w->app.first->workers->stacks, w->thread,
		    w->app.number);
		break;
	case WATCH_IS_BACK:
		log_warning("worker %u is back", w->app.number);
		break;
	case WATCH_NONE:
		break;
	}
}

void workers_watch(struct app *app)
{
	const unsigned count = app->workers == NULL ? 0 : app->workers->count;

	for (unsigned i = 0; i < count; i++)
		look_at(app->workers->at[i]);
	if (app->workers != NULL || app->first != NULL)
		atomic_store_explicit(&post_of(app, app->number)->busy,
		    time_thread(), memory_order_relaxed);
	if (app->first != NULL)
		atomic_fetch_add_explicit(&container_of(app, struct worker,
		    app)->signs, 1, memory_order_relaxed);
}

bool workers_turn(const struct app *app)
{
	const unsigned count = app->workers == NULL ? 0 : app->workers->count;

	for (unsigned i = 0; i < count; i++) {
		if (watch_hangs(&app->workers->at[i]->watch))
			return false;
	}
	return true;
}

/* --- clients --- */

unsigned workers_count_mailed(const struct app *app)
{
	unsigned n = 0;

	if (app->workers == NULL)
		return 0;
	for (unsigned i = 0; i <= app->workers->count; i++) {
		const struct post *const p = post_of(app, i);

		n += atomic_load_explicit(&p->sent, memory_order_relaxed) -
		    atomic_load_explicit(&p->arrived, memory_order_relaxed);
	}
	return n;
}

bool workers_take(void *app, unsigned number)
{
	const struct workers *const ws = first_of(app)->workers;

	return workers_may_send(app, number) && (number == 0 ||
	    !watch_hangs(&ws->at[number - 1]->watch));
}

bool workers_may_send(void *app, unsigned number)
{
	const struct app *const from = app;

	return mailbox_has_room(post_of(from, number)->mail, from->number);
}

void workers_send(void *app, struct client *c, unsigned number)
{
	const struct app *const from = app;

	atomic_fetch_add_explicit(&post_of(from, from->number)->sent, 1,
	    memory_order_relaxed);
	mailbox_put(post_of(from, number)->mail, from->number, c);
}

bool workers_may_move(void *app, unsigned number)
{
	const struct app *const from = app;

	return mailbox_has_room(post_of(from, number)->moves, from->number);
}

void workers_move(void *app, struct client *c, unsigned number)
{
	const struct app *const from = app;

	mailbox_put(post_of(from, number)->moves, from->number, c);
}

/* --- words --- */

bool workers_may_tell(void *app, unsigned number)
{
	const struct app *const from = app;

	return mailbox_has_room(post_of(from, number)->words, from->number);
}

void workers_tell(void *app, struct host_word *w, unsigned number)
{
	const struct app *const from = app;

	mailbox_put(post_of(from, number)->words, from->number, w);
}

/* --- what is asked for another one --- */

bool workers_may_ask(void *app, unsigned number)
{
	const struct app *const from = app;
	const struct workers *const ws = first_of(from)->workers;

	/* at the end of the process there are none any more */
	return ws != NULL && ws->posts != NULL &&
	    mailbox_has_room(ws->posts[number].asks, from->number);
}

void workers_ask(void *app, struct auth_fetch *f, unsigned number)
{
	const struct app *const from = app;

	mailbox_put(post_of(from, number)->asks, from->number, f);
}

/* --- servers --- */

bool workers_may_mail(void *app, unsigned number)
{
	const struct app *const from = app;

	return mailbox_has_room(post_of(from, number)->servers, from->number);
}

void workers_mail(void *app, struct parcel *p, unsigned number)
{
	const struct app *const from = app;

	mailbox_put(post_of(from, number)->servers, from->number, p);
}
