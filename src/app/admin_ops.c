/* admin_ops.c - the console's orders to the process, carried out.
 * SPDX-License-Identifier: ISC */
#include "app/admin_ops.h"

#include <utlist.h>

#include "app/app.h"
#include "app/closedown.h"
#include "app/listener.h"
#include "app/reload.h"
#include "app/set.h"
#include "app/suspend.h"
#include "app/workers.h"
#include "base/err.h"

#define DRAIN_TIMEOUT (30 * USEC)	/* where nobody says how long */

static void op_pause(void *app)
{
	app_pause(app);
}

static void op_resume(void *app)
{
	app_resume(app);
}

static int op_suspend(void *app, struct err *e)
{
	return suspend_begin(app, e);
}

static bool op_is_suspended(void *app)
{
	return suspend_is_complete(app);
}

static void op_shutdown(void *app, enum shutdown_mode mode)
{
	app_shutdown(app, mode);
}

static void op_drain(void *arg, const usec_t *time)
{
	struct app *const app = arg;
	const usec_t set = app->config->set.shutdown_drain_timeout;

	closedown_drain(app, time != NULL ? *time : set > 0 ? set :
	    DRAIN_TIMEOUT);
}

static void op_exit(void *app)
{
	app_exit(app, 0);
}

static unsigned op_reload(void *app)
{
	return reload_start(app);
}

static int op_set(void *app, const char *key, const char *value,
    struct err *e)
{
	return set_now(app, key, value, e);
}

static unsigned op_persist(void *app, const struct persist_entry *entry,
    struct err *e)
{
	return set_persist(app, entry, e);
}

static int op_hold(void *app, struct err *e)
{
	return workers_hold(app) ? 0 : err_set(e, ERRCODE_SYSTEM_ERROR,
	    "a worker does not answer");
}

static void op_let_go(void *app)
{
	workers_let_go(app);
}

static bool op_all_turn(void *app)
{
	return workers_turn(app);
}

static int op_each_listener(void *arg, admin_listener_fn fn, void *fn_arg)
{
	const struct app *const app = arg;
	const struct listener *l;
	int rc = 0;

	LL_FOREACH(app->listeners, l) {
		rc = fn(fn_arg, l->fd, &l->addr);
		if (rc != 0)
			break;
	}
	return rc;
}

const struct admin_ops *admin_ops(void)
{
	static const struct admin_ops ops = {
		.pause = op_pause,
		.resume = op_resume,
		.suspend = op_suspend,
		.is_suspended = op_is_suspended,
		.shutdown = op_shutdown,
		.drain = op_drain,
		.exit = op_exit,
		.reload = op_reload,
		.set = op_set,
		.persist = op_persist,
		.hold = op_hold,
		.let_go = op_let_go,
		.all_turn = op_all_turn,
		.each_listener = op_each_listener,
	};

	return &ops;
}
