/* sql.c - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#include "proto/sql.h"

#include <string.h>
#include <strings.h>

/* Text that is left to read. */
struct cursor {
	const char *at, *end;
};

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n\f", *c->at) != NULL &&
	    *c->at != '\0')
		c->at++;
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

/* Only blanks and semicolons are left, and the NUL of the message. */
static bool is_end(struct cursor *c)
{
	skip_blanks(c);
	while (c->at < c->end && *c->at == ';') {
		c->at++;
		skip_blanks(c);
	}
	return c->at == c->end || *c->at == '\0';
}

bool sql_forgets_all(const char *sql, size_t n)
{
	struct cursor c = { sql, sql + n };

	if (take_word(&c, "deallocate"))
		(void)take_word(&c, "prepare");
	else if (!take_word(&c, "discard"))
		return false;
	return take_word(&c, "all") && is_end(&c);
}
