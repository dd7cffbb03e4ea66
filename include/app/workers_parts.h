/* workers_parts.h - between workers.c and workers_crew.c, which makes and ends them.
 * SPDX-License-Identifier: ISC */
#ifndef APP_WORKERS_PARTS_H
#define APP_WORKERS_PARTS_H

#include <stdatomic.h>

#include "app/app.h"
#include "app/watch.h"
#include "app/workers.h"

struct hold;
struct mailbox;
struct thread;

struct worker {
	struct app app;
	struct thread *thread;		/* owned; NULL: does not run */
	struct mailbox *mail;		/* owned: clients from the first one */
	unsigned sent;			/* of these; by the first one */
	atomic_uint arrived;		/* by this one */
	atomic_uint signs;		/* of life: it moves on; by this one */
	struct watch watch;		/* of these; by the first one */
};

struct workers {
	struct hold *hold;		/* owned */
	unsigned count;
	struct worker *at[];		/* owned; but for the first one */
};

#endif
