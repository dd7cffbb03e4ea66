/* sql_dialect.c - what a text means by settings, and what may change those.
 * SPDX-License-Identifier: ISC */
#include "proto/sql_dialect.h"

#include <string.h>
#include <strings.h>

#include "proto/sql.h"
#include "proto/sql_words.h"

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

static bool has_continued(const char *at, const char *end)
{
	while ((at = memchr(at, '\'', (size_t)(end - at))) != NULL) {
		const char *const quote = ++at;

		while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
			at++;
		if (at < end && *at == '\'' && at > quote)
			return true;
		at = quote;
	}
	return false;
}

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

/* In E'...' a word may have any letter for another. */
static bool has_escapes(const char *at, const char *end)
{
	static const char *const words[] = { "e", NULL };
	const size_t n = (size_t)(end - at);

	return has_unicode(at, end) || (memchr(at, '\\', n) != NULL &&
	    sql_has_word(at, n, words));
}

/* Does one of the words begin there, not now()? */
static bool is_of_clock(const char *at, const char *end)
{
	static const char *const words[] = { "now", "today", "tomorrow",
		"yesterday" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t n = strlen(words[i]);

		if ((size_t)(end - at) >= n && strncasecmp(at, words[i], n) == 0)
			return at + n == end || at[n] != '(';
	}
	return false;
}

static bool has_clock(const char *sql, const char *end)
{
	for (const char *at = sql; at < end; at++) {
		const char ch = *at | 0x20;

		if ((ch == 'n' || ch == 't' || ch == 'y') &&
		    (at == sql || (at[-1] | 0x20) < 'a' ||
		    (at[-1] | 0x20) > 'z') && is_of_clock(at, end))
			return true;
	}
	return false;
}

bool sql_is_momentary(const void *sql, size_t n)
{
	static const char *const words[] = { "regproc", "regprocedure",
		"regoper", "regoperator", "regtype", "regrole", "regconfig",
		"regdictionary", "regcollation", NULL };
	const char *const at = sql, *const end = at + strnlen(at, n);
	const size_t len = (size_t)(end - at);

	if (memchr(at, '\'', len) == NULL && memchr(at, '$', len) == NULL)
		return false;
	return has_clock(at, end) || has_continued(at, end) ||
	    has_escapes(at, end) || sql_has_word(at, len, words);
}

bool sql_may_set(const void *sql, size_t n)
{
	static const char *const first[] = { "set", "reset", "discard", "do",
		"call", "execute", "fetch", "move", "commit", "rollback",
		"abort", "end", "prepare", NULL };
	static const char *const anywhere[] = { "set_config", NULL };

	return sql_has_word(sql, n, anywhere) || sql_begins(sql, n, first) ||
	    has_unicode(sql, (const char *)sql + n);
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
	return left > 0 || sql_has_word(sql, n, words) ||
	    has_unicode(sql, end);
}

bool sql_may_set_unseen(const void *sql, size_t n)
{
	/* SET XML OPTION */
	static const char *const words[] = { "option", NULL };

	return sql_has_word(sql, n, unseen) || sql_has_word(sql, n, words) ||
	    may_set_any(sql, n);
}

bool sql_may_set_role(const void *sql, size_t n)
{
	return sql_has_word(sql, n, acting) || may_set_any(sql, n);
}

bool sql_may_set_all(const void *sql, size_t n)
{
	static const char *const words[] = { "all", NULL };

	return sql_has_word(sql, n, words);
}

bool sql_dialect_is_unseen(const char *name)
{
	for (const char *const *at = unseen; *at != NULL; at++)
		if (strcasecmp(*at, name) == 0)
			return true;
	return strcasecmp(name, "role") == 0;
}
