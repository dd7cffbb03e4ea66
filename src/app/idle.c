/* idle.c - client_idle_timeout, when users have limits of their own.
 * SPDX-License-Identifier: ISC */
#include "app/idle.h"

#include <utlist.h>

#include "app/app.h"
#include "base/mem.h"
#include "pool/catalog.h"
#include "session/client.h"
#include "session/timers.h"

static usec_t idle_positive(usec_t own, usec_t global)
{
	return own > 0 ? own : global;
}

usec_t effective_client_idle(const struct settings *set,
    const struct user *u)
{
	if (u == NULL || u->conf == NULL)
		return set->client_idle_timeout;
	return idle_positive(u->conf->client_idle_timeout,
	    set->client_idle_timeout);
}

usec_t effective_query_wait(const struct settings *set, const struct user *u,
    const struct database *db)
{
	/* here a given 0 switches a limit of lower rank off */
	if (u != NULL && u->conf != NULL && u->conf->query_wait_timeout >= 0)
		return u->conf->query_wait_timeout;
	if (db != NULL && db->conf->query_wait_timeout >= 0)
		return db->conf->query_wait_timeout;
	return set->query_wait_timeout;
}

struct effective_work effective_work(const struct settings *set,
    const struct user *u)
{
	const struct config_user *const own = u->conf;
	struct effective_work w = {
		.query = set->query_timeout,
		.idle_transaction = set->idle_transaction_timeout,
		.transaction = set->transaction_timeout,
	};

	if (own == NULL)
		return w;
	w.query = idle_positive(own->query_timeout, w.query);
	w.idle_transaction = idle_positive(own->idle_transaction_timeout,
	    w.idle_transaction);
	w.transaction = idle_positive(own->transaction_timeout, w.transaction);
	return w;
}

struct idle_list {
	struct idle_list *next;
	usec_t limit;			/* 0: never, until the next reset */
	struct timeout_list list;
};

struct idle {
	struct app *app;
	struct idle_list *lists;	/* LL list, owned; one a limit */
	usec_t shortest;		/* 0 = nobody has a limit */
};

static void fail_idle(struct client *c)
{
	/* linked or queued, other limits count */
	if (c->pc.state == CLIENT_ACTIVE && c->pc.server == NULL)
		client_fail(c, CLOSE_CLIENT_IDLE_TIMEOUT);
}

static void on_expired(struct timeout *t, void *arg)
{
	(void)arg;
	fail_idle(client_of_timer(t));
}

static struct idle_list *list_for(struct idle *i, usec_t limit)
{
	struct idle_list *il;

	LL_SEARCH_SCALAR(i->lists, il, limit, limit);
	if (il != NULL)
		return il;
	il = mem_zalloc(sizeof *il);
	if (il == NULL)
		return NULL;
	il->limit = limit;
	timeout_list_init(&il->list, on_expired, i);
	LL_PREPEND(i->lists, il);
	return il;
}

/* t has been idle for the shortest limit. */
static void on_first_expired(struct timeout *t, void *arg)
{
	struct idle *const i = arg;
	struct client *const c = client_of_timer(t);
	const usec_t limit = effective_client_idle(&i->app->config->set,
	    c->user);

	if (limit == i->shortest) {
		fail_idle(c);
		return;
	}
	struct idle_list *const il = list_for(i, limit);
	if (il != NULL)
		timeout_start(&il->list, t, t->since);
	else
		timeout_start(&i->app->ss.idle_list, t, time_now());
}

static usec_t shorter(usec_t a, usec_t b)
{
	return a <= 0 || (b > 0 && b < a) ? b : a;
}

static usec_t shortest_limit(const struct config *config)
{
	usec_t limit = config->set.client_idle_timeout;

	for (const struct config_user *u = config->users; u != NULL;
	    u = u->next)
		limit = shorter(limit, u->client_idle_timeout);
	return limit > 0 ? limit : 0;
}

struct idle *idle_new(struct app *app)
{
	struct idle *i = mem_zalloc(sizeof *i);

	if (i == NULL)
		return NULL;
	i->app = app;
	i->shortest = shortest_limit(app->config);
	app->ss.watch_idle = i->shortest > 0;
	timeout_list_init(&app->ss.idle_list, on_first_expired, i);
	return i;
}

void idle_free(struct idle **ip)
{
	struct idle *const i = *ip;
	struct idle_list *il, *next;

	*ip = NULL;
	if (i == NULL)
		return;
	LL_FOREACH_SAFE(i->lists, il, next)
		mem_free(il);
	mem_free(i);
}

bool idle_run(struct idle *i, usec_t now)
{
	struct idle_list *il;
	bool more = timeout_list_run(&i->app->ss.idle_list, i->shortest, now);

	LL_FOREACH(i->lists, il)
		more |= timeout_list_run(&il->list, il->limit, now);
	return more;
}

struct timeout *idle_oldest(const struct idle *i)
{
	struct timeout *best = i->app->ss.idle_list.head;
	const struct idle_list *il;

	LL_FOREACH(i->lists, il) {
		struct timeout *const t = il->list.head;

		if (t != NULL && (best == NULL || t->since < best->since))
			best = t;
	}
	return best;
}

/* No client was watched so far: clients that are idle now begin to be. */
static void watch_all(struct app *app)
{
	struct pool *p, *next;
	struct pool_client *pc;

	HASH_ITER(hh, app->catalog->pools, p, next) {
		if (p->key.db->console)
			continue;
		DL_FOREACH(p->clients[CLIENT_ACTIVE], pc) {
			struct client *const c = client_of(pc);

			if (pc->server == NULL && !client_logs_in(c))
				timeout_start(&app->ss.idle_list, &c->timer,
				    time_now());
		}
	}
}

void idle_reset(struct idle *i)
{
	struct timeout_list all;
	struct timeout *t;
	const bool watched = i->app->ss.watch_idle;

	i->shortest = shortest_limit(i->app->config);
	i->app->ss.watch_idle = i->shortest > 0 ||
	    departure_is_on(&i->app->ss.departure);
	if (i->app->ss.watch_idle && !watched)
		watch_all(i->app);
	if (i->lists == NULL)
		return;
	timeout_list_init(&all, NULL, NULL);
	while ((t = idle_oldest(i)) != NULL)
		timeout_start(&all, t, t->since);
	while ((t = all.head) != NULL)
		timeout_start(&i->app->ss.idle_list, t, t->since);
}
