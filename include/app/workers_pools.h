/* workers_pools.h - pools with parts at other workers, and clients that move
 * there.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_POOLS_H
#define APP_WORKERS_POOLS_H

#include <stdbool.h>

#include "base/time.h"
#include "pool/users.h"

struct app;
struct pool;
struct pool_moves;

/* What the first worker has seen of the others; embedded in struct workers. */
struct parts_watch {
	bool forced;		/* PARTS_FORCE: each pool that may, at once */
	unsigned limit;		/* percent; a worker with more is short of CPU time
				 * (PARTS_SHORT; for tests beside others) */
	bool shared;		/* there are some, as of the last look */
	usec_t looked_at;
	uint64_t busy[USERS_CATALOGS];	/* of each worker, then */
	unsigned load[USERS_CATALOGS];	/* percent of a core, up to then */
	unsigned busiest, looks;	/* short of CPU time in so many looks */
};

void parts_watch_init(struct parts_watch *w);
/*
 * Once a second: shall the busiest worker get help from the one with the least load?
 * Only where it needs a whole core, because two loops cost more than one.
 */
bool parts_are_wanted(struct parts_watch *w, unsigned busy, unsigned spare);
/*
 * At the same times, of a pool with parts: would one worker do, by the load of all
 * that have one? since is the pool's, 0 at first.
 */
bool parts_are_quiet(usec_t *since, unsigned percent, usec_t now);
/* Now and then, on the first worker: begin and end parts. */
void parts_tick(struct app *app, usec_t now);

/* Clients of a pool with parts move to the worker that has less to do. */

/* Of one worker, for a pool. */
struct balance_load {
	unsigned worker, percent;
	unsigned clients;		/* of the pool */
};
struct balance_order {
	unsigned from, to;
	unsigned clients;		/* 0: all stay */
};
/*
 * Once a second, of those with parts of a pool: who moves? The loads have to differ for
 * long, and who came stays for a while.
 */
struct balance_order balance_weigh(struct pool_moves *m,
    const struct balance_load *loads, unsigned count, usec_t now);

/*
 * In a hold, on the first worker: clients of p, which is at home there, shall go; and
 * home all that are at a part of it that takes no new ones. loads: percent, of all.
 */
void balance_look(struct app *first, struct app *home, struct pool *p,
    const unsigned *loads);
/* Now and then, on each worker: a few of those who shall go. */
void balance_tick(struct app *app, usec_t now);

/* For tests: each client moves after each of its transactions. */

/* At the end of a turn: whoever may goes to the next worker. */
void restless_turn(struct app *app);

#endif
