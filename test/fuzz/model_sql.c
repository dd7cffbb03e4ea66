/* model_sql.c - as much of PostgreSQL as sessions are made of, in memory.
 * SPDX-License-Identifier: ISC */
#include "model_sql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/msg.h"
#include "sql/sql.h"

#define CAP (64 << 20)
#define STREAM_ROWS 3

void backend_init(struct backend *b, const char *initial)
{
	*b = (struct backend){ .status = 'I', .initial = initial };
	writer_init(&b->in, CAP);
	writer_init(&b->out, CAP);
	snprintf(b->zone, sizeof b->zone, "%s", initial);
	memcpy(b->told, b->zone, sizeof b->told);
	memcpy(b->begun, b->zone, sizeof b->begun);
}

void backend_fini(struct backend *b)
{
	writer_fini(&b->in);
	writer_fini(&b->out);
}

/* The first n bytes of w go. */
static void drop(struct writer *w, size_t n)
{
	memmove(w->at, w->at + n, w->len - n);
	w->len -= n;
}

void backend_fetched(struct backend *b, size_t n)
{
	drop(&b->out, n);
}

/* --- replies --- */

static void say(struct backend *b, char type)
{
	writer_begin(&b->out, type);
	writer_end(&b->out);
}

static void say_text(struct backend *b, char type, const char *text)
{
	writer_begin(&b->out, type);
	writer_str(&b->out, text);
	writer_end(&b->out);
}

static void say_row(struct backend *b, const char *value)
{
	writer_begin(&b->out, BE_DATA_ROW);
	writer_u16(&b->out, 1);
	writer_u32(&b->out, (uint32_t)strlen(value));
	writer_bytes(&b->out, value, strlen(value));
	writer_end(&b->out);
}

static void say_columns(struct backend *b, const char *text)
{
	if (strncasecmp(text, "s", 1) != 0 || strncasecmp(text, "set", 3) == 0) {
		say(b, BE_NO_DATA);
		return;
	}
	writer_begin(&b->out, BE_ROW_DESCRIPTION);
	writer_u16(&b->out, 1);
	writer_str(&b->out, text);
	writer_bytes(&b->out, "\0\0\0\0\0\0\0\0\0\31\377\377\377\377\377\377"
	    "\0\0", 18);
	writer_end(&b->out);
}

static void say_parameter(struct backend *b)
{
	if (strcmp(b->told, b->zone) == 0)
		return;
	memcpy(b->told, b->zone, sizeof b->told);
	writer_parameter_status(&b->out, "TimeZone", b->zone);
}

static void set_zone(struct backend *b, const char *value)
{
	char mine[BACKEND_TEXT];

	snprintf(mine, sizeof mine, "%s", value);
	memcpy(b->zone, mine, sizeof mine);
}

/* Always false. Outside of a block the transaction ends at once. */
static bool fail(struct backend *b, const char *code, const char *text)
{
	writer_begin(&b->out, BE_ERROR_RESPONSE);
	writer_bytes(&b->out, "SERROR", 7);
	writer_bytes(&b->out, "VERROR", 7);
	writer_u8(&b->out, 'C');
	writer_str(&b->out, code);
	writer_u8(&b->out, 'M');
	writer_str(&b->out, text);
	writer_u8(&b->out, 0);
	writer_end(&b->out);
	if (b->status == 'I')
		set_zone(b, b->begun);
	else
		b->status = 'E';
	b->has_portal = false;
	return false;
}

static bool fail_name(struct backend *b, const char *code, const char *name,
    const char *rest)
{
	char text[256];

	snprintf(text, sizeof text, "prepared statement \"%s\" %s", name, rest);
	return fail(b, code, text);
}

/* What is done so far stays. */
static void end_transaction(struct backend *b)
{
	if (b->status != 'I')
		return;
	memcpy(b->begun, b->zone, sizeof b->begun);
	b->has_portal = false;
}

static void ready(struct backend *b)
{
	const uint8_t status = (uint8_t)b->status;

	end_transaction(b);
	say_parameter(b);
	writer_begin(&b->out, BE_READY_FOR_QUERY);
	writer_u8(&b->out, status);
	writer_end(&b->out);
}

/* --- statements --- */

