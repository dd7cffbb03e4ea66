/* workers_pools.c - pools with parts at other workers, and clients that move
 * there.
 * SPDX-License-Identifier: ISC */
#include "app/workers_pools.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <utlist.h>

#include "app/app.h"
#include "app/workers.h"
#include "app/workers_parts.h"
#include "base/ledger.h"
#include "base/log.h"
#include "base/num.h"
#include "broker/broker.h"
#include "pool/catalog.h"
#include "pool/due.h"
#include "pool/parts.h"
#include "pool/users.h"
#include "session/client.h"
#include "transfer/client_move.h"

#define INTERVAL USEC
/* Percent of a core. A loop with more to do in a turn needs less for each part of it. */
#define SHORT 85		/* its pools get parts elsewhere, */
#define SPARE 40		/* where there is less than that */
#define SHORT_LOOKS 2		/* in a row: a burst is over sooner */
#define QUIET 60		/* all of them together: one will do */
#define QUIET_FOR (10 * USEC)

void parts_watch_init(struct parts_watch *w)
{
	const char *const limit = getenv("PARTS_SHORT");
	uint32_t percent;

	w->forced = getenv("PARTS_FORCE") != NULL;
	w->limit = limit != NULL && num_parse_u32(limit, &percent) == 0 ?
	    percent : SHORT;
}

static struct app *workers_pools_at(struct app *first, unsigned number)
{
	while (number-- > 0)
		first = workers_next(first);
	return first;
}

static struct pool *workers_pools_find(struct catalog *c,
    const struct pool *like)
{
	struct database *const db = catalog_find_database(c,
	    like->key.db->name);
	struct user *const u = db == NULL ? NULL :
	    catalog_find_user(c, like->key.user->name);

	return u == NULL ? NULL : catalog_find_pool(c, db, u);
}

/* --- the end of parts --- */

/* Of a part: nobody is there, or on the way there; who comes late goes home. */
static bool is_left(const struct pool *p)
{
	return !due_has_clients(p) && p->key.db->logins == 0;
}

static void tidy_parts(struct app *first, struct app *w)
{
	struct pool *p, *next;

	DL_FOREACH_SAFE2(w->catalog->shared, p, next, shared_next) {
		struct app *const home = workers_pools_at(first, catalog_home(
		    first->catalog, p->key.db->name));
		const struct pool *const of = p->is_part ?
		    workers_pools_find(home->catalog, p) : NULL;

		if (p->is_part && (of == NULL ||
		    !parts_is_open(of, w->number)) && is_left(p))
			broker_kill_pool(&w->ss, p);
	}
}

static bool has_parts(struct app *first, const struct app *home,
    const struct pool *p)
{
	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		if (w != home && workers_pools_find(w->catalog, p) != NULL)
			return true;
	}
	return false;
}

static bool has_database(struct app *first, const struct app *home,
    const struct database *db)
{
	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		if (w != home &&
		    catalog_find_database(w->catalog, db->name) != NULL)
			return true;
	}
	return false;
}

/* May it go on having parts, as all of them are? */
static bool may_last(struct app *first, const struct app *home,
    const struct pool *p)
{
	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		const struct pool *const part = w == home ? p :
		    workers_pools_find(w->catalog, p);

		if (part != NULL && !parts_may_begin(part, w->catalog))
			return false;
	}
	return parts_count(p) <= parts_most(p);
}

static unsigned load_of_all(const struct parts_watch *watch,
    const struct pool *p, unsigned home)
{
	unsigned load = watch->load[home];

	for (unsigned i = 0; i < USERS_CATALOGS; i++)
		load += parts_is_open(p, i) ? watch->load[i] : 0;
	return load;
}

bool parts_are_quiet(usec_t *since, unsigned percent, usec_t now)
{
	if (percent >= QUIET)
		*since = 0;
	else if (*since == 0)
		*since = now;
	return *since != 0 && now - *since >= QUIET_FOR;
}

static void tell_end(const struct pool *p)
{
	if (p->parts.open != 0)
		log_info("pool of database \"%s\" and user \"%s\" is served by "
		    "one worker from now on", p->key.db->name, p->key.user->name);
}

static void put_leases(struct app *first, struct pool *home)
{
	const unsigned count = parts_count(home);

	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		struct pool *const p = workers_pools_find(w->catalog, home);

		if (p != NULL && p->share.ledger != NULL)
			parts_put_lease(p, count);
	}
}

