/* workers.c - what the first worker does with the others.
 * SPDX-License-Identifier: ISC */
#include "app/workers_parts.h"

#include "base/log.h"
#include "io/hold.h"
#include "io/mailbox.h"

#define HOLD_LIMIT (5 * USEC)	/* a turn is a few milliseconds */

/* --- all of them at once --- */

bool workers_hold(struct app *app)
{
	if (app->workers == NULL)
		return true;
	if (!hold_take(app->workers->hold, HOLD_LIMIT)) {
		log_error("a worker does not answer");
		return false;
	}
	/* what they have noted is not of the future */
	time_update();
	return true;
}

void workers_let_go(struct app *app)
{
	if (app->workers != NULL)
		hold_release(app->workers->hold);
}

struct app *workers_next(const struct app *app)
{
	return app->next;
}

/* --- clients --- */

static struct worker *worker_of(void *arg, unsigned number)
{
	const struct app *const app = arg;

	return app->workers->at[number - 1];
}

unsigned workers_count_mailed(const struct app *app)
{
	const unsigned count = app->workers == NULL ? 0 : app->workers->count;
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		struct worker *const w = app->workers->at[i];

		n += w->sent - atomic_load_explicit(&w->arrived,
		    memory_order_acquire);
	}
	return n;
}

unsigned workers_count_clients(void *arg)
{
	const struct app *const app = arg;
	/* a client in between counts twice, never not at all */
	unsigned n = workers_count_mailed(app);

	for (unsigned i = 0; i < app->workers->count; i++)
		n += app->workers->at[i]->app.catalog->clients;
	return n;
}

bool workers_may_send(void *app, unsigned number)
{
	return mailbox_has_room(worker_of(app, number)->mail);
}

void workers_send(void *app, struct client *c, unsigned number)
{
	struct worker *const w = worker_of(app, number);

	w->sent++;
	mailbox_put(w->mail, c);
}
