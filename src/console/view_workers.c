/* view_workers.c - SHOW WORKERS.
 * SPDX-License-Identifier: ISC */
#include "console/admin.h"
#include "console/views.h"
#include "pool/catalog.h"

#define WORKERS(X) \
	X(INT4, "worker", PLAIN, cell_number(ss->worker)) \
	X(INT4, "databases", PLAIN, cell_number(HASH_COUNT(c->databases))) \
	X(INT4, "pools", PLAIN, cell_number(HASH_COUNT(c->pools))) \
	X(INT4, "clients", PLAIN, cell_number(c->clients)) \
	X(INT4, "login_clients", PLAIN, cell_number(ss->logins)) \
	X(INT4, "servers", PLAIN, cell_number(ss->servers)) \
	X(INT4, "load_percent", PLAIN, load->known ? \
	    cell_number(load->percent) : cell_text(NULL)) \
	X(INT8, "longest_turn_us", PLAIN, load->known ? \
	    cell_number(load->longest) : cell_text(NULL)) \
	X(INT8, "servers_in", PLAIN, cell_number(ss->servers_in)) \
	X(INT8, "servers_out", PLAIN, cell_number(ss->servers_out)) \
	X(INT8, "clients_in", PLAIN, cell_number(ss->clients_in)) \
	X(INT8, "clients_out", PLAIN, cell_number(ss->clients_out))

static const struct column workers_columns[] = { WORKERS(VIEW_COLUMN) };

static void workers_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	const struct sessions *const ss = a->ss;
	const struct admin_load *const load = &a->load;
	struct catalog *const c = ss->catalog;

	(void)v;
	(void)sink->row(sink, VIEW_ROW(WORKERS));
}

struct view_group view_group_workers(void)
{
	static const struct view views[] = {
		{ .topic = "WORKERS", VIEW_COLUMNS(workers_columns),
		    .rows = workers_rows, .over = VIEW_WHOLE },
	};

	return (struct view_group){ views, VIEW_COUNT(views) };
}
