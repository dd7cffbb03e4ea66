/* view_pools.c - SHOW POOLS, PEER_POOLS, WAITS.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/views.h"
#include "pool/catalog.h"
#include "pool/wait.h"
#include "session/peer.h"

static const struct column pools_columns[] = {
	COLUMN_T("database"),
	COLUMN_T("user"),
	COLUMN_I4("cl_active"),
	COLUMN_I4("cl_waiting"),
	COLUMN_I4("cl_active_cancel_req"),
	COLUMN_I4("cl_waiting_cancel_req"),
	COLUMN_I4("sv_active"),
	COLUMN_I4("sv_active_cancel"),
	COLUMN_I4("sv_being_canceled"),
	COLUMN_I4("sv_idle"),
	COLUMN_I4("sv_used"),
	COLUMN_I4("sv_tested"),
	COLUMN_I4("sv_login"),
	COLUMN_I4("maxwait"),
	COLUMN_I4("maxwait_us"),
	COLUMN_T("pool_mode"),
	COLUMN_T("load_balance_hosts"),
	/* ours */
	COLUMN_T("wait_reason"),
	COLUMN_I8("wait_us"),
};

static const struct column waits_columns[] = {
	COLUMN_T("database"),
	COLUMN_T("user"),
	COLUMN_T("wait_reason"),
	COLUMN_T("setting"),
	COLUMN_I4("clients"),
	COLUMN_I8("wait_us"),
	COLUMN_I8("total_wait_us"),
	COLUMN_T("detail"),
};

static const struct column peer_pools_columns[] = {
	COLUMN_I4("peer_id"),
	COLUMN_I4("cl_active_cancel_req"),
	COLUMN_I4("cl_waiting_cancel_req"),
	COLUMN_I4("sv_active_cancel"),
	COLUMN_I4("sv_login"),
};

/* States whose members wait for a server; those in login wait as well. */
static const enum client_state waiting[] = { CLIENT_WAITING, CLIENT_WELCOME,
	CLIENT_OWN_WAITING };

static usec_t head_wait(const struct pool *p, enum client_state state)
{
	const struct pool_client *const head = p->clients[state];

	return head == NULL ? 0 : time_now() - head->wait_since;
}

/* The state whose first has waited longest, and how long. */
static enum client_state longest_wait(const struct pool *p, usec_t *wait)
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

static const char *reason_of(const struct pool *p, enum client_state state,
    const struct catalog *c)
{
	return p->client_count[state] == 0 ? NULL :
	    wait_name(wait_reason(p, state, c, time_now()));
}

static int pool_row(const struct pool *p, const struct catalog *c,
    struct row_sink *sink)
{
	const struct config_db *const conf = p->key.db->conf;
	const unsigned *const cl = p->client_count, *const sv = p->server_count;
	usec_t wait;
	const enum client_state state = longest_wait(p, &wait);

	return sink->row(sink, (const struct cell[]){
		cell_text(p->key.db->name),
		cell_text(p->key.user->name),
		cell_number(cl[CLIENT_ACTIVE]),
		cell_number(cl[CLIENT_WAITING] + cl[CLIENT_WELCOME] +
		    cl[CLIENT_OWN_WAITING]),
		cell_number(cl[CLIENT_CANCEL_SENT]),
		cell_number(cl[CLIENT_CANCEL_WAITING]),
		cell_number(sv[SERVER_ACTIVE]),
		cell_number(sv[SERVER_ACTIVE_CANCEL]),
		cell_number(sv[SERVER_BEING_CANCELED]),
		cell_number(sv[SERVER_IDLE]),
		cell_number(sv[SERVER_USED]),
		cell_number(sv[SERVER_TESTED]),
		cell_number(sv[SERVER_LOGIN] + sv[SERVER_OWN_LOGIN]),
		cell_number(wait / USEC),
		cell_number(wait % USEC),
		cell_text(option_find("pool_mode")->words[p->limits.mode]),
		cell_text(view_load_balance(conf)),
		cell_text(reason_of(p, state, c)),
		cell_number(wait),
	});
}

static void pools_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	catalog_sort(app->catalog);
	for (const struct pool *p = app->catalog->pools; p != NULL;
	    p = p->hh.next) {
		if (pool_row(p, app->catalog, sink) != 0)
			return;
	}
}

static int waits_row(const struct pool *p, enum client_state state,
    const struct catalog *c, struct row_sink *sink)
{
	const enum wait_reason reason = wait_reason(p, state, c, time_now());
	const struct pool_client *pc;
	struct wait_text why;
	int64_t total = 0;

	if (p->client_count[state] == 0)
		return 0;
	DL_FOREACH(p->clients[state], pc)
		total += time_now() - pc->wait_since;
	wait_explain(p, reason, &why);
	return sink->row(sink, (const struct cell[]){
		cell_text(p->key.db->name),
		cell_text(p->key.user->name),
		cell_text(wait_name(reason)),
		cell_text(wait_setting(reason)),
		cell_number(p->client_count[state]),
		cell_number(head_wait(p, state)),
		cell_number(total),
		cell_text(why.detail),
	});
}

static void waits_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	catalog_sort(app->catalog);
	for (const struct pool *p = app->catalog->pools; p != NULL;
	    p = p->hh.next) {
		for (size_t i = 0; i < VIEW_COUNT(waiting); i++) {
			if (waits_row(p, waiting[i], app->catalog, sink) != 0)
				return;
		}
	}
}

static void peer_pools_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	peer_sort(&app->ss);
	for (const struct peer *p = app->ss.peers; p != NULL;
	    p = p->hh.next) {
		const unsigned *const cl = p->pool.client_count;
		const unsigned *const sv = p->pool.server_count;

		if (sink->row(sink, (const struct cell[]){
			cell_number(p->id),
			cell_number(cl[CLIENT_CANCEL_SENT]),
			cell_number(cl[CLIENT_CANCEL_WAITING]),
			cell_number(sv[SERVER_ACTIVE_CANCEL]),
			cell_number(sv[SERVER_LOGIN]),
		    }) != 0)
			return;
	}
}

struct view_group view_group_pools(void)
{
	static const struct view views[] = {
		{ .topic = "POOLS", VIEW_COLUMNS(pools_columns),
		    .rows = pools_rows },
		{ .topic = "PEER_POOLS", VIEW_COLUMNS(peer_pools_columns),
		    .rows = peer_pools_rows },
		{ .topic = "WAITS", VIEW_COLUMNS(waits_columns),
		    .rows = waits_rows },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
