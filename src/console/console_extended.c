/* console_extended.c - the extended query protocol on the console.
 *
 * A prepared statement is a text, checked; a portal is that text with the values
 * of its parameters.
 * SPDX-License-Identifier: ISC */
#include "console/console_extended.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "console/console_show.h"
#include "proto/msg.h"
#include "proto/type_oid.h"
#include "session/client.h"

static void write_shape(struct console *k, const struct shape *shape)
{
	if (shape->count > 0)
		table_write_description(&k->out, shape);
	else
		console_signal(k, BE_NO_DATA);
}

static int describe_prepared(struct console *k, const char *name,
    struct err *e)
{
	const struct console_prepared *const ps = prepared_find(k, name);

	if (ps == NULL)
		return err_set(e, ERRCODE_UNDEFINED_PSTATEMENT,
		    "prepared statement \"%s\" does not exist", name);
	struct statement *st = prepared_make(k, ps, e);

	if (st == NULL)
		return -1;
	writer_begin(&k->out, BE_PARAMETER_DESCRIPTION);
	writer_u16(&k->out, (uint16_t)ps->params);
	for (unsigned i = 0; i < ps->params; i++)
		writer_u32(&k->out, ps->types[i]);
	writer_end(&k->out);
	write_shape(k, &st->shape);
	statement_free(&st);
	return 0;
}

static int describe_portal(struct console *k, const char *name, struct err *e)
{
	const struct console_portal *const p = portal_find(k, name);

	if (p == NULL)
		return err_set(e, ERRCODE_UNDEFINED_CURSOR,
		    "portal \"%s\" does not exist", name);
	struct statement *st = portal_make(k, p, e);

	if (st == NULL)
		return -1;
	write_shape(k, &st->shape);
	statement_free(&st);
	return 0;
}

void console_describe(struct console *k, struct reader *body)
{
	const uint8_t what = reader_u8(body);
	const char *const name = reader_str(body);
	struct err e;

	if (name == NULL || (what != 'S' && what != 'P')) {
		extended_bad_message(k, "Describe");
		return;
	}
	if ((what == 'S' ? describe_prepared(k, name, &e) :
	    describe_portal(k, name, &e)) < 0)
		extended_refuse(k, &e);
	else
		console_send(k);
}

void console_close(struct console *k, struct reader *body)
{
	const uint8_t what = reader_u8(body);
	const char *const name = reader_str(body);

	if (name == NULL || (what != 'S' && what != 'P')) {
		extended_bad_message(k, "Close");
		return;
	}
	/* a name that nothing has is no error */
	if (what == 'S')
		prepared_drop(k, prepared_find(k, name));
	else
		portal_drop(k, portal_find(k, name));
	console_signal(k, BE_CLOSE_COMPLETE);
	console_send(k);
}

void console_sync(struct console *k)
{
	struct console_portal *const unnamed = portal_find(k, "");

	if (unnamed != NULL && unnamed->done)
		portal_drop(k, unnamed);
	k->extended = k->skipping = false;
	writer_ready(&k->out, 'I');
	console_send(k);
}

void console_fini_extended(struct console *k)
{
	struct console_portal *p, *next;

	console_forget(k, "");
	HASH_ITER(hh, k->portals, p, next)
		portal_drop(k, p);
}

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

#define FORMATS_MAX 128

/* Format codes as Bind has them: none, one for all, or one each. */
struct formats {
	unsigned count;
	uint16_t codes[FORMATS_MAX];
};

static int read_formats(struct reader *body, struct formats *f, struct err *e)
{
	f->count = reader_u16(body);
	if (f->count > FORMATS_MAX)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "too many format codes");
	for (unsigned i = 0; i < f->count; i++) {
		f->codes[i] = reader_u16(body);
		if (!body->failed && f->codes[i] > 1)
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "unsupported format code: %u", f->codes[i]);
	}
	return 0;
}

static bool extended_is_binary(const struct formats *f, size_t i)
{
	if (f->count == 0)
		return false;
	return f->codes[f->count == 1 ? 0 : i] == 1;
}

