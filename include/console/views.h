/* views.h - what SHOW can show, a group of views a file.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEWS_H
#define CONSOLE_VIEWS_H

#include <stddef.h>
#include <stdint.h>

#include "console/table.h"

struct admin;
struct config_db;

struct view_group {
	const struct view *views;
	size_t count;
};

struct view_group view_group_catalog(void);	/* view_catalog.c */
struct view_group view_group_counters(void);	/* view_process.c */
struct view_group view_group_dns(void);		/* view_process.c */
struct view_group view_group_fds(void);		/* view_fds.c */
struct view_group view_group_latencies(void);	/* view_stats.c */
struct view_group view_group_pools(void);	/* view_catalog.c */
struct view_group view_group_process(void);	/* view_process.c */
struct view_group view_group_sockets(void);	/* view_sockets.c */
struct view_group view_group_stats(void);	/* view_stats.c */
struct view_group view_group_workers(void);	/* view_process.c */

/*
 * The columns of a view are a macro that is given one of these, and lists rows
 * X(TYPE, name, shape, cell): what a column is stands in one place. The cell is
 * an expression of what the function knows that makes the row.
 */
#define VIEW_COLUMN(kind, column, from, cell) \
	{ .name = column, .type = COL_##kind, .shape = SHAPE_##from },
#define VIEW_CELL(kind, column, from, cell) cell,

/* The cells of a row, for a sink. */
#define VIEW_ROW(list) ((const struct cell[]){ list(VIEW_CELL) })

#define VIEW_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The columns of a view, and how many: initialisers of struct view. */
#define VIEW_COLUMNS(array) .columns = (array), .column_count = VIEW_COUNT(array)

/*
 * The load_balance_hosts of conf, as SHOW says it; NULL where it does not
 * count.
 */
const char *view_load_balance(const struct config_db *conf);

/* The id of a client or server as its int4 column shows it. */
static inline int64_t view_id(uint64_t id)
{
	return (int64_t)(id & INT32_MAX);
}

#endif
