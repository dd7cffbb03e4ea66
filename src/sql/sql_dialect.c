/* sql_dialect.c - what a text means by settings, and what may change those.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_dialect.h"

#include <string.h>
#include <strings.h>

#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_leave.h"
#include "sql/sql_words.h"

/*
 * What parsing looks at, what reads a literal, and what functions look at that are
 * called IMMUTABLE. PostgreSQL docs, Server Configuration
 */
static const char *const unseen[] = { "array_nulls", "backslash_quote",
	"bytea_output", "extra_float_digits", "lc_monetary",
	"quote_all_identifiers", "restrict_nonsystem_relation_kind",
	"timezone_abbreviations", "transform_null_equals", "xmlbinary",
	"xmloption", NULL };

static const char *const acting[] = { "role", "authorization",
	"session_authorization", NULL };

/* U&"..." may be any name, U&'...' any string. */
static bool has_unicode(const char *sql, const char *end)
{
	for (const char *at = sql; (at = memchr(at, '&',
	    (size_t)(end - at))) != NULL; at++)
		if (at > sql && (at[-1] | 0x20) == 'u' && at + 1 < end &&
		    (at[1] == '"' || at[1] == '\''))
			return true;
	return false;
}

static bool is_letter(char ch)
{
	return (ch | 0x20) >= 'a' && (ch | 0x20) <= 'z';
}

/* Does one of the words begin there? */
static bool is_of_clock(const char *at, const char *end)
{
	static const char *const words[] = { "now", "today", "tomorrow",
		"yesterday" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i]);

		if ((size_t)(end - at) >= n && strncasecmp(at, words[i], n) == 0)
			return true;
	}
	return false;
}

/*
 * Of a string: has it such a word, or may it have one with what its type takes
 * away: a backslash, the quotes of a part of an array or range?
 */
static bool has_clock(const char *start, const char *end)
{
	for (const char *at = start; at < end; at++) {
		const char before = at == start ? '\0' : at[-1];
		const char after = at + 1 == end ? '\0' : at[1];

		/* \' may be the end of the string, or not */
		if (*at == '\\' && (is_letter(after) || after == '\'' ||
		    (after >= '0' && after <= '9')))
			return true;
		if (*at == '"' && is_letter(before) && is_letter(after))
			return true;
		if (!is_letter(before) && is_of_clock(at, end))
			return true;
	}
	return false;
}

bool sql_is_momentary(const void *sql, size_t n)
{
	static const char *const words[] = { "regproc", "regprocedure",
		"regoper", "regoperator", "regtype", "regrole", "regconfig",
		"regdictionary", "regcollation", NULL };
	const char *at = sql, *const end = at + strnlen(at, n), *literal;
	bool any = false, follows;
	size_t len;

	while ((literal = sql_next_literal(&at, end, &len, &follows)) != NULL) {
		any = true;
		if (follows || has_clock(literal, literal + len))
			return true;
	}
	return any && (has_unicode(sql, end) ||
	    sql_has_word(sql, (size_t)(end - (const char *)sql), words));
}

/* set_config() of a name that can't be seen, or a block of any statements? */
static bool may_set_any(const void *sql, size_t n)
{
	static const char *const words[] = { "do", NULL };
	static const char *const calls[] = { "set_config", NULL };
	const char *at = sql, *const end = at + n;
	char name[SQL_PARAMETER_MAX];
	const char *found = NULL;
	size_t which, left = 0;

	while ((found = sql_next_word(&(struct sql_text){ at, end }, found,
	    calls, &which)) != NULL)
		left++;
	while (sql_next_call(&at, end, name) != SQL_NO_CHANGE)
		left--;
	/* not ON CONFLICT DO */
	return left > 0 || sql_begins(sql, n, words) ||
	    has_unicode(sql, end);
}

bool sql_is_utility(const void *sql, size_t n)
{
	static const char *const first[] = { "set", "reset", "discard", "begin",
		"start", "commit", "rollback", "abort", "end", "savepoint",
		"release", "listen", "unlisten", "notify", "deallocate", NULL };
	const char *const at = sql, *const end = memchr(at, ';', n);

	return sql_begins(sql, end == NULL ? n : (size_t)(end - at), first);
}

/* What ends a transaction takes back what was set in it. */
bool sql_may_end(const void *sql, size_t n)
{
	static const char *const first[] = { "commit", "rollback", "abort",
		"end", "prepare", NULL };

	return sql_begins(sql, n, first);
}

bool sql_may_set(const void *sql, size_t n)
{
	static const char *const calls[] = { "do", "call", "execute", "fetch",
		"move", NULL };
	static const char *const sets[] = { "set", "reset", "discard", NULL };
	static const char *const call[] = { "set_config", NULL };
	static const char *const reported[] = { "datestyle", "timezone", "zone",
		"client_encoding", "names", "standard_conforming_strings",
		"intervalstyle", "search_path", "schema", NULL };

	if (sql_begins(sql, n, calls) || may_set_any(sql, n) ||
	    (sql_may_leave(sql, n) &&
	    (sql_what_leaves(sql, n) & EFFECT_HIDES) != 0))
		return true;
	return (sql_begins(sql, n, sets) || sql_has_word(sql, n, call)) &&
	    (sql_has_word(sql, n, reported) || sql_may_set_dialect(sql, n));
}

bool sql_may_set_unseen(const void *sql, size_t n)
{
	/* SET XML OPTION */
	static const char *const words[] = { "option", NULL };
	static const char *const view[] = { "pg_settings", NULL };
	static const char *const update[] = { "update", NULL };

	if (sql_has_word(sql, n, view) && sql_has_word(sql, n, update))
		return true;
	return sql_has_word(sql, n, unseen) || sql_has_word(sql, n, words) ||
	    may_set_any(sql, n);
}

bool sql_may_set_role(const void *sql, size_t n)
{
	return sql_has_word(sql, n, acting) || may_set_any(sql, n);
}

bool sql_may_set_path(const void *sql, size_t n)
{
	static const char *const words[] = { "search_path", NULL };
	static const char *const schema[] = { "schema", NULL };
	static const char *const set[] = { "set", NULL };

	/* SET SCHEMA 'a' */
	return sql_has_word(sql, n, words) ||
	    (sql_has_word(sql, n, schema) && sql_begins(sql, n, set));
}

/* What a backslash means, another setting says. */
bool sql_is_lone_set(const char *sql, size_t n)
{
	return sql_is_set(sql, n) && sql_is_single(sql, n) &&
	    memchr(sql, '\\', n) == NULL;
}

bool sql_may_set_all(const void *sql, size_t n)
{
	static const char *const words[] = { "all", NULL };
	static const char *const first[] = { "reset", "discard", NULL };

	return sql_has_word(sql, n, words) && sql_begins(sql, n, first);
}

bool sql_dialect_is_unseen(const char *name)
{
	for (const char *const *at = unseen; *at != NULL; at++)
		if (strcasecmp(*at, name) == 0)
			return true;
	return strcasecmp(name, "role") == 0 ||
	    strcasecmp(name, "search_path") == 0;
}