/* Binary integers, by their size; NULL: it is none. */
static char *integer_text(const uint8_t *p, size_t n)
{
	char buf[32];
	int64_t value;

	if (n == 2)
		value = (int16_t)(p[0] << 8 | p[1]);
	else if (n == 4)
		value = (int32_t)msg_u32(p);
	else if (n == 8)
		value = (int64_t)((uint64_t)msg_u32(p) << 32 | msg_u32(p + 4));
	else
		return NULL;
	snprintf(buf, sizeof buf, "%lld", (long long)value);
	return mem_strdup(buf);
}

struct param_bytes {
	const uint8_t *at;
	uint32_t len;
	uint32_t oid;
	bool binary;
};

static int param_text(const struct param_bytes *pb, char **out, struct err *e)
{
	if (pb->binary && type_is_integer(pb->oid))
		*out = integer_text(pb->at, pb->len);
	else if (pb->binary && !type_is_text(pb->oid))
		return err_set(e, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "parameters of type %u must be text", (unsigned)pb->oid);
	else if (memchr(pb->at, '\0', pb->len) != NULL)
		return err_set(e, ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
		    "a parameter has a zero byte");
	else
		*out = mem_strndup((const char *)pb->at, pb->len);
	return *out != NULL ? 0 : err_set(e,
	    ERRCODE_INVALID_BINARY_REPRESENTATION,
	    "a parameter is no number, or there is no memory");
}

static int extended_read_value(struct reader *body, struct param_bytes *pb,
    char **out, struct err *e)
{
	pb->len = reader_u32(body);
	if (body->failed)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	if (pb->len == UINT32_MAX)
		return err_set(e, ERRCODE_NULL_VALUE_NOT_ALLOWED,
		    "a parameter must not be null");
	pb->at = reader_bytes(body, pb->len);
	if (pb->at == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	return param_text(pb, out, e);
}

static int extended_read_values(struct reader *body,
    const struct console_prepared *ps, struct console_portal *p, struct err *e)
{
	struct formats f;

	if (read_formats(body, &f, e) < 0)
		return -1;
	const unsigned n = reader_u16(body);

	if (n != ps->params || (f.count > 1 && f.count != n))
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bind message "
		    "supplies %u parameters, but prepared statement \"%s\" "
		    "requires %u", n, ps->name, ps->params);
	for (; p->params < n; p->params++) {
		struct param_bytes pb = { .oid = ps->types[p->params],
			.binary = extended_is_binary(&f, p->params) };

		if (extended_read_value(body, &pb, &p->values[p->params], e) <
		    0)
			return -1;
	}
	return 0;
}

static int read_results(struct reader *body, const struct shape *shape,
    struct console_portal *p, struct err *e)
{
	struct formats f;

	if (read_formats(body, &f, e) < 0)
		return -1;
	if (body->failed || reader_left(body) > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid Bind message");
	if (f.count > 1 && f.count != shape->count)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "bind message "
		    "has %u result formats but query has %zu columns", f.count,
		    shape->count);
	for (size_t i = 0; i < shape->count; i++)
		p->binary[i] = extended_is_binary(&f, i);
	return 0;
}

int portal_read(struct console *k, struct console_portal *p,
    const struct console_prepared *ps, struct reader *body)
{
	struct err e;
	struct statement *st = extended_read_values(body, ps, p, &e) < 0 ?
	    NULL : portal_make(k, p, &e);
	const int rc = st == NULL ? -1 :
	    read_results(body, &st->shape, p, &e);

	statement_free(&st);
	if (rc < 0)
		extended_refuse(k, &e);
	return rc;
}

/*
 * There are no transactions, so portals with a name stay until they are closed
 * or replaced: drivers that fetch in pieces believe that they are within one.
 */

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
static void extended_run_again(struct console *k,
    const struct console_portal *p, const struct statement *st)
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
		extended_run_again(k, p, st);
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
