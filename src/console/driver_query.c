/* driver_query.c - questions of drivers about a PostgreSQL, and our answers.
 * SPDX-License-Identifier: ISC */
#include "console/driver_query.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"

/* A copy of n bytes of s that lives as long as the answer. */
static const char *driver_query_keep(struct driver_query *a, const char *s, size_t n);
/* One more column with its value; false: there are too many. */
static bool driver_query_add(struct driver_query *a, const char *name, enum column_type type,
    struct cell cell);

/* The list of a SELECT without FROM; false: something else is in it. */
static bool driver_query_expressions(struct driver_query *a, const char *list,
    const struct asker *who);
/* Text columns, named as those of a SELECT whose list starts here. */
static void driver_query_name_columns(struct driver_query *a, const char *list);

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* --- one spelling for all --- */

/* Where a comment that starts at s ends; s itself if none does. */
static const char *driver_query_skip_comment(const char *s)
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

static bool driver_query_is_blank(char c)
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
		const char *const next = driver_query_skip_comment(s);

		if (next != s || driver_query_is_blank(*s)) {
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
	while (driver_query_is_blank(*s))
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

static bool driver_query_fits(const struct rule *r, const char *s,
    const struct asker *who, struct driver_query *out)
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
		if (driver_query_fits(&rules[i], buf, who, out))
			return (size_t)(next - query);
	}
	return 0;
}

/* --- results --- */

static const char *driver_query_keep(struct driver_query *a, const char *s, size_t n)
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

