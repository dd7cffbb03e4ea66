/* metrics_catalog.c - metrics of databases and users, and of clients by user,
 * application_name and state.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "base/text.h"
#include "http/metrics_parts.h"
#include "proto/params.h"
#include "session/client.h"

enum value {
	POOL_SIZE, MIN_POOL_SIZE, RESERVE, LIFETIME, MAX_SERVERS, SERVERS,
	MAX_CLIENTS, CLIENTS, PAUSED, DISABLED, VALUES
};

static int64_t given(int own, int global)
{
	return own != CONFIG_UNSET ? own : global;
}

static int64_t metrics_catalog_positive(int64_t own, int64_t global)
{
	return own > 0 ? own : global;
}

/* As SHOW DATABASES has them. */
static int64_t value_of(const struct database *db, const struct settings *set,
    unsigned what)
{
	const struct config_db *const conf = db->conf;
	const int64_t values[VALUES] = {
		[POOL_SIZE] = given(conf->pool_size, set->default_pool_size),
		[MIN_POOL_SIZE] =
		    given(conf->min_pool_size, set->min_pool_size),
		[RESERVE] =
		    given(conf->reserve_pool_size, set->reserve_pool_size),
		[LIFETIME] = metrics_catalog_positive(conf->server_lifetime,
		    set->server_lifetime),
		[MAX_SERVERS] =
		    metrics_catalog_positive(conf->max_db_connections,
			set->max_db_connections),
		[SERVERS] = db->servers,
		[MAX_CLIENTS] =
		    metrics_catalog_positive(conf->max_db_client_connections,
			set->max_db_client_connections),
		[CLIENTS] = database_admitted(db),
		[PAUSED] = db->paused,
		[DISABLED] = db->disabled,
	};

	return values[what];
}

/* An automatic one that nobody uses is not shown. */
static bool metrics_catalog_is_hidden(const struct database *db)
{
	return db->own != NULL && !db->console && db->clients == 0 &&
	    db->servers == 0;
}

static void metrics_catalog_put_database(struct metrics *m,
    const struct family *f, const void *item)
{
	const struct database *const db = item;
	const struct label labels[] = { { "database", db->name } };

	if (metrics_catalog_is_hidden(db))
		return;
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = 1,
		.value = value_of(db, sessions_settings(m->ss), f->what),
		.micro = f->what == LIFETIME,
	});
}

static void put_database_bouncer(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct database *const db = item;
	const struct config_db *const conf = db->conf;
	char port[16];
	struct text t;

	text_init(&t, port, sizeof port);
	text_addf(&t, "%d", conf->port);
	const struct label labels[] = {
		{ "name", db->name },
		{ "host", conf->host },
		{ "port", port },
		{ "database", conf->dbname },
		{ "force_user", conf->user },
		{ "pool_mode", conf->pool_mode == CONFIG_UNSET ? NULL :
		    option_find("pool_mode")->words[conf->pool_mode] },
	};

	if (!metrics_catalog_is_hidden(db))
		metrics_put(m, labels, 6, value_of(db,
		    sessions_settings(m->ss), f->what));
}

/* --- users --- */

/* Of all workers that know him. */
struct uses {
	int64_t servers, clients;
};

static struct uses uses_of(const struct metrics *m, const struct user *u)
{
	struct uses sum = { .servers = 0 };

	for (const struct admin *a = m->at; a != NULL; a = a->next) {
		const struct user *const same = a == m->at ? u :
		    catalog_find_user(a->ss->catalog, u->name);

		sum.servers += same != NULL ? same->servers : 0;
		sum.clients += same != NULL ? user_admitted(same) : 0;
	}
	return sum;
}

