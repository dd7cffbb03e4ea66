/* suspend.c - SUSPEND: everything stands still until RESUME.
 * SPDX-License-Identifier: ISC */
#include "app/suspend.h"

#include <limits.h>

#include "app/app.h"
#include "app/listener.h"
#include "base/err.h"
#include "base/log.h"
#include "session/suspension.h"

#define PATIENCE (USEC / 4)	/* that a login may take to come to its end */

static bool is_any_paused(const struct catalog *c)
{
	const struct database *db;

	for (db = c->databases; db != NULL; db = db->hh.next) {
		if (db->paused)
			return true;
	}
	return false;
}

int suspend_begin(struct app *app, struct err *e)
{
	if (is_any_paused(app->catalog))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "cannot suspend with paused databases");
	app->ss.suspended = true;
	app->suspend_since = time_now();
	app->moving = UINT_MAX;
	listener_pause_all(app);
	return 0;
}

void suspend_turn(struct app *app)
{
	const usec_t limit = app->config->set.suspend_timeout;
	const usec_t age = time_now() - app->suspend_since;
	const bool over = limit > 0 && age > limit;

	if (!app->ss.suspended)
		return;
	if (app->admin.consoles == NULL) {
		log_info("admin disappeared when suspended, doing RESUME");
		app_resume(app);
		return;
	}
	const unsigned moving = suspension_turn(&app->ss, age < PATIENCE && !over);

	if (app->moving == 0)
		return;
	app->moving = moving;
	if (moving == 0 || !over)
		return;
	suspension_close_rest(&app->ss, "suspend_timeout");
	app->moving = suspension_turn(&app->ss, false);
}

bool suspend_is_complete(const struct app *app)
{
	return app->ss.suspended && app->moving == 0;
}

void suspend_end(struct app *app)
{
	if (!app->ss.suspended)
		return;
	app->ss.suspended = false;
	listener_resume_all(app);
	suspension_end(&app->ss);
}