static void tidy_homes(struct app *first, struct app *w)
{
	const struct parts_watch *const watch = &first->workers->parts;
	struct pool *p, *next;

	DL_FOREACH_SAFE2(w->catalog->shared, p, next, shared_next) {
		if (p->is_part)
			continue;
		if (!may_last(first, w, p) || (!watch->forced &&
		    parts_are_quiet(&p->parts.quiet_since,
			load_of_all(watch, p, w->number), watch->looked_at))) {
			tell_end(p);
			parts_end(p);
		}
		put_leases(first, p);
		balance_look(first, w, p, watch->load);
		if (p->parts.open == 0 && !has_parts(first, w, p)) {
			parts_leave(p, w->catalog);
		}
	}
}

/* Without pools; the last one leaves the one at home alone. */
static void workers_pools_drop_database(struct app *first, struct app *w,
    struct database *db)
{
	struct app *const home =
	    workers_pools_at(first, catalog_home(first->catalog, db->name));
	struct database *const of = catalog_find_database(home->catalog,
	    db->name);

	catalog_drop_database(w->catalog, db);
	if (of != NULL && !has_database(first, home, of))
		parts_leave_database(of);
}

static void tidy_databases(struct app *first, struct app *w)
{
	struct database *db, *next;

	if (w->catalog->part_databases == 0)
		return;
	HASH_ITER(hh, w->catalog->databases, db, next) {
		if (db->is_part && db->pools == NULL && db->clients == 0)
			workers_pools_drop_database(first, w, db);
	}
}

static void tidy(struct app *first)
{
	for (struct app *w = first; w != NULL; w = workers_next(w))
		tidy_parts(first, w);
	for (struct app *w = first; w != NULL; w = workers_next(w))
		tidy_homes(first, w);
	for (struct app *w = first; w != NULL; w = workers_next(w))
		tidy_databases(first, w);
}

/* --- their beginning --- */

static void workers_pools_begin(struct app *first, struct app *home,
    struct pool *p, struct app *w)
{
	const struct parts_place to = { w->catalog, w->ss.params };

	if (parts_begin(p, home->catalog, &to) < 0) {
		log_warning("out of memory: worker %u cannot serve a part of a "
		    "pool",
		    w->number);
		return;
	}
	put_leases(first, p);
	log_info("pool of database \"%s\" and user \"%s\" is also served by "
	    "worker %u", p->key.db->name, p->key.user->name, w->number);
}

static bool workers_pools_may_begin(const struct app *home,
    const struct pool *p)
{
	return !p->is_part && !p->key.db->is_part && p->welcome != NULL &&
	    !p->failing && parts_may_begin(p, home->catalog) &&
	    parts_count(p) < parts_most(p);
}

static void force(struct app *first, struct app *home)
{
	struct pool *p, *next;

	HASH_ITER(hh, home->catalog->pools, p, next) {
		for (struct app *w = first; w != NULL; w = workers_next(w)) {
			if (w != home && workers_pools_may_begin(home, p) &&
			    !parts_is_open(p, w->number))
				workers_pools_begin(first, home, p, w);
		}
	}
}

/*
 * How much of its worker's work a pool makes: bytes in this stats_period. The
 * servers in use say less: a server may run a long query, which costs the
 * worker nothing, and the pooler answers some messages without any server.
 */
static uint64_t workers_pools_work(const struct pool *p)
{
	const struct counted *const c = &p->counted;

	return c->now.received - c->last.received + c->now.sent - c->last.sent;
}

static void relieve(struct app *first, struct app *busy, struct app *spare)
{
	struct pool *most = NULL;

	for (struct pool *p = busy->catalog->pools; p != NULL; p = p->hh.next) {
		if (workers_pools_may_begin(busy, p) &&
		    !parts_is_open(p, spare->number) &&
		    workers_pools_work(p) > 0 &&
		    (most == NULL ||
			workers_pools_work(p) > workers_pools_work(most)))
			most = p;
	}
	if (most != NULL)
		workers_pools_begin(first, busy, most, spare);
}

/* The busiest of them, and the one with the least to do. */
static void find_ends(const struct parts_watch *watch, unsigned count,
    unsigned *most, unsigned *least)
{
	*most = *least = 0;
	for (unsigned i = 1; i < count; i++) {
		if (watch->load[i] > watch->load[*most])
			*most = i;
		if (watch->load[i] < watch->load[*least])
			*least = i;
	}
}

bool parts_are_wanted(struct parts_watch *w, unsigned busy, unsigned spare)
{
	const bool wanted = w->load[busy] > w->limit && w->load[spare] < SPARE;

	w->looks = !wanted ? 0 : w->looks == 0 || w->busiest != busy ? 1 :
	    w->looks + 1;
	w->busiest = busy;
	return w->looks >= SHORT_LOOKS;
}

/* --- from time to time --- */

