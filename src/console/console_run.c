/* console_run.c - a console's statements, run: commands, views, answers.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "console/admin.h"
#include "console/command.h"
#include "console/console.h"
#include "console/console_show.h"
#include "console/mistyped.h"
#include "console/statement.h"
#include "console/view_fds.h"
#include "proto/params.h"
#include "session/client.h"

static int show_rows(const struct console *k, const struct statement *st,
    struct row_sink *sink)
{
	return st->cmd.show.json ? selection_json(&st->show, k->admin, sink) :
	    selection_rows(&st->show, k->admin, sink);
}

/* The workers stand still meanwhile. */
static int show_workers(const struct console *k, const struct statement *st,
    struct row_sink *sink, struct err *e)
{
	const struct admin *const a = k->admin;

	if (a->ops->hold(a->app, e) < 0)
		return -1;
	const int rc = show_rows(k, st, sink);

	a->ops->let_go(a->app);
	return rc == 0 ? 0 : err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
}

int console_rows(struct console *k, const struct statement *st,
    struct row_sink *sink, struct err *e)
{
	if (st->kind == STATEMENT_DRIVER_QUERY) {
		driver_query_rows(&st->answer, sink);
		return 0;
	}
	if (st->show.view->admin)
		command_log_access(k->client);
	if (st->show.view->admin && !k->client->admin)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "admin access needed");
	if (k->admin->next != NULL)
		return show_workers(k, st, sink, e);
	return show_rows(k, st, sink) == 0 ? 0 :
	    err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
}

static enum command_result send_help(struct console *k)
{
	char buf[4096];
	struct text t;

	text_init(&t, buf, sizeof buf);
	command_help(&t);
	console_notice(k, "Console usage", buf);
	return COMMAND_DONE;
}

static enum command_result send_answer(struct console *k,
    const struct driver_query *a)
{
	if (a->notice != NULL)
		console_notice(k, a->notice, NULL);
	if (a->forget != NULL)
		console_forget(k, a->forget);
	return COMMAND_DONE;
}

static enum command_result run(struct console *k, const struct statement *st,
    struct row_sink *sink, struct err *e)
{
	if (st->shape.count > 0)
		return console_rows(k, st, sink, e) == 0 ? COMMAND_DONE :
		    COMMAND_FAILED;
	switch (st->kind) {
	case STATEMENT_HELP:
		return send_help(k);
	case STATEMENT_DRIVER_QUERY:
		return send_answer(k, &st->answer);
	case STATEMENT_EMPTY:
		console_nothing(k);
		return COMMAND_REPLIED;
	case STATEMENT_COMMAND:
	case STATEMENT_SHOW:
		break;
	}
	return command_run(st->row, k, &st->cmd, e);
}

void console_run(struct console *k, const struct statement *st,
    struct row_sink *sink)
{
	struct client *const c = k->client;
	struct err e = { .text = "" };
	const enum command_result result = run(k, st, sink, &e);

	if (c->console == NULL)		/* the client killed itself */
		return;
	switch (result) {
	case COMMAND_DONE:
		console_complete(k, statement_tag(st));
		break;
	case COMMAND_FAILED:
		console_error(k, &e);
		break;
	case COMMAND_WAITS:
	case COMMAND_REPLIED:
		break;
	}
}

/* --- a Query --- */

/* SHOW FDS, for a process that goes on with our sockets. */
static void pass_fds(struct console *k, const struct statement *st)
{
	const struct admin *const a = k->admin;
	const bool several = a->next != NULL;
	struct err e;

	command_log_access(k->client);
	if (several && a->ops->hold(a->app, &e) < 0) {
		console_error(k, &e);
		return;
	}
	if (fds_pass(k, st->show.view, &e) == 0)
		console_complete(k, statement_tag(st));
	else
		client_close_cause(k->client,
		    close_cause_err(CLOSE_FDS_NOT_PASSED, &e));
	if (several)
		a->ops->let_go(a->app);
}

/* Description, rows and all; what goes on for a while takes the statement. */
static void run_simple(struct console *k, struct statement **given)
{
	const struct statement *const st = *given;
	struct console_sink to;
	struct err e;

	if (st->kind == STATEMENT_SHOW && !st->cmd.show.json &&
	    fds_may_pass(k->client, &st->show)) {
		pass_fds(k, st);
		return;
	}
	if (st->shape.count > 0)
		table_write_description(&k->out, &st->shape);
	if (console_show_begin(k, given))
		return;
	console_sink_init(&to, k, &st->shape);
	console_run(k, st, &to.sink);
	if (!to.failed)
		return;
	/* a message that was cut short must not leave */
	writer_fini(&k->out);
	err_set(&e, ERRCODE_OUT_OF_MEMORY, "result prepare failed");
	console_error(k, &e);
}

/* How many bytes of query, from its start on, are what drivers send. */
static size_t answered(const char *query, const struct asker *who,
    struct driver_query *space)
{
	const char *at = query;
	size_t n = 1;

	while (*at != '\0' && n > 0) {
		n = driver_query_find(at, who, space);
		at += n;
	}
	return (size_t)(at - query);
}

/* Only what drivers send may follow a first statement. 0, or -1 with e. */
static int check_rest(const char *query, size_t length,
    const struct asker *who, struct err *e)
{
	const char *const rest = query + length;

	if (*rest == '\0')
		return 0;
	struct driver_query *const space = mem_alloc(sizeof *space);

	if (space == NULL)
		return err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
	const bool all = rest[answered(rest, who, space)] == '\0';

	mem_free(space);
	return all ? 0 : mistyped(query, NULL, e);
}

/* Run st and what follows it; only the last reply is "ready". */
static void run_all(struct console *k, struct statement **st,
    const struct statement_source *src)
{
	struct client *const c = k->client;
	struct statement_source at = *src;
	struct err e;

	do {
		at.query += (*st)->length;
		k->more = *at.query != '\0';
		run_simple(k, st);
	} while (c->console != NULL && k->more &&
	    statement_make(*st, &at, &e) == 0);
}

void console_query(struct console *k, const char *query)
{
	const struct asker who = console_asker(k);
	const struct statement_source src = { query, NULL, &who };
	struct client *const c = k->client;
	struct statement *st;
	struct err e;

	console_forget_portal(k);
	st = statement_new(&src, &e);
	if (st == NULL || check_rest(query, st->length, &who, &e) < 0)
		console_error(k, &e);
	else
		run_all(k, &st, &src);
	statement_free(&st);
	if (c->console != NULL && c->console->wait != CONSOLE_SHOW)
		console_send(k);
}