static bool driver_query_add(struct driver_query *a, const char *name, enum column_type type,
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

#define EXPRESSION_MAX 512

/* --- settings --- */

/* Where the value of a row comes from. */
enum source { FIXED, OF_APPLICATION, OF_USER, OF_VERSION, OF_PRODUCT };

static const struct {
	const char *name, *value;
	enum source source;
} settings[] = {
	{ "application_name", NULL, OF_APPLICATION },
	{ "backslash_quote", "safe_encoding", FIXED },
	{ "bytea_output", "hex", FIXED },
	{ "client_encoding", "UTF-8", FIXED },
	{ "client_min_messages", "notice", FIXED },
	{ "datestyle", "ISO", FIXED },
	{ "default_transaction_isolation", "read committed", FIXED },
	{ "default_transaction_read_only", "off", FIXED },
	{ "escape_string_warning", "on", FIXED },
	{ "extra_float_digits", "1", FIXED },
	{ "idle_in_transaction_session_timeout", "0", FIXED },
	{ "in_hot_standby", "off", FIXED },
	{ "integer_datetimes", "on", FIXED },
	{ "intervalstyle", "postgres", FIXED },
	{ "jit", "off", FIXED },
	{ "lc_collate", "C", FIXED },
	{ "lc_ctype", "C", FIXED },
	{ "lc_messages", "C", FIXED },
	{ "lc_monetary", "C", FIXED },
	{ "lc_numeric", "C", FIXED },
	{ "lc_time", "C", FIXED },
	{ "lock_timeout", "0", FIXED },
	{ "max_identifier_length", "63", FIXED },
	{ "max_index_keys", "32", FIXED },
	{ "row_security", "on", FIXED },
	{ "search_path", "\"$user\", public", FIXED },
	{ "server_encoding", "UTF8", FIXED },
	{ "server_version", NULL, OF_VERSION },
	{ "server_version_num", POSTGRESQL_VERSION_NUM, FIXED },
	{ "session authorization", NULL, OF_USER },
	{ "session_authorization", NULL, OF_USER },
	{ "ssl_renegotiation_limit", "0", FIXED },
	{ "standard_conforming_strings", "on", FIXED },
	{ "statement_timeout", "0", FIXED },
	{ "synchronize_seqscans", "on", FIXED },
	{ "is_superuser", "on", FIXED },
	{ "time zone", "GMT", FIXED },
	{ "timezone", "GMT", FIXED },
	{ "transaction isolation level", "read committed", FIXED },
	{ "transaction_deferrable", "off", FIXED },
	{ "transaction_isolation", "read committed", FIXED },
	{ "transaction_read_only", "off", FIXED },
};

/* NULL: a fixed one. */
static const char *driver_query_ask(const struct asker *who, enum source source)
{
	switch (source) {
	case OF_APPLICATION: return who->application_name;
	case OF_USER: return who->user;
	case OF_VERSION: return version_of(who->version)->server;
	case OF_PRODUCT: return version_of(who->version)->product;
	case FIXED: break;
	}
	return NULL;
}

const char *driver_query_setting(const char *name, const struct asker *who)
{
	for (size_t i = 0; i < COUNT(settings); i++) {
		if (text_casecmp(settings[i].name, name) == 0)
			return settings[i].source == FIXED ? settings[i].value :
			    driver_query_ask(who, settings[i].source);
	}
	return NULL;
}

/* --- expressions --- */

/* One item of a list, taken apart. */
struct item {
	char expr[EXPRESSION_MAX];
	char name[64];		/* of AS; "" = none */
};

static const struct {
	const char *expr, *name;
	enum column_type type;
	const char *value;	/* of FIXED; NULL: SQL NULL */
	enum source source;
} constants[] = {
	{ "version()", "version", COL_TEXT, NULL, OF_PRODUCT },
	{ "current_database()", "current_database", COL_TEXT, "pgbouncer", FIXED },
	{ "current_catalog", "current_catalog", COL_TEXT, "pgbouncer", FIXED },
	{ "current_schema()", "current_schema", COL_TEXT, "public", FIXED },
	{ "current_schema", "current_schema", COL_TEXT, "public", FIXED },
	{ "current_user", "current_user", COL_TEXT, NULL, OF_USER },
	{ "current_role", "current_role", COL_TEXT, NULL, OF_USER },
	{ "session_user", "session_user", COL_TEXT, NULL, OF_USER },
	{ "user", "user", COL_TEXT, NULL, OF_USER },
	{ "inet_server_addr()", "inet_server_addr", COL_TEXT, NULL, FIXED },
	{ "inet_server_port()", "inet_server_port", COL_INT4, NULL, FIXED },
	{ "pg_advisory_unlock_all()", "pg_advisory_unlock_all", COL_TEXT, "", FIXED },
	{ "null", "?column?", COL_TEXT, NULL, FIXED },
};

static const struct {
	const char *expr, *name;
	int value;
} truths[] = {
	{ "pg_is_in_recovery()", "pg_is_in_recovery", 0 },
	{ "true", "bool", 1 },
	{ "false", "bool", 0 },
};

static const char *driver_query_name_of(struct driver_query *a,
    const struct item *it, const char *otherwise)
{
	const char *const name = it->name[0] != '\0' ? it->name : otherwise;

	return driver_query_keep(a, name, strlen(name));
}

static bool add_constant(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	for (size_t i = 0; i < COUNT(constants); i++) {
		if (strcmp(constants[i].expr, it->expr) != 0)
			continue;
		const char *const value = constants[i].source == FIXED ?
		    constants[i].value :
		    driver_query_ask(who, constants[i].source);

		return driver_query_add(a,
		    driver_query_name_of(a, it, constants[i].name),
		    constants[i].type, cell_text(value));
	}
	return false;
}

static bool add_truth(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	(void)who;
	for (size_t i = 0; i < COUNT(truths); i++) {
		if (strcmp(truths[i].expr, it->expr) == 0)
			return driver_query_add(a,
			    driver_query_name_of(a, it, truths[i].name),
			    COL_BOOL, cell_number(truths[i].value));
	}
	return false;
}

static bool add_pid(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	if (strcmp(it->expr, "pg_backend_pid()") != 0)
		return false;
	return driver_query_add(a,
	    driver_query_name_of(a, it, "pg_backend_pid"), COL_INT4,
	    cell_number(who->id));
}

/* PostgreSQL's name for it; the time zone is always UTC here. */
static bool add_birth(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	char buf[64];

	if (strcmp(it->expr, "pg_postmaster_start_time()") != 0)
		return false;
	time_format_utc(who->born, buf, sizeof buf);
	return driver_query_add(a,
	    driver_query_name_of(a, it, "pg_postmaster_start_time"), COL_TEXT,
	    cell_text(driver_query_keep(a, buf, strlen(buf))));
}

static bool driver_query_add_number(struct driver_query *a,
    const struct item *it, const struct asker *who)
{
	uint32_t number;

	(void)who;
	if (num_parse_u32(it->expr, &number) < 0 || number > INT32_MAX)
		return false;
	return driver_query_add(a, driver_query_name_of(a, it, "?column?"),
	    COL_INT4, cell_number(number));
}

/* The text in quotes at s, to which *end is set; or NULL. */
static const char *quoted_at(struct driver_query *a, const char *s, const char **end)
{
	const char *const last = *s == '\'' ? strchr(s + 1, '\'') : NULL;

	if (last == NULL)
		return NULL;
	*end = last + 1;
	return driver_query_keep(a, s + 1, (size_t)(last - s) - 1);
}

/* 'x', 'x'::text, cast('x' as text) */
static bool driver_query_add_string(struct driver_query *a,
    const struct item *it, const struct asker *who)
{
	static const char cast[] = "cast(";
	const bool is_cast = strncmp(it->expr, cast, sizeof cast - 1) == 0;
	const char *end;
	const char *const value = quoted_at(a,
	    it->expr + (is_cast ? sizeof cast - 1 : 0), &end);

	(void)who;
	if (value == NULL)
		return false;
	if (is_cast ? strncmp(end, " as ", 4) != 0 :
	    end[0] != '\0' && strncmp(end, "::", 2) != 0)
		return false;
	return driver_query_add(a, driver_query_name_of(a, it, "?column?"),
	    COL_TEXT, cell_text(value));
}

/* What is given to the function in quotes, first; NULL: it is another. */
static const char *argument(struct driver_query *a, const struct item *it,
    const char *function)
{
	const size_t n = strlen(function);
	const char *end;

	if (strncmp(it->expr, function, n) != 0 || it->expr[n] != '(')
		return NULL;
	return quoted_at(a, it->expr + n + 1, &end);
}

static bool add_current_setting(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	const char *const name = argument(a, it, "current_setting");

	if (name == NULL)
		return false;
	const char *const value = driver_query_setting(name, who);

	/* "missing_ok" */
	if (value == NULL && strstr(it->expr, "true)") == NULL)
		return false;
	return driver_query_add(a,
	    driver_query_name_of(a, it, "current_setting"), COL_TEXT,
	    cell_text(value));
}

/* Accepted like SET, and the new value is told. */
static bool add_set_config(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	const char *const name = argument(a, it, "set_config");
	const char *end;

	if (name == NULL || driver_query_setting(name, who) == NULL)
		return false;
	const char *const comma = strchr(it->expr, ',');
	const char *const value = comma == NULL ? NULL :
	    quoted_at(a, comma + 1 + (comma[1] == ' '), &end);

	return value != NULL &&
	    driver_query_add(a, driver_query_name_of(a, it, "set_config"),
		COL_TEXT, cell_text(value));
}

static bool (*const expressions[])(struct driver_query *a,
    const struct item *it, const struct asker *who) = {
	add_constant,
	add_truth,
	add_pid,
	add_birth,
	driver_query_add_number,
	driver_query_add_string,
	add_current_setting,
	add_set_config,
};

/* --- lists --- */

/* Bytes of the item at s: up to a comma or FROM outside of parentheses. */
static size_t item_len(const char *s)
{
	size_t i = 0;

	for (int depth = 0; s[i] != '\0'; i++) {
		const char c = s[i];

		if (c == '\'' || c == '"') {
			const char *const end = strchr(s + i + 1, c);

			if (end == NULL)
				return strlen(s);
			i = (size_t)(end - s);
		} else if (c == '(') {
			depth++;
		} else if (c == ')') {
			depth--;
		} else if (depth == 0 && (c == ',' ||
		    strncmp(s + i, " from ", 6) == 0)) {
			return i;
		}
	}
	return i;
}

/* Where " as " stands last in the n bytes of s; NULL: nowhere. */
static const char *find_as(const char *s, size_t n)
{
	const char *found = NULL;
	int depth = 0;

	for (size_t i = 0; i + 4 < n; i++) {
		depth += (s[i] == '(') - (s[i] == ')');
		if (depth == 0 && strncmp(s + i, " as ", 4) == 0)
			found = s + i;
	}
	return found;
}

static void driver_query_take_name(struct item *it, const char *s, size_t n)
{
	struct text t;

	if (n >= 2 && s[0] == '"' && s[n - 1] == '"') {
		s++;
		n -= 2;
	}
	text_init(&t, it->name, sizeof it->name);
	text_add_bytes(&t, s, n);
}

/* Take one item of n bytes apart; false: it is too long. */
static bool item_parse(struct item *it, const char *s, size_t n)
{
	static const char schema[] = "pg_catalog.";
	const char *const as = find_as(s, n);
	struct text t;

	it->name[0] = '\0';
	if (as != NULL) {
		driver_query_take_name(it, as + 4, n - (size_t)(as + 4 - s));
		n = (size_t)(as - s);
	}
	if (n >= sizeof schema && strncmp(s, schema, sizeof schema - 1) == 0) {
		s += sizeof schema - 1;
		n -= sizeof schema - 1;
	}
	text_init(&t, it->expr, sizeof it->expr);
	text_add_bytes(&t, s, n);
	return !t.cut;
}

static const char *skip_comma(const char *s)
{
	if (*s == ',')
		s++;
	return *s == ' ' ? s + 1 : s;
}

static bool add_item(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	for (size_t i = 0; i < COUNT(expressions); i++) {
		if (expressions[i](a, it, who))
			return true;
	}
	return false;
}

static bool driver_query_expressions(struct driver_query *a, const char *list,
    const struct asker *who)
{
	while (*list != '\0') {
		const size_t n = item_len(list);
		struct item it;

		if (n == 0 || strncmp(list + n, " from ", 6) == 0 ||
		    !item_parse(&it, list, n) || !add_item(a, &it, who))
			return false;
		list = skip_comma(list + n);
	}
	return a->count > 0;
}

/* "att.attname": attname; what is no name has none. */
static const char *plain_name(const struct item *it)
{
	const char *const dot = strrchr(it->expr, '.');
	const char *const name = dot != NULL ? dot + 1 : it->expr;

	return strpbrk(name, " ()'\"*:") == NULL ? name : "?column?";
}

static void driver_query_name_columns(struct driver_query *a, const char *list)
{
	for (size_t n = 0; *list != '\0' && a->count < DRIVER_QUERY_COLUMNS;
	    list = skip_comma(list + n)) {
		struct item it;

		n = item_len(list);
		if (n == 0 || !item_parse(&it, list, n))
			it = (struct item){ .name = "?column?" };
		driver_query_add(a,
		    driver_query_name_of(a, &it, plain_name(&it)), COL_TEXT,
		    cell_text(NULL));
		if (list[n] != ',')
			break;
	}
}

#define TEXT(number) \
	"PgBouncer " number " (" PACKAGE_NAME " " PACKAGE_VERSION ")"
#define RELEASE(number) { \
	.text = TEXT(number), \
	.server = number "/bouncer", \
	.product = TEXT(number) " console, speaks like PostgreSQL " \
	    POSTGRESQL_VERSION }

const struct version *version_of(enum console_version v)
{
	static const struct version versions[] = {
		[CONSOLE_1_25] = RELEASE("1.25.2"),
		[CONSOLE_1_26] = RELEASE("1.26.1"),
	};

	return &versions[v];
}
