/* console_portal.c - portals of the console: statements with values.
 *
 * There are no transactions, so portals with a name stay until they are closed
 * or replaced: drivers that fetch in pieces believe that they are within one.
 * SPDX-License-Identifier: ISC */
#include "console/console_parts.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "console/console_show.h"
#include "proto/msg.h"
#include "proto/reader.h"
#include "session/client.h"

#define PORTALS_MAX 16
#define PORTAL_BYTES ((size_t)64 << 20)	/* of the rows of one */

struct console_portal *portal_find(struct console *k, const char *name)
{
	struct console_portal *p = NULL;

	HASH_FIND_STR(k->portals, name, p);
	return p;
}

void portal_free(struct console_portal *p)
{
	for (unsigned i = 0; i < p->params; i++)
		mem_free(p->values[i]);
	rowset_fini(&p->rows);
	mem_free(p->name);
	mem_free(p->query);
	mem_free(p);
}

void portal_drop(struct console *k, struct console_portal *p)
{
	if (p == NULL)
		return;
	HASH_DEL(k->portals, p);
	portal_free(p);
}

void console_forget_portal(struct console *k)
{
	portal_drop(k, portal_find(k, ""));
}

/* The statement of a portal, with its values. */
struct statement *portal_make(struct console *k,
    const struct console_portal *p, struct err *e)
{
	const struct admin_params params = {
		.values = (const char *const *)p->values,
		.count = p->params,
	};
	const struct statement_source src = { p->query, &params, NULL };
	struct statement *const st = extended_make(k, &src, e);

	if (st != NULL)
		st->shape.binary = p->binary;
	return st;
}

/* --- Bind --- */

/* One without values; NULL: refused. */
static struct console_portal *new_portal(struct console *k, const char *name,
    const struct console_prepared *ps)
{
	struct console_portal *const p = mem_zalloc(sizeof *p);
	struct err e;

	portal_drop(k, portal_find(k, name));
	if (p != NULL && HASH_COUNT(k->portals) < PORTALS_MAX) {
		p->name = mem_strdup(name);
		p->query = mem_strdup(ps->query);
		if (p->name != NULL && p->query != NULL)
			return p;
	}
	if (p != NULL)
		portal_free(p);
	err_set(&e, ERRCODE_LIMIT_EXCEEDED, "too many portals");
	extended_refuse(k, &e);
	return NULL;
}

void console_bind(struct console *k, struct reader *body)
{
	const char *const portal = reader_str(body);
	const char *const name = reader_str(body);
	const struct console_prepared *const ps = name == NULL ? NULL :
	    prepared_find(k, name);
	struct err e;

	if (name == NULL) {
		extended_bad_message(k, "Bind");
		return;
	}
	if (ps == NULL) {
		err_set(&e, ERRCODE_UNDEFINED_PSTATEMENT,
		    "prepared statement \"%s\" does not exist", name);
		extended_refuse(k, &e);
		return;
	}
	struct console_portal *const p = new_portal(k, portal, ps);

	if (p == NULL)
		return;
	if (portal_read(k, p, ps, body) < 0) {
		portal_free(p);
		return;
	}
	HASH_ADD_KEYPTR(hh, k->portals, p->name, strlen(p->name), p);
	if (p->hh.tbl == NULL) {
		portal_free(p);
		err_set(&e, ERRCODE_OUT_OF_MEMORY, "no mem");
		extended_refuse(k, &e);
		return;
	}
	console_signal(k, BE_BIND_COMPLETE);
	console_send(k);
}

/* --- Execute --- */

/* At most limit of the rows that are kept; 0 = all. */
static void send_kept(struct console *k, struct console_portal *p,
    const struct shape *shape, uint32_t limit)
{
	struct console_sink to;

	console_sink_init(&to, k, shape);
	for (uint32_t n = 0; p->next < p->rows.count &&
	    (limit == 0 || n < limit) && !to.failed; n++)
		to.sink.row(&to.sink, rowset_at(&p->rows, p->next++));
	p->done = p->next == p->rows.count;
}

/* The first of several pieces: all rows are made, and kept. */
static int keep_rows(struct console *k, struct console_portal *p,
    const struct statement *st, struct err *e)
{
	rowset_init(&p->rows, st->shape.count, PORTAL_BYTES);
	if (console_rows(k, st, &p->rows.sink, e) < 0)
		return -1;
	if (p->rows.failed)
		return err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
	p->started = true;
	return 0;
}

static int send_piece(struct console *k, struct console_portal *p,
    const struct statement *st, uint32_t limit)
{
	struct err e;

	if (!p->started && keep_rows(k, p, st, &e) < 0) {
		p->done = true;
		console_error(k, &e);
		return -1;
	}
	send_kept(k, p, &st->shape, limit);
	if (p->done)
		console_complete(k, statement_tag(st));
	else
		console_signal(k, BE_PORTAL_SUSPENDED);
	return 0;
}

/* All at once. */
static void run_whole(struct console *k, struct statement **given)
{
	const struct statement *const st = *given;
	struct client *const c = k->client;
	struct console_sink to;

	if (console_show_begin(k, given))
		return;
	console_sink_init(&to, k, &st->shape);
	console_run(k, st, &to.sink);
	/* a message may have been cut short */
	if (c->console != NULL && to.failed)
		k->out.failed = true;
}

/* A portal that is through gives no more rows; a command runs once. */
static void run_again(struct console *k, const struct console_portal *p,
    const struct statement *st)
{
	struct err e;

	if (st->shape.count > 0) {
		console_complete(k, statement_tag(st));
		return;
	}
	err_set(&e, ERRCODE_WRONG_STATE, "portal \"%s\" cannot be run",
	    p->name);
	console_error(k, &e);
}

static void run_portal(struct console *k, struct console_portal *p,
    struct statement **given, uint32_t limit)
{
	const struct statement *const st = *given;

	if (p->done) {
		run_again(k, p, st);
	} else if (st->shape.count > 0 && (limit > 0 || p->started)) {
		(void)send_piece(k, p, st, limit);
	} else {
		p->done = true;
		run_whole(k, given);
	}
}

void console_execute(struct console *k, struct reader *body)
{
	const char *const name = reader_str(body);
	const uint32_t limit = reader_u32(body);
	struct console_portal *const p = name == NULL ? NULL :
	    portal_find(k, name);
	struct client *const c = k->client;
	struct statement *st = NULL;
	struct err e;

	if (body->failed || reader_left(body) > 0) {
		extended_bad_message(k, "Execute");
		return;
	}
	k->extended = true;
	if (p == NULL) {
		err_set(&e, ERRCODE_UNDEFINED_CURSOR,
		    "portal \"%s\" does not exist", name);
		console_error(k, &e);
	} else if ((st = portal_make(k, p, &e)) == NULL) {
		console_error(k, &e);
	} else {
		run_portal(k, p, &st, limit > INT32_MAX ? 0 : limit);
	}
	statement_free(&st);
	if (c->console != NULL && c->console->wait != CONSOLE_SHOW)
		console_send(k);
}
