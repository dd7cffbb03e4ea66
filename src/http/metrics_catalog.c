/* metrics_catalog.c - metrics of databases and users.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "http/metrics_parts.h"

enum value {
	POOL_SIZE, MIN_POOL_SIZE, RESERVE, LIFETIME, MAX_SERVERS, SERVERS,
	MAX_CLIENTS, CLIENTS, PAUSED, DISABLED, VALUES
};

static int64_t given(int own, int global)
{
	return own != CONFIG_UNSET ? own : global;
}

static int64_t positive(int64_t own, int64_t global)
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
		[MIN_POOL_SIZE] = given(conf->min_pool_size,
		    set->min_pool_size),
		[RESERVE] = given(conf->reserve_pool_size,
		    set->reserve_pool_size),
		[LIFETIME] = positive(conf->server_lifetime,
		    set->server_lifetime),
		[MAX_SERVERS] = positive(conf->max_db_connections,
		    set->max_db_connections),
		[SERVERS] = db->servers,
		[MAX_CLIENTS] = positive(conf->max_db_client_connections,
		    set->max_db_client_connections),
		[CLIENTS] = database_admitted(db),
		[PAUSED] = db->paused,
		[DISABLED] = db->disabled,
	};

	return values[what];
}

/* An automatic one that nobody uses is not shown. */
static bool is_hidden(const struct database *db)
{
	return db->own != NULL && !db->console && db->clients == 0 &&
	    db->servers == 0;
}

static void put_database(struct metrics *m, const struct family *f,
    const void *item)
{
	const struct database *const db = item;
	const struct label labels[] = { { "database", db->name } };

	if (is_hidden(db))
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

	if (!is_hidden(db))
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
		[MAX_SERVERS] = positive(conf != NULL ?
		    conf->max_user_connections : 0,
		    set->max_user_connections),
		[SERVERS] = uses.servers,
		[MAX_CLIENTS] = positive(conf != NULL ?
		    conf->max_user_client_connections : 0,
		    set->max_user_client_connections),
		[CLIENTS] = uses.clients,
	};

	if (!metrics_is_told(m, u))
		metrics_put(m, labels, 1, values[f->what]);
}

#define DATABASE(name, value, unit, help) \
	{ { "pgsluice_database_" name, METRIC_GAUGE, unit, help }, \
	    OVER_DATABASES, value, put_database, NULL }
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
		    "Servers more, for those who wait for long."),
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