static void note_loads(struct workers *ws, usec_t now)
{
	struct parts_watch *const watch = &ws->parts;
	const usec_t past = now - watch->looked_at;

	for (unsigned i = 0; i <= ws->count; i++) {
		const uint64_t busy = atomic_load_explicit(&ws->posts[i].busy,
		    memory_order_relaxed);
		const uint64_t load = past <= 0 ? 0 :
		    (busy - watch->busy[i]) * 100 / (uint64_t)past;

		watch->load[i] = load < 100 ? (unsigned)load : 100;
		watch->busy[i] = busy;
	}
	watch->looked_at = now;
}

/* --- an audit, for tests --- */

struct counted_all {
	unsigned servers, clients, pinned, of_database;
};

static struct counted_all count_all(struct app *first, const struct pool *home)
{
	struct counted_all n = { .servers = 0 };

	for (struct app *w = first; w != NULL; w = workers_next(w)) {
		const struct database *const db = catalog_find_database(
		    w->catalog, home->key.db->name);
		const struct pool *const p =
		    workers_pools_find(w->catalog, home);

		n.of_database += db != NULL ? db->servers : 0;
		n.servers += p != NULL ? pool_total(p) : 0;
		n.pinned += p != NULL ? p->pinned : 0;
		for (int i = 0; p != NULL && i < CLIENT_STATES; i++)
			n.clients += p->client_count[i];
	}
	return n;
}

/* Nothing is taken that nobody has. */
static void audit(struct app *first, const struct app *w)
{
	for (const struct pool *p = w->catalog->shared; p != NULL;
	    p = p->shared_next) {
		const struct counted_all n = count_all(first, p);

		assert(ledger_taken(p->share.ledger, LEDGER_SERVERS) ==
		    n.servers);
		assert(ledger_taken(p->share.ledger, LEDGER_CLIENTS) ==
		    n.clients);
		assert(ledger_taken(p->share.ledger, LEDGER_PINNED) ==
		    n.pinned);
		assert(ledger_taken(p->key.db->share.ledger,
		    LEDGER_SERVERS) == n.of_database);
	}
}

static bool any_shared(struct app *first)
{
	for (const struct app *w = first; w != NULL; w = workers_next(w)) {
		if (w->catalog->shared != NULL ||
		    w->catalog->part_databases > 0)
			return true;
	}
	return false;
}

/* spare is to relieve busy; equal: nobody needs that. */
static void workers_pools_look(struct app *first, unsigned busy, unsigned spare)
{
	const struct parts_watch *const watch = &first->workers->parts;

	if (any_shared(first))
		tidy(first);
	for (struct app *w = first; watch->forced && w != NULL;
	    w = workers_next(w)) {
		audit(first, w);
		force(first, w);
	}
	if (busy != spare)
		relieve(first, workers_pools_at(first, busy),
		    workers_pools_at(first, spare));
	first->workers->parts.shared = any_shared(first);
}

void parts_tick(struct app *app, usec_t now)
{
	struct workers *const ws = app->workers;
	unsigned busy, spare;

	if (ws == NULL || app->ss.suspended ||
	    (!ws->parts.forced && now - ws->parts.looked_at < INTERVAL))
		return;
	note_loads(ws, now);
	find_ends(&ws->parts, ws->count + 1, &busy, &spare);
	if (!parts_are_wanted(&ws->parts, busy, spare))
		spare = busy;
	if (!ws->parts.forced && !ws->parts.shared && busy == spare)
		return;
	if (!workers_hold(app))
		return;
	workers_pools_look(app, busy, spare);
	workers_let_go(app);
}

#define BALANCE_BUSY 70			/* percent */
#define BALANCE_SPARE 40
#define LOOKS 3			/* in a row, before anybody moves */
#define WAY_BACK (30 * USEC)	/* nobody is sent back before */
#define STAY (10 * USEC)	/* who has come stays as long */
#define AT_ONCE 16		/* in a tick */
#define LOOKED_AT 1000		/* in a tick */

/* --- who shall go --- */

/* Half of what would make them equal: the rest is seen by then. */
static unsigned workers_pools_share(const struct balance_load *most,
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

	if (most->percent <= BALANCE_BUSY || least->percent >= BALANCE_SPARE) {
		m->looks = 0;
		return order;
	}
	if (++m->looks < LOOKS || (m->ordered_at != 0 &&
	    m->from == least->worker && now - m->ordered_at < WAY_BACK))
		return order;
	m->looks = 0;
	m->from = most->worker;
	m->ordered_at = now;
	order.clients = workers_pools_share(most, least);
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
static unsigned workers_pools_collect(struct app *first, const struct app *home,
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
	const unsigned n = workers_pools_collect(first, home, p, of);

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
