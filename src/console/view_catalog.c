/* view_catalog.c - SHOW DATABASES, USERS, PEERS.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "conf/session_attrs.h"
#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "pool/catalog.h"
#include "pool/users.h"

#define DATABASES(X) \
	X(TEXT, "name", PLAIN, cell_text(db->name)) \
	X(TEXT, "host", PLAIN, cell_text(conf->host)) \
	X(INT4, "port", PLAIN, cell_number(conf->port)) \
	X(TEXT, "database", PLAIN, cell_text(conf->dbname)) \
	X(TEXT, "force_user", PLAIN, cell_text(conf->user)) \
	X(INT4, "pool_size", PLAIN, \
	    cell_given(conf->pool_size, set->default_pool_size)) \
	X(INT4, "min_pool_size", PLAIN, \
	    cell_given(conf->min_pool_size, set->min_pool_size)) \
	X(INT4, "reserve_pool_size", PLAIN, \
	    cell_given(conf->reserve_pool_size, set->reserve_pool_size)) \
	X(INT4, "server_lifetime", PLAIN, \
	    cell_positive(conf->server_lifetime / USEC, set->server_lifetime / USEC)) \
	X(TEXT, "pool_mode", PLAIN, cell_pool_mode(conf->pool_mode)) \
	X(TEXT, "load_balance_hosts", PLAIN, \
	    cell_text(view_load_balance(conf))) \
	X(INT4, "max_connections", PLAIN, \
	    cell_positive(conf->max_db_connections, set->max_db_connections)) \
	X(INT4, "current_connections", PLAIN, cell_number(db->servers)) \
	X(INT4, "max_client_connections", PLAIN, \
	    cell_positive(conf->max_db_client_connections, set->max_db_client_connections)) \
	X(INT4, "current_client_connections", PLAIN, cell_number(database_admitted(db))) \
	X(INT4, "paused", PLAIN, cell_number(db->paused)) \
	X(INT4, "disabled", PLAIN, cell_number(db->disabled)) \
	X(TEXT, "target_session_attrs", EXTENDED, \
	    cell_text(session_attrs_word( \
	    (enum session_attrs)conf->target_session_attrs)))

static const struct column databases_columns[] = { DATABASES(VIEW_COLUMN) };

#define USERS(X) \
	X(TEXT, "name", PLAIN, cell_text(u->name)) \
	X(TEXT, "pool_size", PLAIN, cell_padded(conf, conf->pool_size, size)) \
	X(TEXT, "reserve_pool_size", PLAIN, \
	    cell_padded(conf, conf->reserve_pool_size, reserve)) \
	X(TEXT, "pool_mode", PLAIN, cell_pool_mode(conf->pool_mode)) \
	X(INT4, "max_user_connections", PLAIN, \
	    cell_positive(conf->max_user_connections, set->max_user_connections)) \
	X(INT4, "current_connections", PLAIN, \
	    cell_number(u->servers)) \
	X(INT4, "max_user_client_connections", PLAIN, \
	    cell_positive(conf->max_user_client_connections, set->max_user_client_connections)) \
	X(INT4, "current_client_connections", PLAIN, \
	    cell_number(u->clients))

static const struct column users_columns[] = { USERS(VIEW_COLUMN) };

#define PEERS(X) \
	X(INT4, "peer_id", PLAIN, cell_number(p->id)) \
	X(TEXT, "host", PLAIN, cell_text(p->host)) \
	X(INT4, "port", PLAIN, cell_number(p->port)) \
	X(INT4, "pool_size", PLAIN, \
	    cell_given(p->pool_size, config->set.default_pool_size))

static const struct column peers_columns[] = { PEERS(VIEW_COLUMN) };

static struct cell cell_given(int own, int global)
{
	return cell_number(own != CONFIG_UNSET ? own : global);
}

static struct cell cell_positive(int64_t own, int64_t global)
{
	return cell_number(own > 0 ? own : global);
}

static struct cell cell_pool_mode(int mode)
{
	return cell_text(mode == CONFIG_UNSET ? NULL :
	    option_find("pool_mode")->words[mode]);
}

const char *view_load_balance(const struct config_db *conf)
{
	static const char *const words[] = {
		[LB_ROUND_ROBIN] = "round-robin",
		[LB_DISABLE] = "disable",
	};

	if (conf->host == NULL || strchr(conf->host, ',') == NULL)
		return NULL;
	return words[conf->load_balance_hosts];
}

/* An automatic database that nobody uses. */
static bool is_hidden(const struct database *db)
{
	return db->own != NULL && !db->console && db->clients == 0 &&
	    db->servers == 0;
}

static int database_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct database *const db = item;
	const struct config_db *const conf = db->conf;
	const struct settings *const set = sessions_settings(a->ss);

	(void)v;
	return is_hidden(db) ? 0 : sink->row(sink, VIEW_ROW(DATABASES));
}

static void databases_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct view_merge m;
	const struct database *db;

	view_merge_begin(&m, a, MERGE_DATABASES);
	while ((db = view_merge_take(&m)) != NULL) {
		if (database_row(m.a, v, db, sink) != 0)
			break;
	}
	view_merge_end(&m);
}

/* The reference pads the settings of a user. */
static struct cell cell_padded(const struct config_user *conf, int own,
    char buf[16])
{
	if (conf == NULL || own == CONFIG_UNSET)
		return cell_text("");
	snprintf(buf, 16, "%9d", own);
	return cell_text(buf);
}

struct users_walk {
	const struct settings *set;
	struct row_sink *sink;
};

static int user_row(void *arg, const struct known_user *u)
{
	const struct users_walk *const w = arg;
	const struct settings *const set = w->set;
	static const struct config_user none = {
		.pool_size = CONFIG_UNSET,
		.reserve_pool_size = CONFIG_UNSET,
		.pool_mode = CONFIG_UNSET,
		.session_state = CONFIG_UNSET,
	};
	const struct config_user *const conf = u->conf != NULL ? u->conf :
	    &none;
	char size[16], reserve[16];

	return w->sink->row(w->sink, VIEW_ROW(USERS));
}

static void users_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct users_walk walk = {
		.set = sessions_settings(a->ss), .sink = sink };
	struct catalog *all[USERS_CATALOGS];
	size_t n = 0;

	(void)v;
	for (; a != NULL && n < USERS_CATALOGS; a = a->next)
		all[n++] = a->ss->catalog;
	(void)users_each(all, n, user_row, (void *)(uintptr_t)&walk);
}

/* The one with the lowest id above last; NULL: none is left. */
static const struct config_peer *next_peer(const struct config *config,
    int64_t last)
{
	const struct config_peer *best = NULL;

	for (const struct config_peer *p = config->peers; p != NULL;
	    p = p->next) {
		if (p->id > last && (best == NULL || p->id < best->id))
			best = p;
	}
	return best;
}

static void peers_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct config *const config = a->ss->catalog->config;
	int64_t last = INT64_MIN;

	(void)v;
	for (const struct config_peer *p; (p = next_peer(config, last)) != NULL;
	    last = p->id) {
		const int rc = sink->row(sink, VIEW_ROW(PEERS));

		if (rc != 0)
			return;
	}
}

struct view_group view_group_catalog(void)
{
	static const struct view views[] = {
		{ .topic = "DATABASES", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(databases_columns),
		    .rows = databases_rows, .over = VIEW_DATABASES,
		    .item = database_row },
		{ .topic = "USERS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(users_columns),
		    .rows = users_rows },
		{ .topic = "PEERS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(peers_columns),
		    .rows = peers_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
