/* sql.c - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#include "proto/sql.h"

#include <string.h>
#include <strings.h>

/* Text that is left to read. */
struct cursor {
	const char *at, *end;
};

static bool take_sign(struct cursor *c, const char *sign)
{
	if (c->end - c->at < 2 || memcmp(c->at, sign, 2) != 0)
		return false;
	c->at += 2;
	return true;
}

/* PostgreSQL docs, Lexical Structure: one that opens inside counts too. */
static void skip_comment(struct cursor *c)
{
	unsigned depth = 1;

	while (depth > 0 && c->at < c->end) {
		if (take_sign(c, "/*"))
			depth++;
		else if (take_sign(c, "*/"))
			depth--;
		else
			c->at++;
	}
}

/* Blanks, and comments, which count as such. */
static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end) {
		if (*c->at != '\0' && strchr(" \t\r\n\f\v", *c->at) != NULL)
			c->at++;
		else if (take_sign(c, "/*"))
			skip_comment(c);
		else if (take_sign(c, "--"))
			while (c->at < c->end && *c->at != '\n')
				c->at++;
		else
			return;
	}
}

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* Step over the word if it comes next. */
static bool take_word(struct cursor *c, const char *word)
{
	const size_t n = strlen(word);

	skip_blanks(c);
	if ((size_t)(c->end - c->at) < n || strncasecmp(c->at, word, n) != 0 ||
	    (c->at + n < c->end && is_letter(c->at[n])))
		return false;
	c->at += n;
	return true;
}

static bool forgets_all(struct cursor *c)
{
	if (take_word(c, "deallocate"))
		(void)take_word(c, "prepare");
	else if (!take_word(c, "discard"))
		return false;
	return take_word(c, "all");
}

bool sql_forgets_all(const char *sql, size_t n)
{
	struct cursor c = { sql, sql + n };
	const char *next;

	while (!forgets_all(&c)) {
		next = c.at == c.end ? NULL : memchr(c.at, ';',
		    (size_t)(c.end - c.at));
		if (next == NULL)
			return false;
		c.at = next + 1;
	}
	return true;
}
