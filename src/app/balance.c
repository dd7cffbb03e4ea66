/* balance.c - clients of a pool with parts move to the worker that has less to do.
 * SPDX-License-Identifier: ISC */
#include "app/balance.h"

#include <limits.h>
#include <utlist.h>

#include "app/app.h"
#include "app/workers.h"
#include "pool/parts.h"
#include "pool/users.h"
#include "session/client.h"
#include "transfer/client_move.h"

#define BUSY 70			/* percent */
#define SPARE 40
#define LOOKS 3			/* in a row, before anybody moves */
#define WAY_BACK (30 * USEC)	/* nobody is sent back before */
#define STAY (10 * USEC)	/* who has come stays as long */
#define AT_ONCE 16		/* in a tick */
#define LOOKED_AT 1000		/* in a tick */

/* --- who shall go --- */

/* Half of what would make them equal: the rest is seen by then. */
static unsigned share(const struct balance_load *most,
    const struct balance_load *least)
{
	const unsigned n = most->clients * (most->percent - least->percent) /
	    (4 * most->percent);

	return n > 0 ? n : most->clients > 0;
}

struct balance_order balance_weigh(struct pool_moves *m,
    const struct balance_load *loads, unsigned count, usec_t now)
{
	const struct balance_load *most = loads, *least = loads;

	for (unsigned i = 1; i < count; i++) {
		if (loads[i].percent > most->percent)
			most = &loads[i];
		if (loads[i].percent < least->percent)
			least = &loads[i];
	}
	struct balance_order order = { most->worker, least->worker, 0 };

	if (most->percent <= BUSY || least->percent >= SPARE) {
		m->looks = 0;
		return order;
	}
	if (++m->looks < LOOKS || (m->ordered_at != 0 &&
	    m->from == least->worker && now - m->ordered_at < WAY_BACK))
		return order;
	m->looks = 0;
	m->from = most->worker;
	m->ordered_at = now;
	order.clients = share(most, least);
	return order;
}

static struct pool *pool_at(struct app *w, const struct pool *like)
{
	struct catalog *const c = w->catalog;
	struct database *const db = catalog_find_database(c,
	    like->key.db->name);
	struct user *const u = db == NULL ? NULL :
	    catalog_find_user(c, like->key.user->name);

	return u == NULL ? NULL : catalog_find_pool(c, db, u);
}

/* Those with part of it that go on having that; the others' clients go home. */
static unsigned collect(struct app *first, const struct app *home,
    const struct pool *p, struct balance_load *out)
{
	unsigned n = 0;

	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		struct pool *const part = pool_at(w, p);

		if (part == NULL)
			continue;
		part->moves.left = 0;
		if (w == home || parts_is_open(p, w->number)) {
			out[n++] = (struct balance_load){
				.worker = w->number,
				.clients = part->client_count[CLIENT_ACTIVE] +
				part->client_count[CLIENT_WAITING] };
		} else {
			part->moves.to = home->number;
			part->moves.left = UINT_MAX;
		}
	}
	return n;
}

void balance_look(struct app *first, struct app *home, struct pool *p,
    const unsigned *loads)
{
	struct balance_load of[USERS_CATALOGS] = { 0 };
	const unsigned n = collect(first, home, p, of);

	for (unsigned i = 0; i < n; i++)
		of[i].percent = loads[of[i].worker];
	const struct balance_order order = balance_weigh(&p->moves, of, n,
	    time_now());

	for (struct app *w = first; order.clients > 0 && w != NULL;
	    w = workers_next(w)) {
		struct pool *const part = pool_at(w, p);

		if (w->number != order.from || part == NULL)
			continue;
		part->moves.to = order.to;
		part->moves.left = order.clients;
	}
}

/* --- going --- */

static bool has_stayed(const struct pool *p, const struct client *c, usec_t now)
{
	return p->moves.left == UINT_MAX || client_here_for(c, now) >= STAY;
}

static void send_some(struct pool *p, usec_t now)
{
	struct pool_client *pc, *next;
	int looked_at = 0, sent = 0;

	DL_FOREACH_SAFE(p->clients[CLIENT_ACTIVE], pc, next) {
		struct client *const c = client_of(pc);

		if (p->moves.left == 0 || sent == AT_ONCE ||
		    looked_at++ == LOOKED_AT)
			return;
		if (!client_may_leave(c) || !has_stayed(p, c, now))
			continue;
		if (!client_depart(c, p->moves.to))
			continue;
		sent++;
		if (p->moves.left != UINT_MAX)
			p->moves.left--;
	}
}

void balance_tick(struct app *app, usec_t now)
{
	struct pool *p;

	DL_FOREACH2(app->catalog->shared, p, shared_next) {
		if (p->moves.left > 0)
			send_some(p, now);
	}
}
