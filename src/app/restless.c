/* restless.c - for tests: each client moves after each of its transactions.
 * SPDX-License-Identifier: ISC */
#include "app/restless.h"

#include <utlist.h>

#include "app/app.h"
#include "session/client.h"
#include "session/client_move.h"

static void stir(struct app *app, const struct pool *p)
{
	const unsigned to = (app->number + 1) % (app->ss.others + 1);
	struct pool_client *pc, *next;

	DL_FOREACH_SAFE(p->clients[CLIENT_ACTIVE], pc, next) {
		struct client *const c = client_of(pc);

		if (client_may_leave(c) && client_has_worked(c))
			(void)client_depart(c, to);
	}
}

void restless_turn(struct app *app)
{
	struct pool *p, *next;

	HASH_ITER(hh, app->catalog->pools, p, next)
		stir(app, p);
}
