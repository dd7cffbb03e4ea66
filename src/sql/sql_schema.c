/* sql_schema.c - texts that may change what the names of others stand for.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_schema.h"

#include <string.h>
#include <strings.h>

#include "sql/sql_words.h"

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

bool sql_may_change_schema(const void *sql, size_t n)
{
	static const char *const words[] = { "into", "create", "alter", "drop",
		"import", NULL };
	const struct sql_text text = { sql, (const char *)sql + n };
	const char *at = NULL;
	size_t which;

	while ((at = sql_next_word(&text, at, words, &which)) != NULL)
		if (which > 0 || !adds_rows(text.at, at))
			return true;
	return false;
}
