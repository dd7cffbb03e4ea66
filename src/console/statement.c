/* statement.c - a query text of the console, understood.
 * SPDX-License-Identifier: ISC */
#include "console/statement.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/options.h"
#include "conf/words.h"
#include "console/command.h"
#include "console/mistyped.h"

static void offer_topics(struct nearest *n)
{
	const struct view *v;

	for (size_t i = 0; (v = view_at(i)) != NULL; i++)
		nearest_offer(n, v->topic);
}

/* The topic or command that was probably meant, in buf; NULL: none is near. */
static const char *meant(const struct admin_command *cmd, char *buf,
    size_t size)
{
	const bool shows = text_casecmp(cmd->verb, "SHOW") == 0;
	const char *const word = shows ? cmd->arg : cmd->verb;
	char upper[sizeof cmd->arg];
	struct nearest n;
	size_t i = 0;

	for (; word[i] != '\0' && i < sizeof upper - 1; i++)
		upper[i] = word[i] >= 'a' && word[i] <= 'z' ?
		    (char)(word[i] - 'a' + 'A') : word[i];
	upper[i] = '\0';
	nearest_init(&n, upper);
	if (shows)
		offer_topics(&n);
	else
		command_near(&n);
	if (n.best == NULL || strcmp(n.best, upper) == 0)
		return NULL;
	snprintf(buf, size, "%s%s", shows ? "SHOW " : "", n.best);
	return buf;
}

static int statement_invalid(const struct statement *st, const char *query,
    struct err *e)
{
	char buf[128];

	return mistyped(query, meant(&st->cmd, buf, sizeof buf), e);
}

static int make_answer(struct statement *st,
    const struct statement_source *src, struct err *e)
{
	const bool blank = src->query[strspn(src->query, " \t\r\n")] == '\0';

	st->length = driver_query_find(src->query, src->who, &st->answer);
	/* an empty Query is an error, an empty Parse is not */
	if (blank ? src->params == NULL : st->length == 0)
		return statement_invalid(st, src->query, e);
	st->kind = st->answer.tag == NULL ? STATEMENT_EMPTY : STATEMENT_DRIVER_QUERY;
	st->shape = (struct shape){ .columns = st->answer.columns,
		.count = st->answer.count };
	st->cmd.params = lex_params(src->query);
	return 0;
}

static struct shape json_shape(void)
{
	static const struct column columns[] = { { "json", COL_JSON, SHAPE_PLAIN } };

	return (struct shape){ .columns = columns, .count = 1 };
}

static int make_show(struct statement *st, const struct asker *who,
    struct err *e)
{
	const struct selection_source src = { view_find(st->cmd.arg),
		&st->cmd.show, column_plain(who->version) };

	st->kind = STATEMENT_SHOW;
	if (selection_make(&st->show, &src, e) < 0)
		return -1;
	if (st->cmd.show.json)
		st->shape = json_shape();
	else
		st->shape = (struct shape){ .columns = st->show.columns,
			.count = st->show.count };
	return 0;
}

static bool is_plain_help(const struct admin_command *cmd)
{
	const struct show_query *const q = &cmd->show;

	return text_casecmp(cmd->arg, "HELP") == 0 && !q->json &&
	    q->column_count == 0 && q->where_count == 0 &&
	    q->order[0] == '\0' && q->limit < 0;
}

/* A setting of ours is one; of PostgreSQL's, SET is only said to be done. */
static bool is_foreign_set(const struct admin_command *cmd,
    const struct asker *who)
{
	return cmd->is_set && !cmd->persist && option_find(cmd->arg) == NULL &&
	    driver_query_setting(cmd->arg, who) != NULL;
}

int statement_make(struct statement *st, const struct statement_source *src,
    struct err *e)
{
	const enum admin_parse_result parsed = admin_parse(src->query,
	    src->params, &st->cmd);

	st->shape = (struct shape){ .count = 0 };
	st->length = strlen(src->query);
	if (parsed == ADMIN_PARSE_TOO_LONG && command_find(&st->cmd) != NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bad arguments");
	st->row = parsed != ADMIN_PARSE_OK ? NULL : command_find(&st->cmd);
	if (st->row == NULL || is_foreign_set(&st->cmd, src->who)) {
		if (make_answer(st, src, e) == 0)
			return 0;
		return parsed == ADMIN_PARSE_TOO_LONG ? err_set(e,
		    ERRCODE_PROTOCOL_VIOLATION, "bad arguments") : -1;
	}
	st->kind = STATEMENT_COMMAND;
	if (!st->row->shows)
		return 0;
	if (is_plain_help(&st->cmd)) {
		st->kind = STATEMENT_HELP;
		return 0;
	}
	return view_find(st->cmd.arg) != NULL ? make_show(st, src->who, e) :
	    make_answer(st, src, e);
}

struct statement *statement_new(const struct statement_source *src,
    struct err *e)
{
	struct statement *st = mem_alloc(sizeof *st);

	if (st == NULL)
		err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
	else if (statement_make(st, src, e) < 0)
		statement_free(&st);
	return st;
}

void statement_free(struct statement **st)
{
	mem_free(*st);
	*st = NULL;
}

static bool is_number(const struct statement *st, size_t test)
{
	return column_is_number(st->show.view->columns[
	    st->show.tests[test].column].type);
}

const char *statement_tag(const struct statement *st)
{
	if (st->kind == STATEMENT_DRIVER_QUERY)
		return st->answer.tag;
	return st->kind == STATEMENT_COMMAND ? st->row->name : "SHOW";
}

void statement_param_types(const struct statement *st,
    uint32_t oids[ADMIN_PARAMS_MAX])
{
	const struct show_query *const q = &st->cmd.show;

	for (unsigned i = 0; i < ADMIN_PARAMS_MAX; i++)
		oids[i] = table_type_oid(COL_TEXT);
	if (st->kind != STATEMENT_SHOW)
		return;
	for (size_t i = 0; i < q->where_count; i++) {
		if (q->where[i].param != 0 && is_number(st, i))
			oids[q->where[i].param - 1] = table_type_oid(COL_INT8);
	}
	if (q->limit_param != 0)
		oids[q->limit_param - 1] = table_type_oid(COL_INT8);
}
