/* console_show.c - a SHOW of many rows, which is written bit by bit.
 *
 * While a console is busy with everything that there is, the loop serves nobody
 * else: so a turn has a slice of it, and waits for a client that does not read.
 * Other workers stand still for each slice, and go on in between; the walk has its
 * places in lists of theirs, so that it is left takes a hold, too.
 * SPDX-License-Identifier: ISC */
#include "console/console_show.h"

#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "console/admin.h"
#include "console/console.h"
#include "console/statement.h"
#include "console/table.h"
#include "console/view_walk.h"
#include "session/client.h"

#define AT_ONCE 100		/* so many pools, clients ... are one answer */
#define SLICE (USEC / 1000)	/* of a turn */

/* What the next slice is of. */
enum part {
	SHOW_WALK,			/* all there is */
	SHOW_ORDER,			/* ORDER BY: rows to be sorted */
	SHOW_KEPT,			/* rows that were sorted */
};

struct console_show {
	struct console_show *prev, *next;	/* in admin->late */
	struct statement *st;		/* owned */
	enum part part;
	struct console_sink to;
	struct view_walk walk;
	struct selection_filter all;	/* ORDER BY: what comes into rows */
	struct selection_filter out;	/* what the client gets */
	struct selection_array array;	/* ... as JSON */
	struct rowset rows;		/* to be brought in order */
	size_t at;			/* the next of rows */
};

static bool is_ordered(const struct console_show *w)
{
	return w->st->show.order >= 0;
}

/* Others' lists are looked at, and changed. 0, or -1 with e. */
static int console_show_hold(const struct admin *a, struct err *e)
{
	return a->next == NULL ? 0 : a->ops->hold(a->app, e);
}

static void console_show_let_go(const struct admin *a)
{
	if (a->next != NULL)
		a->ops->let_go(a->app);
}

/* Whether it does, for an answer at once, is said by that if it can't be told. */
static bool suits(const struct console *k, const struct statement *st)
{
	const struct selection *const s = &st->show;
	struct err e;

	if (st->kind != STATEMENT_SHOW || k->more || s->view->admin ||
	    s->limit == 0 || s->view->item == NULL ||
	    console_show_hold(k->admin, &e) < 0)
		return false;
	const bool is_long = view_walk_is_long(k->admin, s->view, AT_ONCE);

	console_show_let_go(k->admin);
	return is_long;
}

bool console_show_begin(struct console *k, struct statement **st)
{
	struct console_show *const w = !suits(k, *st) ? NULL :
	    mem_zalloc(sizeof *w);

	if (w == NULL)
		return false;
	const struct selection *const s = &(*st)->show;

	w->st = *st;
	*st = NULL;
	console_sink_init(&w->to, k, &w->st->shape);
	selection_array_init(&w->array, s);
	selection_filter_init(&w->out, s, w->st->cmd.show.json ?
	    &w->array.sink : &w->to.sink);
	if (is_ordered(w))
		selection_order_init(&w->all, s, &w->rows);
	view_walk_begin(&w->walk, k->admin, s->view);
	k->show = w;
	k->wait = CONSOLE_SHOW;
	console_show_go_on(k);
	return true;
}

/* The walk is over, or its end is for a hold that lasts. */
static void show_free(struct console_show *w)
{
	view_walk_end(&w->walk);
	selection_array_fini(&w->array);
	rowset_fini(&w->rows);
	statement_free(&w->st);
	mem_free(w);
}

void console_show_end_late(struct admin *a)
{
	struct console_show *w, *next;
	struct err e;

	if (a->late == NULL || console_show_hold(a, &e) < 0)
		return;
	DL_FOREACH_SAFE(a->late, w, next)
		show_free(w);
	a->late = NULL;
	console_show_let_go(a);
}

void console_show_drop(struct console *k)
{
	struct console_show *const w = k->show;

	if (w == NULL)
		return;
	k->show = NULL;
	if (w->part != SHOW_WALK) {
		show_free(w);
		return;
	}
	DL_APPEND(k->admin->late, w);
	console_show_end_late(k->admin);
}

static bool has_failed(const struct console_show *w)
{
	return w->to.failed || w->array.w.failed || w->rows.failed;
}

static bool walk_on(struct console_show *w)
{
	if (view_walk_next(&w->walk, is_ordered(w) ? &w->all.sink :
	    &w->out.sink))
		return true;
	view_walk_end(&w->walk);
	w->part = SHOW_ORDER;
	return is_ordered(w);
}

static bool order(struct console_show *w)
{
	selection_order(&w->st->show, &w->rows);
	w->part = SHOW_KEPT;
	return true;
}

static bool emit_kept(struct console_show *w)
{
	return w->at < w->rows.count &&
	    selection_emit(&w->out, rowset_at(&w->rows, w->at++)) == 0;
}

/* As much as a turn may have, of one part. False: that is all. */
static bool go_on(struct console_show *w, const struct stream *to)
{
	static bool (*const steps[])(struct console_show *w) = {
		[SHOW_WALK] = walk_on,
		[SHOW_ORDER] = order,
		[SHOW_KEPT] = emit_kept,
	};
	const enum part part = w->part;
	const usec_t begin = time_precise();

	do {
		if (!steps[part](w) || has_failed(w))
			return false;
	} while (w->part == part && !stream_is_blocked(to) &&
	    time_precise() - begin < SLICE);
	return true;
}

static void console_show_end(struct console *k)
{
	struct console_show *const w = k->show;
	struct err e;

	if (w->st->cmd.show.json && !has_failed(w))
		(void)selection_array_emit(&w->array, &w->to.sink);
	if (has_failed(w)) {
		/* a message that was cut short must not leave */
		writer_fini(&k->out);
		err_set(&e, ERRCODE_OUT_OF_MEMORY, "result prepare failed");
		console_error(k, &e);
	} else {
		console_complete(k, statement_tag(w->st));
	}
	console_show_drop(k);
	console_go_on(k);
}

/* A worker hangs: what came before is told, and that it is not all. */
static void console_show_fail(struct console *k, const struct err *e)
{
	console_show_drop(k);
	console_error(k, e);
	console_go_on(k);
}

void console_show_go_on(struct console *k)
{
	struct console_show *const w = k->show;
	struct client *const c = k->client;
	const bool walks = w->part == SHOW_WALK;
	struct err e;

	if (stream_is_blocked(&c->stream))
		return;
	if (walks && console_show_hold(k->admin, &e) < 0) {
		console_show_fail(k, &e);
		return;
	}
	const bool more = go_on(w, &c->stream);

	if (walks)
		console_show_let_go(k->admin);
	if (!more) {
		console_show_end(k);
		return;
	}
	console_send(k);
	if (c->console != NULL && !stream_is_blocked(&c->stream)) {
		stream_reread(&c->stream);
		stream_yield(&c->stream);
	}
}
