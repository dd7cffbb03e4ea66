/* sql_timeless.c - texts that mean the same each time they are parsed.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_timeless.h"

#include <string.h>
#include <strings.h>

#include "sql/sql_leave.h"

#define NAME_MAX_KEPT 63	/* PostgreSQL's NAMEDATALEN, less NUL */

/* What is left of a text. */
struct rest {
	const char *at, *end;
};

static bool is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool is_inner(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	    is_digit(ch) || ch == '_' || ch == '$' || (signed char)ch < 0;
}

static void skip_blanks(struct rest *r)
{
	while (r->at < r->end && is_blank(*r->at))
		r->at++;
}

/* The name or word that comes; its length, 0: none. */
static size_t word_at(const struct rest *r)
{
	size_t n = 0;

	while (r->at + n < r->end && is_inner(r->at[n]))
		n++;
	return n;
}

static bool is_one_of(const char *word, size_t n, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strlen(*list) == n && strncasecmp(word, *list, n) == 0)
			return true;
	return false;
}

/* May PostgreSQL read n bytes of a literal by the clock? */
static bool may_be_time(const char *s, size_t n)
{
	static const char *const words[] = { "now", "today", "tomorrow",
		"yesterday", "current", "allballs" };

	for (size_t i = 0; i < n; i++) {
		if (is_digit(s[i]))
			return true;
		for (size_t w = 0; w < sizeof words / sizeof *words; w++)
			if (n - i >= strlen(words[w]) && strncasecmp(s + i,
			    words[w], strlen(words[w])) == 0)
				return true;
	}
	return false;
}

/*
 * At a quote: skip to behind its end. False: there is none, or the text is too
 * long for a name, or one that another one continues.
 */
static bool skip_quoted(struct rest *r)
{
	const char quote = *r->at++;
	const char *const end = memchr(r->at, quote, (size_t)(r->end - r->at));

	if (end == NULL)
		return false;
	const char *const text = r->at;
	const size_t n = (size_t)(end - text);

	r->at = end + 1;
	if (quote == '"')
		return n <= NAME_MAX_KEPT;
	if (may_be_time(text, n))
		return false;
	const char *const behind = r->at;

	skip_blanks(r);
	/* a doubled quote is one of the text; 'no' and 'w' make 'now' */
	return r->at == r->end || *r->at != '\'' || behind == r->at;
}

/* One thing of the text; false: it may not be in it. */
static bool skip_thing(struct rest *r, bool makes)
{
	static const char *const into[] = { "into", NULL };
	const char ch = *r->at, next = r->end - r->at > 1 ? r->at[1] : '\0';
	const size_t n = word_at(r);

	/* a parameter, or a string in dollars */
	if (ch == '$')
		return is_digit(next) ? (r->at += n, true) : false;
	if (n > 0) {
		const char *const word = r->at;

		r->at += n;
		return n <= NAME_MAX_KEPT && memchr(word, '$', n) == NULL &&
		    !(makes && is_one_of(word, n, into));
	}
	if (ch == '\'' || ch == '"')
		return skip_quoted(r);
	if (ch == '\\' || (ch == '-' && next == '-') ||
	    (ch == '/' && next == '*'))
		return false;
	r->at++;
	return true;
}

bool sql_is_timeless(const char *sql, size_t n)
{
	static const char *const first[] = { "select", "insert", "update",
		"delete", "with", "values", NULL };
	static const char *const reads[] = { "select", "with", NULL };
	const char *const end = n == 0 ? NULL : memchr(sql, '\0', n);
	struct rest r = { sql, end };

	if (end == NULL)
		return false;
	skip_blanks(&r);
	const char *const word = r.at;
	const size_t len = word_at(&r);

	if (!is_one_of(word, len, first) || sql_may_leave(sql, n))
		return false;
	const bool makes = is_one_of(word, len, reads);

	while (r.at < r.end)
		if (!skip_thing(&r, makes))
			return false;
	return true;
}

bool sql_is_begin(const char *sql, size_t n)
{
	static const char *const first[] = { "begin", "start", NULL };
	const char *const end = n == 0 ? NULL : memchr(sql, '\0', n);
	struct rest r = { sql, end };

	return end != NULL && memchr(sql, ';', (size_t)(end - sql)) == NULL &&
	    is_one_of(r.at, word_at(&r), first);
}
