/* driver_query.c - what drivers ask any PostgreSQL about itself, and what we say.
 * SPDX-License-Identifier: ISC */
#include "console/driver_query.h"

#include <string.h>

#include "base/text.h"
#include "console/driver_query_parts.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- one spelling for all --- */

/* Where a comment that starts at s ends; s itself if none does. */
static const char *skip_comment(const char *s)
{
	if (strncmp(s, "--", 2) == 0)
		return s + strcspn(s, "\n");
	if (strncmp(s, "/*", 2) != 0)
		return s;
	const char *const end = strstr(s + 2, "*/");

	return end != NULL ? end + 2 : s + strlen(s);
}

/* Copy what is in quotes as it is, both quotes too. */
static const char *copy_quoted(const char *s, struct text *out)
{
	const char *const end = strchr(s + 1, *s);
	const size_t n = end != NULL ? (size_t)(end - s) + 1 : strlen(s);

	text_add_bytes(out, s, n);
	return s + n;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *copy_one(const char *s, struct text *out)
{
	const char lower = *s >= 'A' && *s <= 'Z' ? (char)(*s | 0x20) : *s;

	if (*s == '\'' || *s == '"')
		return copy_quoted(s, out);
	text_add_bytes(out, &lower, 1);
	return s + 1;
}

/*
 * The first statement in lower case, with single blanks and no comments, to
 * out. Returns what follows its semicolon, or the end.
 */
static const char *normalise(const char *s, struct text *out)
{
	bool gap = false;

	while (*s != '\0' && *s != ';') {
		const char *const next = skip_comment(s);

		if (next != s || is_blank(*s)) {
			gap = true;
			s = next != s ? next : s + 1;
			continue;
		}
		if (gap && out->len > 0)
			text_add(out, " ");
		gap = false;
		s = copy_one(s, out);
	}
	if (*s == ';')
		s++;
	while (is_blank(*s))
		s++;
	return s;
}

/* --- statements --- */

struct rule {
	const char *starts;	/* its first words */
	const char *has;	/* what it must contain; NULL = anything */
	const char *tag;
	/* What else the answer says; rest is what follows the first words. */
	bool (*fill)(struct driver_query *a, const char *rest,
	    const struct asker *who);
};

/* SET of a setting that we don't have. */
static bool fill_set(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	char name[64];
	struct text t;

	text_init(&t, name, sizeof name);
	text_add_bytes(&t, rest, strcspn(rest, " =("));
	if (driver_query_setting(name, who) == NULL)
		return false;
	a->notice = "SET ignored";
	return true;
}

static bool fill_ignored(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	(void)rest;
	(void)who;
	a->notice = "SET ignored";
	return true;
}

static bool fill_forget_all(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	(void)who;
	a->forget = "";
	return rest[0] == '\0';
}

static const char *unquoted(struct driver_query *a, const char *name)
{
	const size_t n = strlen(name);

	return n > 2 && name[0] == '"' ? driver_query_keep(a, name + 1, n - 2) :
	    driver_query_keep(a, name, n);
}

static bool fill_forget(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	(void)who;
	if (rest[0] == '\0')
		return false;
	a->forget = unquoted(a, rest);
	return true;
}

/* SHOW x of PostgreSQL. */
static bool fill_show(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	const char *const name = unquoted(a, rest);
	const char *const value = driver_query_setting(name, who);

	return value != NULL &&
	    driver_query_add(a, name, COL_TEXT, cell_text(value));
}

/* What is in a catalogue: nothing; with as many columns as were asked for. */
static bool fill_nothing(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	(void)who;
	driver_query_name_columns(a, rest);
	a->empty = true;
	return true;
}

static bool fill_types(struct driver_query *a, const char *rest,
    const struct asker *who)
{
	static const char *const names[] = { "nspname", "oid", "typname",
		"typtype", "typnotnull", "elemtypoid" };

	(void)rest;
	(void)who;
	for (size_t i = 0; i < COUNT(names); i++)
		driver_query_add(a, names[i], COL_TEXT, cell_text(NULL));
	a->types = true;
	return true;
}

/* In this order; the first that fits counts. */
static const struct rule rules[] = {
	{ "begin", NULL, "BEGIN", NULL },
	{ "start transaction", NULL, "START TRANSACTION", NULL },
	{ "commit", NULL, "COMMIT", NULL },
	{ "end", NULL, "COMMIT", NULL },
	{ "rollback", NULL, "ROLLBACK", NULL },
	{ "abort", NULL, "ROLLBACK", NULL },
	{ "savepoint", NULL, "SAVEPOINT", NULL },
	{ "release", NULL, "RELEASE", NULL },
	{ "discard all", NULL, "DISCARD ALL", fill_forget_all },
	{ "discard plans", NULL, "DISCARD PLANS", NULL },
	{ "discard sequences", NULL, "DISCARD SEQUENCES", NULL },
	{ "discard temp", NULL, "DISCARD TEMP", NULL },
	{ "discard temporary", NULL, "DISCARD TEMP", NULL },
	{ "deallocate all", NULL, "DEALLOCATE ALL", fill_forget_all },
	{ "deallocate prepare", NULL, "DEALLOCATE", fill_forget },
	{ "deallocate", NULL, "DEALLOCATE", fill_forget },
	{ "close all", NULL, "CLOSE CURSOR ALL", NULL },
	{ "unlisten", NULL, "UNLISTEN", NULL },
	{ "reset", NULL, "RESET", NULL },
	{ "set session characteristics as", NULL, "SET", fill_ignored },
	{ "set transaction", NULL, "SET", fill_ignored },
	{ "set names", NULL, "SET", fill_ignored },
	{ "set time zone", NULL, "SET", fill_ignored },
	{ "set local", NULL, "SET", fill_set },
	{ "set session", NULL, "SET", fill_set },
	{ "set", NULL, "SET", fill_set },
	{ "show", NULL, "SHOW", fill_show },
	{ "select ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, "
	    "t.elemtypoid from", NULL, "SELECT", fill_types },
	{ "select", NULL, "SELECT 1", driver_query_expressions },
	{ "select", " from pg_", "SELECT 0", fill_nothing },
	{ "select", " join pg_", "SELECT 0", fill_nothing },
	{ "select", " from information_schema.", "SELECT 0", fill_nothing },
	{ "with", " from pg_", "SELECT 0", fill_nothing },
	{ "with", " from information_schema.", "SELECT 0", fill_nothing },
};

/* What follows these words in s; NULL: it begins with others. */
static const char *after(const char *s, const char *words)
{
	const size_t n = strlen(words);

	if (strncmp(s, words, n) != 0)
		return NULL;
	if (s[n] == ' ')
		return s + n + 1;
	return s[n] == '\0' ? s + n : NULL;
}

static bool fits(const struct rule *r, const char *s, const struct asker *who,
    struct driver_query *out)
{
	const char *const rest = after(s, r->starts);

	if (rest == NULL || (r->has != NULL && strstr(s, r->has) == NULL))
		return false;
	out->count = out->used = 0;
	out->notice = out->forget = NULL;
	out->empty = out->types = false;
	out->tag = r->tag;
	return r->fill == NULL || r->fill(out, rest, who);
}

size_t driver_query_find(const char *query, const struct asker *who,
    struct driver_query *out)
{
	char buf[DRIVER_QUERY_MAX];
	struct text t;

	text_init(&t, buf, sizeof buf);
	const char *const next = normalise(query, &t);

	out->tag = out->notice = out->forget = NULL;
	out->empty = out->types = false;
	out->count = out->used = 0;
	if (t.cut)
		return 0;
	/* pgx and lib/pq send "-- ping" and ";" to see if we are there */
	if (t.len == 0)
		return (size_t)(next - query);
	for (size_t i = 0; i < COUNT(rules); i++) {
		if (fits(&rules[i], buf, who, out))
			return (size_t)(next - query);
	}
	return 0;
}

/* --- results --- */

const char *driver_query_keep(struct driver_query *a, const char *s, size_t n)
{
	char *const at = a->text + a->used;

	/* names and values are parts of the query: there is room */
	if (n >= sizeof a->text - a->used)
		return "";
	memcpy(at, s, n);
	at[n] = '\0';
	a->used += n + 1;
	return at;
}

bool driver_query_add(struct driver_query *a, const char *name, enum column_type type,
    struct cell cell)
{
	if (a->count == DRIVER_QUERY_COLUMNS)
		return false;
	a->cells[a->count] = cell;
	a->columns[a->count++] = (struct column){ .name = name, .type = type };
	return true;
}

/*
 * Npgsql wants to know the types there are. (nspname, oid, typname, typtype,
 * typnotnull, elemtypoid)
 */
static void type_rows(struct row_sink *sink)
{
	static const char *const types[][2] = {
		{ "16", "bool" }, { "17", "bytea" }, { "19", "name" },
		{ "20", "int8" }, { "21", "int2" }, { "23", "int4" },
		{ "25", "text" }, { "26", "oid" }, { "114", "json" },
		{ "700", "float4" }, { "701", "float8" },
		{ "1042", "bpchar" }, { "1043", "varchar" },
		{ "1114", "timestamp" }, { "1184", "timestamptz" },
		{ "1700", "numeric" }, { "2278", "void" }, { "705", "unknown" },
	};

	for (size_t i = 0; i < COUNT(types); i++) {
		if (sink->row(sink, (const struct cell[DRIVER_QUERY_COLUMNS]){
			cell_text("pg_catalog"),
			cell_text(types[i][0]),
			cell_text(types[i][1]),
			cell_text("b"),
			cell_text("f"),
			cell_text(NULL),
		    }) != 0)
			return;
	}
}

void driver_query_rows(const struct driver_query *a, struct row_sink *sink)
{
	if (a->types)
		type_rows(sink);
	else if (a->count > 0 && !a->empty)
		(void)sink->row(sink, a->cells);
}
