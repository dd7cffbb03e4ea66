/* view_catalog.c - SHOW DATABASES, USERS, PEERS, POOLS, PEER_POOLS, WAITS.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "conf/require.h"
#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "pool/users.h"
#include "pool/wait.h"

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
static bool view_catalog_is_hidden(const struct database *db)
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
	return view_catalog_is_hidden(db) ?
	    0 : sink->row(sink, VIEW_ROW(DATABASES));
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

static int user_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct known_user *const u = item;
	const struct settings *const set = sessions_settings(a->ss);
	static const struct config_user none = {
		.pool_size = CONFIG_UNSET,
		.reserve_pool_size = CONFIG_UNSET,
		.pool_mode = CONFIG_UNSET,
		.session_state = CONFIG_UNSET,
	};
	const struct config_user *const conf = u->conf != NULL ? u->conf :
	    &none;
	char size[16], reserve[16];

	(void)v;
	return sink->row(sink, VIEW_ROW(USERS));
}

static void users_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct admin *const first = a;
	struct users_walk w;
	struct known_user u;

	users_walk_begin(&w);
	for (; a != NULL && w.count < USERS_CATALOGS; a = a->next)
		users_walk_add(&w, a->ss->catalog);
	while (users_walk_next(&w, &u)) {
		if (user_row(first, v, &u, sink) != 0)
			break;
	}
	users_walk_end(&w);
}

static void peers_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct config *const config = a->ss->catalog->config;

	(void)v;
	for (const struct config_peer *p = config->peers; p != NULL;
	    p = p->next) {
		if (sink->row(sink, VIEW_ROW(PEERS)) != 0)
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
		    .rows = users_rows, .over = VIEW_USERS,
		    .item = user_row, .console = true },
		{ .topic = "PEERS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(peers_columns),
		    .rows = peers_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}

#define POOLS(X) \
	X(TEXT, "database", PLAIN, cell_text(p->key.db->name)) \
	X(TEXT, "user", PLAIN, cell_text(p->key.user->name)) \
	X(INT4, "cl_active", PLAIN, cell_number(cl[CLIENT_ACTIVE])) \
	X(INT4, "cl_waiting", PLAIN, \
	    cell_number(cl[CLIENT_WAITING] + cl[CLIENT_WELCOME] + \
		cl[CLIENT_DEDICATED_WAITING])) \
	X(INT4, "cl_active_cancel_req", PLAIN, \
	    cell_number(cl[CLIENT_CANCEL_SENT])) \
	X(INT4, "cl_waiting_cancel_req", PLAIN, \
	    cell_number(cl[CLIENT_CANCEL_WAITING])) \
	X(INT4, "sv_active", PLAIN, cell_number(sv[SERVER_ACTIVE])) \
	X(INT4, "sv_active_cancel", PLAIN, \
	    cell_number(sv[SERVER_ACTIVE_CANCEL])) \
	X(INT4, "sv_being_canceled", PLAIN, \
	    cell_number(sv[SERVER_BEING_CANCELED])) \
	X(INT4, "sv_idle", PLAIN, cell_number(sv[SERVER_IDLE])) \
	X(INT4, "sv_used", PLAIN, cell_number(sv[SERVER_USED])) \
	X(INT4, "sv_tested", PLAIN, cell_number(sv[SERVER_TESTED])) \
	X(INT4, "sv_login", PLAIN, \
	    cell_number(sv[SERVER_LOGIN] + sv[SERVER_DEDICATED_LOGIN])) \
	X(INT4, "maxwait", PLAIN, cell_number(wait / USEC)) \
	X(INT4, "maxwait_us", PLAIN, cell_number(wait % USEC)) \
	X(TEXT, "pool_mode", PLAIN, \
	    cell_text(option_find("pool_mode")->words[p->limits.mode])) \
	X(TEXT, "load_balance_hosts", PLAIN, \
	    cell_text(view_load_balance(conf))) \
	X(TEXT, "wait_reason", EXTENDED, \
	    cell_text(view_catalog_reason_of(p, state, c))) \
	X(INT8, "wait_us", EXTENDED, cell_number(wait)) \
	X(INT4, "pool_size", EXTENDED, cell_number(p->limits.size)) \
	X(INT4, "reserve_pool_size", EXTENDED, cell_number(p->limits.reserve)) \
	X(INT4, "pinned", EXTENDED, cell_number(p->pinned + p->listeners)) \
	X(INT4, "max_pinned", EXTENDED, cell_number(p->limits.max_pinned))

static const struct column pools_columns[] = { POOLS(VIEW_COLUMN) };

#define WAITS(X) \
	X(TEXT, "database", PLAIN, cell_text(p->key.db->name)) \
	X(TEXT, "user", PLAIN, cell_text(p->key.user->name)) \
	X(TEXT, "wait_reason", PLAIN, cell_text(wait_name(reason))) \
	X(TEXT, "setting", PLAIN, cell_text(wait_setting(reason))) \
	X(INT4, "clients", PLAIN, cell_number(p->client_count[state])) \
	X(INT8, "wait_us", PLAIN, cell_number(head_wait(p, state))) \
	X(INT8, "total_wait_us", PLAIN, cell_number(total)) \
	X(TEXT, "detail", PLAIN, cell_text(why.detail))

static const struct column waits_columns[] = { WAITS(VIEW_COLUMN) };

#define PEER_POOLS(X) \
	X(INT4, "peer_id", PLAIN, cell_number(p->id)) \
	X(INT4, "cl_active_cancel_req", PLAIN, \
	    cell_number(cl[CLIENT_CANCEL_SENT])) \
	X(INT4, "cl_waiting_cancel_req", PLAIN, \
	    cell_number(cl[CLIENT_CANCEL_WAITING])) \
	X(INT4, "sv_active_cancel", PLAIN, \
	    cell_number(sv[SERVER_ACTIVE_CANCEL])) \
	X(INT4, "sv_login", PLAIN, cell_number(sv[SERVER_LOGIN]))

static const struct column peer_pools_columns[] = { PEER_POOLS(VIEW_COLUMN) };

/* States whose members wait for a server; those in login wait as well. */
static const enum client_state waiting[] = { CLIENT_WAITING, CLIENT_WELCOME,
	CLIENT_DEDICATED_WAITING };

