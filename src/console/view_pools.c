/* view_pools.c - SHOW POOLS, PEER_POOLS, WAITS.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <utlist.h>

#include "console/admin.h"
#include "console/view_merge.h"
#include "console/views.h"
#include "login/peer.h"
#include "pool/catalog.h"
#include "pool/wait.h"

#define POOLS(X) \
	X(TEXT, "database", PLAIN, cell_text(p->key.db->name)) \
	X(TEXT, "user", PLAIN, cell_text(p->key.user->name)) \
	X(INT4, "cl_active", PLAIN, cell_number(cl[CLIENT_ACTIVE])) \
	X(INT4, "cl_waiting", PLAIN, \
	    cell_number(cl[CLIENT_WAITING] + cl[CLIENT_WELCOME] + cl[CLIENT_DEDICATED_WAITING])) \
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
	X(TEXT, "wait_reason", EXTENDED, cell_text(reason_of(p, state, c))) \
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

static int pool_row(const struct admin *a, const struct view *v,
    const void *item, struct row_sink *sink)
{
	const struct pool *const p = item;
	const struct catalog *const c = a->ss->catalog;
	const struct config_db *const conf = p->key.db->conf;
	const unsigned *const cl = p->client_count, *const sv = p->server_count;
	usec_t wait;
	const enum client_state state = longest_wait(p, &wait);

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
