/* console_show.c - a SHOW of many rows, which is written bit by bit.
 *
 * While a console is busy with everything that there is, the loop serves nobody
 * else: so a turn has a slice of it, and waits for a client that does not read.
 * SPDX-License-Identifier: ISC */
#include "console/console_show.h"

#include "base/err.h"
#include "base/mem.h"
#include "console/admin.h"
#include "console/console.h"
#include "console/rowset.h"
#include "console/statement.h"
#include "console/view_walk.h"
#include "session/client.h"

#define AT_ONCE 100		/* so many pools, clients ... are one answer */
#define SLICE (USEC / 1000)	/* of a turn */

struct console_show {
	struct statement *st;		/* owned */
	struct console_sink to;
	struct view_walk walk;
	struct selection_filter all;	/* ORDER BY: what comes into rows */
	struct selection_filter out;	/* what the client gets */
	struct selection_array array;	/* ... as JSON */
	struct rowset rows;		/* to be brought in order */
	size_t next;			/* of rows */
	bool walked;			/* over all there is */
};

static bool is_ordered(const struct console_show *w)
{
	return w->st->show.order >= 0;
}

/* Several workers would have to stand still, each time for a bit. */
static bool suits(const struct console *k, const struct statement *st)
{
	const struct selection *const s = &st->show;

	return st->kind == STATEMENT_SHOW && k->admin->next == NULL &&
	    !k->more && !s->view->admin && s->limit != 0 &&
	    view_walk_is_long(k->admin, s->view, AT_ONCE);
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

void console_show_drop(struct console *k)
{
	struct console_show *const w = k->show;

	if (w == NULL)
		return;
	k->show = NULL;
	view_walk_end(&w->walk);
	selection_array_fini(&w->array);
	rowset_fini(&w->rows);
	statement_free(&w->st);
	mem_free(w);
}

static bool has_failed(const struct console_show *w)
{
	return w->to.failed || w->array.w.failed || w->rows.failed;
}

/* The rows of one pool, client ..., or one that was kept. False: that is all. */
static bool next(struct console_show *w)
{
	if (w->walked)
		return w->next < w->rows.count && selection_emit(&w->out,
		    rowset_at(&w->rows, w->next++)) == 0;
	if (view_walk_next(&w->walk, is_ordered(w) ? &w->all.sink :
	    &w->out.sink))
		return true;
	view_walk_end(&w->walk);
	w->walked = true;
	if (is_ordered(w))
		selection_order(&w->st->show, &w->rows);
	return w->rows.count > 0;
}

static void end(struct console *k)
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

void console_show_go_on(struct console *k)
{
	struct console_show *const w = k->show;
	struct client *const c = k->client;
	const usec_t begin = time_precise();

	while (!stream_is_blocked(&c->stream)) {
		if (!next(w) || has_failed(w)) {
			end(k);
			return;
		}
		if (time_precise() - begin >= SLICE)
			break;
	}
	console_send(k);
	if (c->console != NULL && !stream_is_blocked(&c->stream)) {
		stream_reread(&c->stream);
		stream_yield(&c->stream);
	}
}
