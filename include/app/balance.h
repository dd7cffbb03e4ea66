/* balance.h - clients of a pool with parts move to the worker that has less to do.
 * SPDX-License-Identifier: ISC */
#ifndef APP_BALANCE_H
#define APP_BALANCE_H

#include <stdbool.h>

#include "base/time.h"

struct app;
struct pool;
struct pool_moves;

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

#endif
