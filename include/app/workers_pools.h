/* workers_pools.h - which pools have parts at other workers, by load.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_POOLS_H
#define APP_WORKERS_POOLS_H

#include <stdbool.h>

#include "base/time.h"
#include "pool/users.h"

struct app;

/* What the first worker has seen of the others; embedded in struct workers. */
struct parts_watch {
	bool forced;		/* PARTS_FORCE: each pool that may, at once */
	bool shared;		/* there are some, as of the last look */
	usec_t looked_at;
	uint64_t busy[USERS_CATALOGS];	/* of each worker, then */
	unsigned load[USERS_CATALOGS];	/* percent, of the time up to then */
};

void parts_watch_init(struct parts_watch *w);
/* Now and then, on the first worker: begin and end parts. */
void parts_tick(struct app *app, usec_t now);

#endif
