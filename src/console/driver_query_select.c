/* driver_query_select.c - SELECT of what drivers ask a PostgreSQL about itself.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "console/driver_query_parts.h"
#include "console/version.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
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
static const char *ask(const struct asker *who, enum source source)
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
			    ask(who, settings[i].source);
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

static const char *name_of(struct driver_query *a, const struct item *it,
    const char *otherwise)
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
		    constants[i].value : ask(who, constants[i].source);

		return driver_query_add(a, name_of(a, it, constants[i].name),
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
			return driver_query_add(a, name_of(a, it, truths[i].name),
			    COL_BOOL, cell_number(truths[i].value));
	}
	return false;
}

static bool add_pid(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	if (strcmp(it->expr, "pg_backend_pid()") != 0)
		return false;
	return driver_query_add(a, name_of(a, it, "pg_backend_pid"), COL_INT4,
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
	return driver_query_add(a, name_of(a, it, "pg_postmaster_start_time"),
	    COL_TEXT, cell_text(driver_query_keep(a, buf, strlen(buf))));
}

static bool add_number(struct driver_query *a, const struct item *it,
    const struct asker *who)
{
	uint32_t number;

	(void)who;
	if (num_parse_u32(it->expr, &number) < 0 || number > INT32_MAX)
		return false;
	return driver_query_add(a, name_of(a, it, "?column?"), COL_INT4,
	    cell_number(number));
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
static bool add_string(struct driver_query *a, const struct item *it,
    const struct asker *who)
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
	return driver_query_add(a, name_of(a, it, "?column?"), COL_TEXT,
	    cell_text(value));
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
	return driver_query_add(a, name_of(a, it, "current_setting"), COL_TEXT,
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

	return value != NULL && driver_query_add(a, name_of(a, it, "set_config"),
	    COL_TEXT, cell_text(value));
}

static bool (*const expressions[])(struct driver_query *a, const struct item *it,
    const struct asker *who) = {
	add_constant, add_truth, add_pid, add_birth, add_number, add_string,
	add_current_setting, add_set_config,
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

static void take_name(struct item *it, const char *s, size_t n)
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
		take_name(it, as + 4, n - (size_t)(as + 4 - s));
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

bool driver_query_expressions(struct driver_query *a, const char *list,
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

void driver_query_name_columns(struct driver_query *a, const char *list)
{
	for (size_t n = 0; *list != '\0' && a->count < DRIVER_QUERY_COLUMNS;
	    list = skip_comma(list + n)) {
		struct item it;

		n = item_len(list);
		if (n == 0 || !item_parse(&it, list, n))
			it = (struct item){ .name = "?column?" };
		driver_query_add(a, name_of(a, &it, plain_name(&it)), COL_TEXT,
		    cell_text(NULL));
		if (list[n] != ',')
			break;
	}
}
