/* workers_parts.h - what the files of the workers share; for workers*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_PARTS_H
#define APP_WORKERS_PARTS_H

#include <stdatomic.h>

#include "app/app.h"
#include "app/watch.h"
#include "app/workers.h"
#include "app/workers_pools.h"

struct hold;
struct mailbox;
struct stacks;
struct thread;

/* Of each worker, and the first one, too. */
struct post {
	struct app *app;		/* whose it is */
	bool over;			/* no worker runs any more */
	struct mailbox *mail;		/* owned: clients of all others */
	struct mailbox *moves;		/* owned: the same, that are served */
	struct mailbox *words;		/* owned: the same; see broker_hear() */
	struct mailbox *asks;		/* owned: the same; see auth_fetch.h */
	struct mailbox *servers;	/* owned: the same; see server_move.h */
	atomic_uint sent, arrived;	/* from it, to it; by this one */
	atomic_ullong busy;		/* CPU time of its thread; by this one */
};

struct worker {
	struct app app;
	struct thread *thread;		/* owned; NULL: does not run */
	atomic_uint signs;		/* of life: it moves on; by this one */
	struct watch watch;		/* of these; by the first one */
};

struct workers {
	struct hold *hold;		/* owned */
	struct post *posts;		/* owned: count + 1 */
	struct parts_watch parts;
	struct stacks *stacks;		/* owned: where one is that hangs */
	unsigned count;
	struct worker *at[];		/* owned; but for the first one */
};

#endif