static int find(const struct backend *b, const char *name)
{
	for (unsigned i = 0; i < b->count; i++)
		if (strcmp(b->statements[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void forget(struct backend *b, int i)
{
	b->statements[i] = b->statements[--b->count];
}

/* The text of a statement, or NULL and an error. */
static const char *text_of(struct backend *b, const char *name)
{
	const int i = find(b, name);

	if (name[0] == '\0' && b->has_unnamed)
		return b->unnamed;
	if (i >= 0)
		return b->statements[i].text;
	if (name[0] == '\0')
		fail(b, "26000", "unnamed prepared statement does not exist");
	else
		fail_name(b, "26000", name, "does not exist");
	return NULL;
}

static bool ends_block(const char *text)
{
	return text[0] == '\0' || strcasecmp(text, "commit") == 0 ||
	    strcasecmp(text, "rollback") == 0;
}

static bool is_refused(struct backend *b, const char *text)
{
	if (b->status != 'E' || ends_block(text))
		return false;
	fail(b, "25P02", "current transaction is aborted");
	return true;
}

static bool do_begin(struct backend *b, const char *text)
{
	(void)text;
	if (b->status == 'I')
		b->status = 'T';
	say_text(b, BE_COMMAND_COMPLETE, "BEGIN");
	return true;
}

static bool do_end(struct backend *b, const char *text)
{
	const bool keeps = strcasecmp(text, "commit") == 0 && b->status != 'E';

	if (!keeps)
		set_zone(b, b->begun);
	b->status = 'I';
	end_transaction(b);
	say_text(b, BE_COMMAND_COMPLETE, keeps ? "COMMIT" : "ROLLBACK");
	return true;
}

static bool do_discard(struct backend *b, const char *text)
{
	(void)text;
	if (b->status != 'I')
		return fail(b, "25001", "DISCARD ALL cannot run inside a "
		    "transaction block");
	b->count = 0;
	b->has_unnamed = false;
	set_zone(b, b->initial);
	say_text(b, BE_COMMAND_COMPLETE, "DISCARD ALL");
	return true;
}

static bool do_deallocate(struct backend *b, const char *text)
{
	char name[SQL_NAME_MAX];

	if (!sql_deallocates(text, strlen(text) + 1, name)) {
		b->count = 0;
		say_text(b, BE_COMMAND_COMPLETE, "DEALLOCATE ALL");
		return true;
	}
	const int i = find(b, name);

	if (i < 0)
		return fail_name(b, "26000", name, "does not exist");
	forget(b, i);
	say_text(b, BE_COMMAND_COMPLETE, "DEALLOCATE");
	return true;
}

static bool do_set(struct backend *b, const char *text)
{
	char value[BACKEND_TEXT] = "";

	/* SET TimeZone='value' */
	sscanf(text, "%*[^']'%60[^']'", value);
	set_zone(b, value);
	say_text(b, BE_COMMAND_COMPLETE, "SET");
	return true;
}

static bool do_reset(struct backend *b, const char *text)
{
	(void)text;
	set_zone(b, b->initial);
	say_text(b, BE_COMMAND_COMPLETE, "RESET");
	return true;
}

static bool do_show(struct backend *b, const char *text)
{
	(void)text;
	say_row(b, b->zone);
	say_text(b, BE_COMMAND_COMPLETE, "SHOW");
	return true;
}

static bool do_select(struct backend *b, const char *text)
{
	say_row(b, text);
	say_text(b, BE_COMMAND_COMPLETE, "SELECT 1");
	return true;
}

/* Some rows at a time. */
static bool do_stream(struct backend *b, const char *text)
{
	char tag[32];
	unsigned n = 0;

	while (b->row < STREAM_ROWS && (b->limit == 0 || n < b->limit)) {
		say_row(b, text);
		b->row++;
		n++;
	}
	if (b->limit > 0 && n == b->limit) {
		say(b, BE_PORTAL_SUSPENDED);
		return true;
	}
	snprintf(tag, sizeof tag, "SELECT %u", n);
	say_text(b, BE_COMMAND_COMPLETE, tag);
	return true;
}

static void say_copy(struct backend *b, char type)
{
	writer_begin(&b->out, type);
	writer_bytes(&b->out, "\0\0\0", 3);
	writer_end(&b->out);
}

static bool do_copy_out(struct backend *b, const char *text)
{
	say_copy(b, BE_COPY_OUT_RESPONSE);
	for (int i = 0; i < 2; i++)
		say_text(b, BE_COPY_DATA, text);
	say(b, BE_COPY_DONE);
	say_text(b, BE_COMMAND_COMPLETE, "COPY 2");
	return true;
}

/* Whoever began it says that it goes on. */
static bool do_copy_in(struct backend *b, const char *text)
{
	(void)text;
	say_copy(b, BE_COPY_IN_RESPONSE);
	b->has_portal = false;
	b->copy = FE_EXECUTE;
	b->copied = 0;
	return true;
}

/* It is refused before it has read anything, as that into a view. */
static bool do_copy_view(struct backend *b, const char *text)
{
	(void)text;
	say_copy(b, BE_COPY_IN_RESPONSE);
	return fail(b, "55000", "cannot copy to view");
}

static bool do_fail(struct backend *b, const char *text)
{
	(void)text;
	return fail(b, "22012", "division by zero");
}

static const struct {
	const char *word;
	bool (*run)(struct backend *b, const char *text);
} verbs[] = {
	{ "begin", do_begin }, { "commit", do_end }, { "rollback", do_end },
	{ "discard", do_discard }, { "deallocate", do_deallocate },
	{ "set", do_set }, { "reset", do_reset }, { "show", do_show },
	{ "select", do_select }, { "fail", do_fail },
	{ "stream", do_stream }, { "copy out", do_copy_out },
	{ "copy in", do_copy_in }, { "copy view", do_copy_view },
};

static bool run(struct backend *b, const char *text)
{
	if (text[0] == '\0') {
		say(b, BE_EMPTY_QUERY_RESPONSE);
		return true;
	}
	if (is_refused(b, text))
		return false;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strncasecmp(text, verbs[i].word,
		    strlen(verbs[i].word)) == 0)
			return verbs[i].run(b, text);
	assert(!"a statement that nobody has sent");
	return false;
}

/* --- requests --- */

static bool on_query(struct backend *b, struct reader *r)
{
	char text[BACKEND_TEXT];

	snprintf(text, sizeof text, "%s", reader_str(r));
	b->has_unnamed = b->has_portal = false;
	/* the pooler ends its own with a semicolon */
	if (text[0] != '\0' && text[strlen(text) - 1] == ';')
		text[strlen(text) - 1] = '\0';
	if (text[0] == 's' && strncmp(text, "show", 4) == 0)
		say_columns(b, text);
	b->row = b->limit = 0;
	(void)run(b, text);
	if (b->copy != 0)
		b->copy = FE_QUERY;
	else
		ready(b);
	return true;
}

static bool on_parse(struct backend *b, struct reader *r)
{
	const char *name = reader_str(r), *text = reader_str(r);

	if (is_refused(b, text))
		return false;
	if (name[0] == '\0') {
		snprintf(b->unnamed, sizeof b->unnamed, "%s", text);
		b->has_unnamed = true;
	} else if (find(b, name) >= 0) {
		return fail_name(b, "42P05", name, "already exists");
	} else {
		assert(b->count < BACKEND_NAMES);
		snprintf(b->statements[b->count].name, BACKEND_TEXT, "%s",
		    name);
		snprintf(b->statements[b->count++].text, BACKEND_TEXT, "%s",
		    text);
	}
	say(b, BE_PARSE_COMPLETE);
	return true;
}

static bool on_bind(struct backend *b, struct reader *r)
{
	const char *portal = reader_str(r), *name = reader_str(r);
	const char *text = text_of(b, name);

	assert(portal[0] == '\0');
	if (text == NULL || is_refused(b, text))
		return false;
	memcpy(b->portal, text, sizeof b->portal);
	b->has_portal = true;
	b->row = 0;
	say(b, BE_BIND_COMPLETE);
	return true;
}

static bool on_describe(struct backend *b, struct reader *r)
{
	const char kind = (char)reader_u8(r);
	const char *name = reader_str(r);

	if (kind == 'P' && !b->has_portal)
		return fail(b, "34000", "portal does not exist");
	const char *text = kind == 'P' ? b->portal : text_of(b, name);

	if (text == NULL || is_refused(b, text))
		return false;
	if (kind == 'S') {
		writer_begin(&b->out, BE_PARAMETER_DESCRIPTION);
		writer_u16(&b->out, 0);
		writer_end(&b->out);
	}
	say_columns(b, text);
	return true;
}

static bool on_execute(struct backend *b, struct reader *r)
{
	char text[BACKEND_TEXT];

	(void)reader_str(r);
	b->limit = reader_u32(r);
	if (!b->has_portal)
		return fail(b, "34000", "portal does not exist");
	memcpy(text, b->portal, sizeof text);
	return run(b, text);
}

static bool on_close(struct backend *b, struct reader *r)
{
	const char kind = (char)reader_u8(r);
	const char *name = reader_str(r);
	const int i = find(b, name);

	if (kind == 'S' && name[0] == '\0')
		b->has_unnamed = false;
	else if (kind == 'S' && i >= 0)
		forget(b, i);
	else if (kind == 'P')
		b->has_portal = false;
	say(b, BE_CLOSE_COMPLETE);
	return true;
}

static bool on_sync(struct backend *b, struct reader *r)
{
	(void)r;
	b->skips = false;
	ready(b);
	return true;
}

static bool on_flush(struct backend *b, struct reader *r)
{
	(void)b;
	(void)r;
	return true;
}

static bool on_function_call(struct backend *b, struct reader *r)
{
	(void)r;
	if (!is_refused(b, "a function")) {
		writer_begin(&b->out, BE_FUNCTION_CALL_RESPONSE);
		writer_u32(&b->out, UINT32_MAX);
		writer_end(&b->out);
	}
	ready(b);
	return true;
}

/* What comes of a COPY outside of it counts for nothing. */
static bool on_stray(struct backend *b, struct reader *r)
{
	(void)b;
	(void)r;
	return true;
}

static bool (*const handlers[256])(struct backend *b, struct reader *r) = {
	[FE_QUERY] = on_query, [FE_PARSE] = on_parse, [FE_BIND] = on_bind,
	[FE_DESCRIBE] = on_describe, [FE_EXECUTE] = on_execute,
	[FE_CLOSE] = on_close, [FE_SYNC] = on_sync, [FE_FLUSH] = on_flush,
	[FE_FUNCTION_CALL] = on_function_call, [FE_COPY_DATA] = on_stray,
	[FE_COPY_DONE] = on_stray, [FE_COPY_FAIL] = on_stray,
};

/* In a COPY, where Sync and Flush count for nothing. */
static void copy(struct backend *b, char type)
{
	const char request = b->copy;
	char tag[32];

	if (type == FE_COPY_DATA)
		b->copied++;
	if (type == FE_COPY_DATA || type == FE_SYNC || type == FE_FLUSH)
		return;
	b->copy = 0;
	if (type == FE_COPY_DONE) {
		snprintf(tag, sizeof tag, "COPY %u", b->copied);
		say_text(b, BE_COMMAND_COMPLETE, tag);
	} else {
		assert(type == FE_COPY_FAIL);
		b->skips = request == FE_EXECUTE;
		fail(b, "57014", "COPY from stdin failed");
	}
	if (request == FE_QUERY)
		ready(b);
}

static void handle(struct backend *b, const uint8_t *m, size_t size)
{
	struct reader r;

	assert(handlers[m[0]] != NULL);
	if (b->copy != 0) {
		copy(b, (char)m[0]);
		return;
	}
	if (b->skips && m[0] != FE_SYNC)
		return;
	reader_init(&r, m + MSG_HEADER, size - MSG_HEADER);
	if (!handlers[m[0]](b, &r))
		b->skips = true;
	assert(!r.failed && !b->out.failed);
}

void backend_take(struct backend *b, const void *p, size_t n)
{
	writer_bytes(&b->in, p, n);
	for (;;) {
		const size_t size = b->in.len < MSG_HEADER ? 0 :
		    msg_size(b->in.at, 1 << 20);

		/* a Terminate is the end of it all */
		if (b->in.len > 0 && b->in.at[0] == FE_TERMINATE)
			return;
		assert(b->in.len < MSG_HEADER || size > 0);
		if (size == 0 || size > b->in.len)
			return;
		handle(b, b->in.at, size);
		drop(&b->in, size);
	}
}
