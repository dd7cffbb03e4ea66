/* view_catalog.c - SHOW DATABASES, USERS, PEERS.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "app/app.h"
#include "app/views.h"
#include "pool/catalog.h"
#include "pool/users.h"

static const struct column databases_columns[] = {
	COLUMN_T("name"),
	COLUMN_T("host"),
	COLUMN_I4("port"),
	COLUMN_T("database"),
	COLUMN_T("force_user"),
	COLUMN_I4("pool_size"),
	COLUMN_I4("min_pool_size"),
	COLUMN_I4("reserve_pool_size"),
	COLUMN_I4("server_lifetime"),
	COLUMN_T("pool_mode"),
	COLUMN_T("load_balance_hosts"),
	COLUMN_I4("max_connections"),
	COLUMN_I4("current_connections"),
	COLUMN_I4("max_client_connections"),
	COLUMN_I4("current_client_connections"),
	COLUMN_I4("paused"),
	COLUMN_I4("disabled"),
};

static const struct column users_columns[] = {
	COLUMN_T("name"),
	COLUMN_T("pool_size"),
	COLUMN_T("reserve_pool_size"),
	COLUMN_T("pool_mode"),
	COLUMN_I4("max_user_connections"),
	COLUMN_I4("current_connections"),
	COLUMN_I4("max_user_client_connections"),
	COLUMN_I4("current_client_connections"),
};

static const struct column peers_columns[] = {
	COLUMN_I4("peer_id"),
	COLUMN_T("host"),
	COLUMN_I4("port"),
	COLUMN_I4("pool_size"),
};

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

static int database_row(const struct database *db, const struct settings *set,
    struct row_sink *sink)
{
	const struct config_db *const conf = db->conf;

	return sink->row(sink, (const struct cell[]){
		cell_text(db->name),
		cell_text(conf->host),
		cell_number(conf->port),
		cell_text(conf->dbname),
		cell_text(conf->user),
		cell_given(conf->pool_size, set->default_pool_size),
		cell_given(conf->min_pool_size, set->min_pool_size),
		cell_given(conf->reserve_pool_size, set->reserve_pool_size),
		cell_positive(conf->server_lifetime / USEC,
		    set->server_lifetime / USEC),
		cell_pool_mode(conf->pool_mode),
		cell_text(view_load_balance(conf)),
		cell_positive(conf->max_db_connections,
		    set->max_db_connections),
		cell_number(db->servers),
		cell_positive(conf->max_db_client_connections,
		    set->max_db_client_connections),
		cell_number(db->clients),
		cell_number(db->paused),
		cell_number(db->disabled),
	});
}

/* An automatic database that nobody uses. */
static bool is_hidden(const struct database *db)
{
	return db->own != NULL && !db->console && db->clients == 0 &&
	    db->servers == 0;
}

static void databases_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	catalog_sort(app->catalog);
	for (const struct database *db = app->catalog->databases; db != NULL;
	    db = db->hh.next) {
		if (is_hidden(db))
			continue;
		if (database_row(db, &app->config->set, sink) != 0)
			return;
	}
}

/* The reference pads what a user has of his own. */
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
	};
	const struct config_user *const conf = u->conf != NULL ? u->conf :
	    &none;
	char size[16], reserve[16];

	return w->sink->row(w->sink, (const struct cell[]){
		cell_text(u->name),
		cell_padded(conf, conf->pool_size, size),
		cell_padded(conf, conf->reserve_pool_size, reserve),
		cell_pool_mode(conf->pool_mode),
		cell_positive(conf->max_user_connections,
		    set->max_user_connections),
		cell_number(u->used != NULL ? u->used->servers : 0),
		cell_positive(conf->max_user_client_connections,
		    set->max_user_client_connections),
		cell_number(u->used != NULL ? u->used->clients : 0),
	});
}

static void users_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	(void)users_each(app->catalog, user_row, &(struct users_walk){
		.set = &app->config->set, .sink = sink });
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

static void peers_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	const struct config *const config = app->config;
	int64_t last = INT64_MIN;

	(void)v;
	for (const struct config_peer *p; (p = next_peer(config, last)) != NULL;
	    last = p->id) {
		const int rc = sink->row(sink, (const struct cell[]){
			cell_number(p->id),
			cell_text(p->host),
			cell_number(p->port),
			cell_given(p->pool_size,
			    config->set.default_pool_size),
		});

		if (rc != 0)
			return;
	}
}

struct view_group view_group_catalog(void)
{
	static const struct view views[] = {
		{ .topic = "DATABASES", VIEW_COLUMNS(databases_columns),
		    .rows = databases_rows },
		{ .topic = "USERS", VIEW_COLUMNS(users_columns),
		    .rows = users_rows },
		{ .topic = "PEERS", VIEW_COLUMNS(peers_columns),
		    .rows = peers_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
