/* signals.c - signals to the process, and its answers.
 * SPDX-License-Identifier: ISC */
#include "app/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "app/app.h"
#include "app/closedown.h"
#include "app/daemon.h"
#include "app/notify.h"
#include "app/reload.h"
#include "base/log.h"
#include "io/loop.h"

/* SIGTERM and SIGINT end in the same way, but wait for others. */
struct ending {
	const char *name, *first;
	enum shutdown_mode mode;
};

static void signals_end(struct app *app, const struct ending *how)
{
	if (app->ss.suspended) {
		log_at(LEVEL_FATAL, NULL,
		    "suspend was in progress, going down immediately");
		app_exit(app, 1);
	} else if (app->ss.shutdown != SHUTDOWN_NONE) {
		log_info("got %s while shutting down, fast exit", how->name);
		app_exit(app, 0);
	} else {
		log_info("got %s, shutting down, %s", how->name, how->first);
		notify_stopping();
		app_shutdown(app, how->mode);
	}
}

/* The end of a preStop hook, too: that has begun the drain already. */
static bool signals_drains(const struct app *app)
{
	return !app->ss.suspended && !app->terminated &&
	    (departure_is_on(&app->ss.departure) ||
	    (app->config->set.shutdown_drain_timeout > 0 &&
	    app->ss.shutdown == SHUTDOWN_NONE));
}

static void drain(struct app *app)
{
	const usec_t time = app->config->set.shutdown_drain_timeout;

	log_info("got SIGTERM, shutting down, clients are disconnected");
	notify_stopping();
	app->terminated = true;
	if (time > 0)
		closedown_drain(app, time);
}

static void on_term(struct app *app)
{
	if (signals_drains(app)) {
		drain(app);
		return;
	}
	signals_end(app, &(struct ending){
		.name = "SIGTERM",
		.first = "waiting for all clients disconnect",
		.mode = SHUTDOWN_WAIT_FOR_CLIENTS,
	});
}

/* A transaction may last for ever, and so may a client that does not read. */
static void limit_wait(struct app *app)
{
	const usec_t time = app->config->set.shutdown_drain_timeout;

	app->terminated = true;
	if (time > 0)
		closedown_drain(app, time);
}

static void on_int(struct app *app)
{
	const bool first = !app->ss.suspended &&
	    app->ss.shutdown == SHUTDOWN_NONE;

	signals_end(app, &(struct ending){
		.name = "SIGINT",
		.first = "waiting for all servers connections to be released",
		.mode = SHUTDOWN_WAIT_FOR_SERVERS,
	});
	if (first)
		limit_wait(app);
}

static void on_quit(struct app *app)
{
	log_info("got SIGQUIT, fast exit");
	app_exit(app, 0);
}

static void on_hup(struct app *app)
{
	log_info("got SIGHUP, re-reading config");
	notify_reloading();
	app->manager_waits = true;
	(void)reload_start(app);
}

static void on_usr1(struct app *app)
{
	if (app->ss.suspended || app->catalog->paused) {
		log_info("got SIGUSR1, but already paused/suspended");
		return;
	}
	log_info("got SIGUSR1, pausing all activity");
	app_pause(app);
}

static void on_usr2(struct app *app)
{
	if (!sessions_may_resume(&app->ss)) {
		log_info("got SIGUSR2 while shutting down, ignoring");
		return;
	}
	if (!app->ss.suspended && !app->catalog->paused) {
		log_info("got SIGUSR2, but not paused/suspended");
		return;
	}
	log_info("got SIGUSR2, continuing from %s",
	    app->ss.suspended ? "SUSPEND" : "PAUSE");
	app_resume(app);
}

/* (spec/config-files.md section 19) */
static const struct {
	int signo;
	void (*run)(struct app *app);
} actions[] = {
	{ SIGHUP, on_hup },
	{ SIGTERM, on_term },
	{ SIGINT, on_int },
	{ SIGQUIT, on_quit },
	{ SIGUSR1, on_usr1 },
	{ SIGUSR2, on_usr2 },
};

static void signals_on_signal(int signo, void *arg)
{
	for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
		if (actions[i].signo == signo)
			actions[i].run(arg);
	}
}

int signals_start(struct app *app)
{
	/* writes to closed sockets report EPIPE instead */
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
		if (sigmask_is_ignored(actions[i].signo))
			log_info("SIGTERM was ignored at the start, and stays "
			    "ignored");
		else if (loop_on_signal(app->loop, actions[i].signo,
		    signals_on_signal, app) < 0)
			return -1;
	}
	/* what came meanwhile has its turn now */
	sigmask_open();
	return 0;
}
