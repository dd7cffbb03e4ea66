/* restless.c - for tests: each client moves after each of its transactions.
 * SPDX-License-Identifier: ISC */
#include "app/restless.h"

#include <utlist.h>

#include "app/app.h"
#include "pool/parts.h"
#include "session/client.h"
#include "transfer/client_move.h"

static unsigned target(const struct app *app, const struct pool *p)
{
	unsigned to = app->number;

	if (p->is_part)
		return catalog_home(app->catalog, p->key.db->name);
	do
		to = (to + 1) % (app->ss.others + 1);
	while (to != app->number && !parts_is_open(p, to));
	return to;
}

static void stir(struct app *app, const struct pool *p)
{
	const unsigned to = target(app, p);
	struct pool_client *pc, *next;

	if (to == app->number)
		return;
	DL_FOREACH_SAFE(p->clients[CLIENT_ACTIVE], pc, next) {
		struct client *const c = client_of(pc);

		if (client_may_leave(c) && client_has_worked(c))
			(void)client_depart(c, to);
	}
}

void restless_turn(struct app *app)
{
	struct pool *p;

	DL_FOREACH2(app->catalog->shared, p, shared_next)
		stir(app, p);
}