static usec_t head_wait(const struct pool *p, enum client_state state)
{
	const struct pool_client *const head = p->clients[state];

	return head == NULL ? 0 : time_now() - head->wait_since;
}

/* The state whose first has waited longest, and how long. */
static enum client_state view_catalog_longest_wait(const struct pool *p,
    usec_t *wait)
{
	enum client_state longest = waiting[0];

	*wait = 0;
	for (size_t i = 0; i < VIEW_COUNT(waiting); i++) {
		const usec_t here = head_wait(p, waiting[i]);

		if (p->clients[waiting[i]] == NULL || here < *wait)
			continue;
		*wait = here;
		longest = waiting[i];
	}
	return longest;
}

static const char *view_catalog_reason_of(const struct pool *p,
    enum client_state state, const struct catalog *c)
{
	return p->client_count[state] == 0 ? NULL :
	    wait_name(wait_reason(p, state, c, time_now()));
}

static int pool_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct pool *const p = item;
	const struct catalog *const c = a->ss->catalog;
	const struct config_db *const conf = p->key.db->conf;
	const unsigned *const cl = p->client_count, *const sv = p->server_count;
	usec_t wait;
	const enum client_state state = view_catalog_longest_wait(p, &wait);

	(void)v;
	return sink->row(sink, VIEW_ROW(POOLS));
}

/* Of each pool. */
static void pools_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	struct view_merge m;
	const struct pool *p;

	view_merge_begin(&m, a, MERGE_WHOLE_POOLS);
	while ((p = view_merge_take(&m)) != NULL) {
		if (v->item(m.a, v, p, sink) != 0)
			break;
	}
	view_merge_end(&m);
}

/* Of all parts that p may have. */
static int64_t total_wait(const struct admin *a, const struct pool *p,
    enum client_state state)
{
	const struct pool_client *pc;
	int64_t total = 0;

	for (a = a->first != NULL ? a->first : a; a != NULL; a = a->next) {
		const struct pool *const part = view_fold_part(a, p);

		if (part == NULL)
			continue;
		DL_FOREACH(part->clients[state], pc)
			total += time_now() - pc->wait_since;
	}
	return total;
}

static int state_row(const struct admin *a, const struct pool *p,
    enum client_state state, struct row_sink *sink)
{
	const enum wait_reason reason = wait_reason(p, state, a->ss->catalog,
	    time_now());
	const int64_t total = total_wait(a, p, state);
	struct wait_text why;

	if (p->client_count[state] == 0)
		return 0;
	wait_explain(p, reason, &why);
	return sink->row(sink, VIEW_ROW(WAITS));
}

static int waits_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	(void)v;
	for (size_t i = 0; i < VIEW_COUNT(waiting); i++) {
		if (state_row(a, item, waiting[i], sink) != 0)
			return -1;
	}
	return 0;
}

static void peer_pools_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	peer_sort(a->ss);
	for (const struct peer *p = a->ss->peers; p != NULL;
	    p = p->hh.next) {
		const unsigned *const cl = p->pool.client_count;
		const unsigned *const sv = p->pool.server_count;

		if (sink->row(sink, VIEW_ROW(PEER_POOLS)) != 0)
			return;
	}
}

struct view_group view_group_pools(void)
{
	static const struct view views[] = {
		{ .topic = "POOLS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(pools_columns),
		    .rows = pools_rows, .over = VIEW_POOLS, .item = pool_row },
		{ .topic = "PEER_POOLS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(peer_pools_columns),
		    .rows = peer_pools_rows, .over = VIEW_WHOLE },
		{ .topic = "WAITS", .spread = VIEW_FIRST,
		    VIEW_COLUMNS(waits_columns),
		    .rows = pools_rows, .over = VIEW_POOLS,
		    .item = waits_row },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
