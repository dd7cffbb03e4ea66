/* sql_schema.c - texts that may change what the names of others stand for.
 * SPDX-License-Identifier: ISC */
#include "proto/sql_schema.h"

#include <string.h>
#include <strings.h>

static bool is_inner(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	    (ch >= '0' && ch <= '9') || ch == '_' || ch == '$';
}

static bool is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

/* Do the bytes from start to end end in the word? */
static bool ends_in(const char *start, const char *end, const char *word)
{
	const size_t n = strlen(word);

	return (size_t)(end - start) >= n && strncasecmp(end - n, word, n) == 0;
}

/* The INTO at `at`: is it that of an INSERT or MERGE? */
static bool adds_rows(const char *start, const char *at)
{
	while (at > start && is_blank(at[-1]))
		at--;
	return ends_in(start, at, "insert") || ends_in(start, at, "merge");
}

/* Does the word stand at the beginning of n bytes, and not as part of one? */
static bool is_word(const char *at, size_t n, const char *word)
{
	const size_t len = strlen(word);

	return n >= len && strncasecmp(at, word, len) == 0 &&
	    (n == len || !is_inner(at[len]));
}

static bool is_one(const char *start, const char *at, size_t n)
{
	static const char *const words[] = { "create", "alter", "drop",
		"import" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is_word(at, n, words[i]))
			return true;
	return is_word(at, n, "into") && !adds_rows(start, at);
}

bool sql_may_change_schema(const void *sql, size_t n)
{
	const char *const s = sql;

	for (size_t i = 0; i < n; i++) {
		const char ch = s[i] | 0x20;

		if ((ch == 'c' || ch == 'a' || ch == 'd' || ch == 'i') &&
		    (i == 0 || !is_inner(s[i - 1])) && is_one(s, s + i, n - i))
			return true;
	}
	return false;
}