static void put_user(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct user *const u = item;
	const struct uses uses = uses_of(m, u);
	const struct settings *const set = sessions_settings(m->ss);
	const struct label labels[] = { { "user", u->name } };
	const struct config_user *const conf = u->conf;
	const int64_t values[VALUES] = {
		[MAX_SERVERS] = metrics_catalog_positive(conf != NULL ?
		    conf->max_user_connections : 0,
		    set->max_user_connections),
		[SERVERS] = uses.servers,
		[MAX_CLIENTS] = metrics_catalog_positive(conf != NULL ?
		    conf->max_user_client_connections : 0,
		    set->max_user_client_connections),
		[CLIENTS] = uses.clients,
	};

	if (!metrics_is_told(m, u))
		metrics_put(m, labels, 1, values[f->what]);
}

#define DATABASE(name, value, unit, help) \
	{ { "pgsluice_database_" name, METRIC_GAUGE, unit, help }, \
	    OVER_DATABASES, value, metrics_catalog_put_database, NULL }
#define USER(name, value, help) \
	{ { "pgsluice_user_" name, METRIC_GAUGE, NULL, help }, \
	    OVER_USERS, value, put_user, NULL }
#define BOUNCER(name, value, help) \
	{ { "pgbouncer_databases_" name, METRIC_GAUGE, NULL, help }, \
	    OVER_DATABASES, value, put_database_bouncer, NULL }

struct family_group metrics_catalog(void)
{
	static const struct family families[] = {
		DATABASE("pool_size", POOL_SIZE, NULL,
		    "Servers that a pool may have; 0: no limit."),
		DATABASE("min_pool_size", MIN_POOL_SIZE, NULL,
		    "Servers that a pool keeps."),
		DATABASE("reserve_pool_size", RESERVE, NULL,
		    "Additional servers, for clients that wait for a long time."),
		DATABASE("server_lifetime_seconds", LIFETIME, "seconds",
		    "Age at which a server is closed."),
		DATABASE("max_connections", MAX_SERVERS, NULL,
		    "Server connections allowed; 0: no limit."),
		DATABASE("current_connections", SERVERS, NULL,
		    "Server connections."),
		DATABASE("max_client_connections", MAX_CLIENTS, NULL,
		    "Client connections allowed; 0: no limit."),
		DATABASE("current_client_connections", CLIENTS, NULL,
		    "Client connections that have logged in."),
		DATABASE("paused", PAUSED, NULL, "1: PAUSE was given."),
		DATABASE("disabled", DISABLED, NULL, "1: DISABLE was given."),
		USER("max_connections", MAX_SERVERS,
		    "Server connections allowed; 0: no limit."),
		USER("current_connections", SERVERS, "Server connections."),
		USER("max_client_connections", MAX_CLIENTS,
		    "Client connections allowed; 0: no limit."),
		USER("current_client_connections", CLIENTS,
		    "Client connections that have logged in."),
	};

	return FAMILY_GROUP(families, false);
}

/* (spec/exporter-metrics.md) */
struct family_group metrics_catalog_bouncer(void)
{
	static const struct family families[] = {
		BOUNCER("pool_size", POOL_SIZE,
		    "Maximum number of server connections."),
		BOUNCER("reserve_pool", RESERVE,
		    "Maximum number of additional connections."),
		BOUNCER("max_connections", MAX_SERVERS,
		    "Maximum number of allowed connections."),
		BOUNCER("current_connections", SERVERS,
		    "Current number of connections."),
		BOUNCER("paused", PAUSED, "1: the database is paused."),
		BOUNCER("disabled", DISABLED, "1: the database is disabled."),
	};

	return FAMILY_GROUP(families, true);
}

/*
 * A client chooses its application_name, and a pool may have very many
 * clients: so many are looked at, and so many are told apart; the others are
 * one each state, so that the sums are right.
 */

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

static bool metrics_catalog_is_same(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static void metrics_catalog_count_client(struct headcount *t,
    const struct client *c, int state)
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
		    metrics_catalog_is_same(g->application, application)) {
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
		metrics_catalog_count_client(t,
		    client_of((struct pool_client *)(uintptr_t)pc),
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
