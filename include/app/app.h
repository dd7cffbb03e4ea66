/* app.h - the process as one value: everything hangs off struct app.
 * SPDX-License-Identifier: ISC */
#ifndef APP_APP_H
#define APP_APP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "app/janitor.h"
#include "app/load.h"
#include "app/tls_watch.h"
#include "console/admin.h"
#include "session/sessions.h"

struct admin_ops;
struct bell;
struct carried;
struct client;
struct err;
struct http;
struct idle;
struct ledger_book;
struct listener;
struct set_persisting;
struct takeover;
struct watchdog;
struct workers;

/* What the command line said. */
struct app_args {
	const char *path;	/* configuration file */
	const char *user;	/* -u; NULL */
	int verbose;		/* -v, repeated */
	bool daemon, quiet, reboot;
};

struct app {
	struct app_args args;
	unsigned number;		/* of this worker; the first is 0 */
	struct app *first;		/* of others; NULL: it is the first */
	struct app *next;		/* worker; see workers.h */
	struct workers *workers;	/* owned by the first; NULL: it is alone */
	struct bell *bell;		/* owned: rings when it is called */
	struct ledger_book *book;	/* the same: of limits, for all workers */
	atomic_uint clients;		/* the first's: sockets at all workers */
	atomic_uint requests;		/* of these: with keys of peers */
	atomic_uint consoles;		/* of these: at the console */
	struct loop *loop;		/* owned */
	struct watchdog *watchdog;	/* owned: of loop; NULL: of no turn */
	struct config *config;		/* in force; counted */
	struct config *loaded;		/* the first's: as read last; counted */
	struct load load;		/* the reload under way */
	struct load trial;		/* of a value for SET PERSIST */
	struct load_hung hung;		/* threads that both have lost */
	struct tls_watch tls_watch;	/* the first's */
	struct tls_setup *next_tls;	/* owned; only within apply_tls() */
	struct set_persisting *persisting;	/* owned; LL, oldest first */
	unsigned persists;		/* asked for so far, as reloads */
	unsigned reloads;		/* begun so far: the number of this one */
	bool reload_again;		/* asked for since it was begun */
	bool set_since[OPTION_COUNT];	/* what SET changed since, by row */
	bool manager_waits;		/* the service manager heard of it */
	struct catalog *catalog;	/* owned */
	struct sessions ss;		/* shared with every session */
	struct listener *listeners;	/* owned; LL list */
	struct idle *idle;		/* owned; see idle.h */
	struct admin admin;		/* the console */
	struct http *http;		/* owned */
	struct counters average;	/* of this worker, as told last */
	struct janitor janitor;
	usec_t accept_pause;		/* accepting again from then on; 0 */
	bool accept_exhausted;		/* for want of descriptors */
	usec_t suspend_since;		/* when SUSPEND was given */
	usec_t still_since;		/* when all did; 0 */
	unsigned moving;		/* sessions that do not stand still yet */
	unsigned left;			/* sessions to wait for, as told */
	usec_t told_at;			/* when the log told how far a drain is */
	bool terminated;		/* SIGTERM has joined a drain */
	int exit_code;
	bool restless;			/* forced: see workers_pools.h */
	bool stuck;			/* a thread never ended: leave by _exit() */
	int reserve_fd;			/* held back for the console; 0 = lent */
	struct client *reserve_user;	/* the borrower; NULL = nobody */
	int passed;			/* sockets of the service manager */
	struct takeover *takeover;	/* owned: of one that ends; NULL */
	struct carried *carried;	/* owned by the first; NULL */
	bool pidfile_written;		/* by us: to be removed */
	int starter;			/* owned: waits for our word; 0 = none */
};

/* Needs app->config. Everything that holds no fd; 0 or -1 (no memory). */
int app_init(struct app *app);
/* The loop, and what runs in it; after daemon_detach(). 0 or -1. */
int app_start(struct app *app, struct err *e);
/* Run until app_exit(). */
void app_run(struct app *app);
/* Drop everybody without a message and free all. Safe after a failed init. */
void app_fini(struct app *app);

/* Leave the loop with this exit code, now. */
void app_exit(struct app *app, int code);
/*
 * Begin to shut down; a later call may change the mode. TCP listeners are
 * closed. The janitor ends the process when nobody is left.
 */
void app_shutdown(struct app *app, enum shutdown_mode mode);
/* PAUSE and RESUME of everything; the broker is told, consoles ask. */
void app_pause(struct app *app);
void app_resume(struct app *app);

#endif
