/* view_pools.c - SHOW POOLS, PEER_POOLS.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "app/app.h"
#include "app/views.h"
#include "pool/catalog.h"
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
};

static const struct column peer_pools_columns[] = {
	COLUMN_I4("peer_id"),
	COLUMN_I4("cl_active_cancel_req"),
	COLUMN_I4("cl_waiting_cancel_req"),
	COLUMN_I4("sv_active_cancel"),
	COLUMN_I4("sv_login"),
};

/* How long the first of the queue has waited; those in login wait as well. */
static usec_t longest_wait(const struct pool *p)
{
	static const enum client_state waiting[] = { CLIENT_WAITING,
		CLIENT_WELCOME, CLIENT_OWN_WAITING };
	usec_t longest = 0;

	for (size_t i = 0; i < VIEW_COUNT(waiting); i++) {
		const struct pool_client *const head = p->clients[waiting[i]];
		const usec_t wait = head == NULL ? 0 :
		    time_now() - head->wait_since;

		if (wait > longest)
			longest = wait;
	}
	return longest;
}

static int pool_row(const struct pool *p, struct row_sink *sink)
{
	const struct config_db *const conf = p->key.db->conf;
	const unsigned *const cl = p->client_count, *const sv = p->server_count;
	const usec_t wait = longest_wait(p);

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
	});
}

static void pools_rows(struct app *app, const struct view *v,
    struct row_sink *sink)
{
	(void)v;
	catalog_sort(app->catalog);
	for (const struct pool *p = app->catalog->pools; p != NULL;
	    p = p->hh.next) {
		if (pool_row(p, sink) != 0)
			return;
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
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
