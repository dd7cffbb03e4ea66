/* console_prepared.c - prepared statements of the console: texts with names.
 * SPDX-License-Identifier: ISC */
#include "console/console_parts.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "proto/reader.h"

#define PREPARED_MAX 1000

struct console_prepared *prepared_find(struct console *k,
    const char *name)
{
	struct console_prepared *ps = NULL;

	HASH_FIND_STR(k->prepared, name, ps);
	return ps;
}

static void prepared_free(struct console_prepared *ps)
{
	mem_free(ps->name);
	mem_free(ps->query);
	mem_free(ps);
}

void prepared_drop(struct console *k, struct console_prepared *ps)
{
	if (ps == NULL)
		return;
	HASH_DEL(k->prepared, ps);
	prepared_free(ps);
}

void console_forget(struct console *k, const char *name)
{
	struct console_prepared *ps, *next;

	if (name[0] != '\0') {
		prepared_drop(k, prepared_find(k, name));
		return;
	}
	HASH_ITER(hh, k->prepared, ps, next)
		prepared_drop(k, ps);
}

/* What the client says of the types of parameters counts. */
static int read_types(struct reader *body, struct console_prepared *ps)
{
	const unsigned n = reader_u16(body);

	if (n > ADMIN_PARAMS_MAX)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t oid = reader_u32(body);

		if (oid != 0)
			ps->types[i] = oid;
	}
	if (n > ps->params)
		ps->params = n;
	return body->failed || reader_left(body) > 0 ? -1 : 0;
}

struct statement *extended_make(struct console *k,
    const struct statement_source *src, struct err *e)
{
	const struct asker who = console_asker(k);
	const struct statement_source told = { src->query, src->params, &who };
	struct statement *st = statement_new(&told, e);

	if (st != NULL && src->query[st->length] != '\0') {
		err_set(e, ERRCODE_SYNTAX_ERROR, "cannot insert "
		    "multiple commands into a prepared statement");
		statement_free(&st);
	}
	return st;
}

struct statement *prepared_make(struct console *k,
    const struct console_prepared *ps, struct err *e)
{
	static const struct admin_params unknown = { .values = NULL };
	const struct statement_source src = { ps->query, &unknown, NULL };

	return extended_make(k, &src, e);
}

/* In no table yet; NULL: no memory. */
static struct console_prepared *prepared_new(const char *name,
    const char *query)
{
	struct console_prepared *const ps = mem_zalloc(sizeof *ps);

	if (ps == NULL)
		return NULL;
	ps->name = mem_strdup(name);
	ps->query = mem_strdup(query);
	if (ps->name != NULL && ps->query != NULL)
		return ps;
	prepared_free(ps);
	return NULL;
}

static int check_parse(struct console *k, struct console_prepared *ps,
    struct err *e)
{
	if (prepared_find(k, ps->name) != NULL)
		return err_set(e, ERRCODE_DUPLICATE_PSTATEMENT,
		    "prepared statement \"%s\" already exists", ps->name);
	if (HASH_COUNT(k->prepared) >= PREPARED_MAX)
		return err_set(e, ERRCODE_LIMIT_EXCEEDED,
		    "too many prepared statements");
	struct statement *st = prepared_make(k, ps, e);

	if (st == NULL)
		return -1;
	ps->params = st->cmd.params;
	statement_param_types(st, ps->types);
	statement_free(&st);
	return 0;
}

/* Check it and put it into the table. 0, or -1 with e: it is gone. */
static int prepared_add(struct console *k, struct console_prepared *ps,
    struct reader *body, struct err *e)
{
	int rc = check_parse(k, ps, e);

	if (rc == 0 && read_types(body, ps) < 0)
		rc = err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Parse message");
	if (rc == 0) {
		HASH_ADD_KEYPTR(hh, k->prepared, ps->name, strlen(ps->name),
		    ps);
		if (ps->hh.tbl == NULL)
			rc = err_set(e, ERRCODE_OUT_OF_MEMORY, "no mem");
	}
	if (rc < 0)
		prepared_free(ps);
	return rc;
}

void console_parse(struct console *k, struct reader *body)
{
	const char *const name = reader_str(body);
	const char *const query = reader_str(body);
	struct console_prepared *ps;
	struct err e;

	if (name == NULL || query == NULL) {
		extended_bad_message(k, "Parse");
		return;
	}
	if (name[0] == '\0')
		prepared_drop(k, prepared_find(k, name));
	ps = prepared_new(name, query);
	err_set(&e, ERRCODE_OUT_OF_MEMORY, "no mem");
	if (ps == NULL || prepared_add(k, ps, body, &e) < 0) {
		extended_refuse(k, &e);
		return;
	}
	console_signal(k, BE_PARSE_COMPLETE);
	console_send(k);
}
