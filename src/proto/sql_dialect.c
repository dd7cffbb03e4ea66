/* sql_dialect.c - what a text means by settings, and what may change those.
 * SPDX-License-Identifier: ISC */
#include "proto/sql_dialect.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "proto/sql_words.h"

/* What parsing looks at, or what reads a literal. PostgreSQL docs, 20.11 */
static const char *const unseen[] = { "array_nulls", "backslash_quote",
	"lc_monetary", "restrict_nonsystem_relation_kind",
	"timezone_abbreviations", "transform_null_equals", "xmloption", NULL };

static const char *const acting[] = { "role", "authorization",
	"session_authorization", NULL };

/* Any of 8 bytes that is not ASCII? */
static bool is_ascii(const char *at, size_t n)
{
	const uint64_t high = UINT64_C(0x8080808080808080);
	uint64_t word;

	for (; n >= sizeof word; at += sizeof word, n -= sizeof word) {
		memcpy(&word, at, sizeof word);
		if ((word & high) != 0)
			return false;
	}
	for (; n > 0; n--)
		if ((uint8_t)*at++ >= 0x80)
			return false;
	return true;
}

/* A dollar sign that is not that of a parameter may begin a string. */
static bool has_dollar_quote(const char *at, const char *end)
{
	while ((at = memchr(at, '$', (size_t)(end - at))) != NULL) {
		if (++at == end || *at < '0' || *at > '9')
			return true;
	}
	return false;
}

bool sql_is_plain(const void *sql, size_t n)
{
	const char *const at = sql;
	const size_t len = strnlen(at, n);

	return memchr(at, '\'', len) == NULL && memchr(at, '\\', len) == NULL &&
	    !has_dollar_quote(at, at + len) && is_ascii(at, len);
}

/* In a string, as far as quotes tell; any may be one where there are others. */
bool sql_reads_clock(const void *sql, size_t n)
{
	static const char *const words[] = { "now", "today", "tomorrow",
		"yesterday", NULL };
	const char *const start = sql, *from = start, *at = NULL;
	const struct sql_text text = { start, start + strnlen(start, n) };
	const bool any = has_dollar_quote(start, text.end);
	bool inside = false;
	size_t which;

	while ((at = sql_next_word(&text, at, words, &which)) != NULL) {
		for (; from < at; from++)
			inside = inside != (*from == '\'');
		if (inside || any)
			return true;
	}
	return false;
}

bool sql_may_set(const void *sql, size_t n)
{
	/* U& may be the beginning of any name */
	static const char *const words[] = { "set", "reset", "discard",
		"set_config", "do", "call", "execute", "commit", "rollback",
		"abort", "end", "u", NULL };

	return sql_has_word(sql, n, words);
}

bool sql_may_set_unseen(const void *sql, size_t n)
{
	return sql_has_word(sql, n, unseen);
}

bool sql_may_set_role(const void *sql, size_t n)
{
	return sql_has_word(sql, n, acting);
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
