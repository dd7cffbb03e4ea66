/* suspend.c - SUSPEND: everything stands still until RESUME.
 * SPDX-License-Identifier: ISC */
#include "app/suspend.h"

#include <limits.h>

#include "app/app.h"
#include "app/listener.h"
#include "app/workers.h"
#include "base/err.h"
#include "base/log.h"
#include "console/handover.h"
#include "transfer/suspension.h"

#define PATIENCE (USEC / 4)	/* till a login, or a cancel, stands still */
#define SUCCESSION (10 * USEC)	/* to make of what stands still its own */

static bool is_any_paused(const struct catalog *c)
{
	const struct database *db;

	for (db = c->databases; db != NULL; db = db->hh.next) {
		if (db->paused)
			return true;
	}
	return false;
}

static void begin(struct app *app)
{
	app->ss.suspended = true;
	app->suspend_since = time_now();
	app->moving = UINT_MAX;
	app->still_since = 0;
}

int suspend_begin(struct app *app, struct err *e)
{
	for (struct app *w = app; w != NULL; w = workers_next(w)) {
		if (is_any_paused(w->catalog))
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "cannot suspend with paused databases");
	}
	for (struct app *w = app; w != NULL; w = workers_next(w))
		begin(w);
	listener_pause_all(app);
	return 0;
}

void suspend_note_arrival(struct app *app)
{
	if (app->ss.suspended)
		app->moving = UINT_MAX;
}

/* Of this worker; a login may still come here from another one. */
static bool stands_still(const struct app *app)
{
	return app->moving == 0 && app->ss.still;
}

/* A client that arrives from another worker is stopped later, and not counted. */
static void note_still(struct app *app)
{
	const usec_t took = time_now() - app->suspend_since;

	if (app->still_since != 0)
		return;
	app->still_since = time_now();
	log_info("all sessions are suspended, %lld.%03lld s after SUSPEND",
	    (long long)(took / USEC), (long long)(took % USEC / 1000));
}

/*
 * All stands still for the sake of another process: when that is stopped, or
 * takes too long, it goes on here.
 */
static void await_successor(struct app *app, usec_t limit)
{
	struct admin *const a = &app->admin;
	const usec_t now = time_now();

	if (a->handover == HANDOVER_REVOKED) {
		handover_revoke(a);
	} else if (handover_is_on(a) && limit > 0 &&
	    now - app->still_since > limit + SUCCESSION) {
		log_warning("process %ld takes too long to take over, continuing "
		    "without it", handover_pid(a));
		handover_revoke(a);
	}
}

/*
 * Why a suspension ends by itself, or NULL. Of several workers the first one
 * knows, and wakes all.
 */
static const char *why_over(const struct app *app)
{
	const struct departure *const d = &app->ss.departure;

	if (app->first != NULL)
		return NULL;
	/* it is for a console's sake */
	if (app->admin.consoles == NULL || handover_is_deserted(&app->admin))
		return "admin disappeared when suspended, doing RESUME";
	/* a drain ends in time, unless a successor has what there is */
	if (departure_is_on(d) && time_now() >= d->end &&
	    !handover_is_on(&app->admin))
		return "drain: time is up when suspended, doing RESUME";
	return NULL;
}

void suspend_turn(struct app *app)
{
	const bool is_patient = time_now() - app->suspend_since < PATIENCE;
	const char *const why = why_over(app);

	/* all go on together: where a worker hangs, later */
	if (why != NULL && workers_hold(app)) {
		log_info("%s", why);
		app_resume(app);
		workers_let_go(app);
		return;
	}
	const unsigned moving = suspension_turn(&app->ss, is_patient);

	if (app->still_since != 0 && app->moving == 0) {
		await_successor(app, app->config->set.suspend_timeout);
		return;
	}
	app->moving = moving;
	if (stands_still(app))
		note_still(app);
}

bool suspend_is_complete(const struct app *app)
{
	const struct app *w = app;

	while (w != NULL && w->ss.suspended && stands_still(w))
		w = workers_next(w);
	/* who is on the way to a worker will be told there */
	return w == NULL && workers_count_mailed(app) == 0;
}

void suspend_end(struct app *app)
{
	if (!app->ss.suspended)
		return;
	app->ss.suspended = false;
	handover_end(&app->admin);
	listener_resume_all(app);
	suspension_end(&app->ss);
}
