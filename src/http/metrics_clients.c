/* metrics_clients.c - clients by user, application_name and state.
 *
 * A client chooses its application_name, and a pool may have very many
 * clients: so many are looked at, and so many are told apart; the others are
 * one each state, so that the sums are right.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "http/metrics_parts.h"
#include "proto/params.h"
#include "session/client.h"

#define GROUPS 20		/* of one pool; fit METRICS_ITEM_BYTES */
#define LOOKED 5000		/* clients of one pool */
#define OTHER "<other>"

enum { ACTIVE, IDLE, WAITING, CANCEL_SENT, CANCEL_WAITING, STATES };

/* As SHOW CLIENTS calls them. */
static const char *const state_names[STATES] = {
	[ACTIVE] = "active",
	[IDLE] = "idle",
	[WAITING] = "waiting",
	[CANCEL_SENT] = "active_cancel_req",
	[CANCEL_WAITING] = "waiting_cancel_req",
};

static const uint8_t states[CLIENT_STATES] = {
	[CLIENT_ACTIVE] = ACTIVE,
	[CLIENT_WAITING] = WAITING,
	[CLIENT_WELCOME] = WAITING,
	[CLIENT_DEDICATED_WAITING] = WAITING,
	[CLIENT_CANCEL_SENT] = CANCEL_SENT,
	[CLIENT_CANCEL_WAITING] = CANCEL_WAITING,
};

struct group {
	const char *user, *application;
	int state;
	int64_t clients;
};

struct headcount {
	struct group groups[GROUPS];
	size_t count;
	unsigned looked;
	int64_t others[STATES];
};

static const char *application_of(const struct client *c)
{
	const char *const name = c->params == NULL ? NULL :
	    params_get(c->params, PARAMS_APPLICATION_NAME);

	if (name == NULL)
		return "";
	return exposition_is_text(name) ? name : "<invalid>";
}

static bool is_same(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static void count_client(struct headcount *t, const struct client *c, int state)
{
	const char *const application = application_of(c);
	const char *const user = c->user != NULL ? c->user->name : "(nouser)";

	/* a client of that name must not become a second series */
	if (strcmp(application, OTHER) == 0) {
		t->others[state]++;
		return;
	}
	for (size_t i = 0; i < t->count; i++) {
		struct group *const g = &t->groups[i];

		if (g->state == state && g->user == user &&
		    is_same(g->application, application)) {
			g->clients++;
			return;
		}
	}
	if (t->count == GROUPS) {
		t->others[state]++;
		return;
	}
	t->groups[t->count++] =
	    (struct group){ user, application, state, 1 };
}

/* Clients of a list too long to walk, by what is known of all of them. */
static void count_rest(struct headcount *t, const struct pool *p, int list,
    const int64_t seen[2])
{
	const int64_t rest = p->client_count[list] - seen[0] - seen[1];
	int64_t idle = 0;

	if (rest <= 0)
		return;
	if (list == CLIENT_ACTIVE) {
		const int64_t linked = p->server_count[SERVER_ACTIVE] -
		    seen[0];

		idle = rest - (linked < 0 ? 0 : linked > rest ? rest : linked);
	}
	t->others[IDLE] += idle;
	t->others[states[list]] += rest - idle;
}

static void count_list(struct headcount *t, const struct pool *p, int list)
{
	const struct pool_client *pc;
	int64_t seen[2] = { 0, 0 };	/* linked, or not */

	DL_FOREACH(p->clients[list], pc) {
		const bool linked = pc->server != NULL;

		if (t->looked++ >= LOOKED)
			break;
		seen[!linked]++;
		count_client(t, client_of((struct pool_client *)(uintptr_t)pc),
		    list == CLIENT_ACTIVE && !linked ? IDLE : states[list]);
	}
	count_rest(t, p, list, seen);
}

static void put_group(struct metrics *m, const struct pool *p,
    const struct group *g)
{
	const struct label labels[] = {
		{ "database", p->key.db->name },
		{ "user", g->user },
		{ "application_name", g->application },
		{ "state", state_names[g->state] },
	};

	metrics_put(m, labels, 4, g->clients);
}

static void put_clients(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct pool *const p = item;
	struct headcount t = { .count = 0 };

	(void)f;
	for (int list = CLIENT_ACTIVE; list < CLIENT_STATES; list++)
		count_list(&t, p, list);
	for (size_t i = 0; i < t.count; i++)
		put_group(m, p, &t.groups[i]);
	for (int state = 0; state < STATES; state++) {
		if (t.others[state] > 0)
			put_group(m, p, &(struct group){ p->key.user->name,
			    OTHER, state, t.others[state] });
	}
}

/* (spec/exporter-metrics.md) */
struct family_group metrics_clients_bouncer(void)
{
	static const struct family families[] = {
		{ { "pgbouncer_client_connections", METRIC_GAUGE, NULL,
		    "Client connections by application_name and state." },
		    OVER_POOLS, 0, put_clients, NULL },
	};

	return FAMILY_GROUP(families, true);
}
