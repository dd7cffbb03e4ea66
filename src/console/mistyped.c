/* mistyped.c - a text that is no command: what is said of it, and to whom.
 * SPDX-License-Identifier: ISC */
#include "console/mistyped.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"

#define QUERY_SHOWN 900		/* bytes of a query in an error text */
#define WORD_SHOWN 16		/* of its first word in the log */

static const char before[] = "invalid command '";
static const char after[] = "', use SHOW HELP;";

/* Bytes of s to show: cut between two characters (UTF-8). */
static int mistyped_shown(const char *s)
{
	size_t n = strlen(s);

	if (n <= QUERY_SHOWN)
		return (int)n;
	for (n = QUERY_SHOWN; n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
		n--;
	return (int)n;
}

int mistyped(const char *query, const char *meant, struct err *e)
{
	if (meant == NULL)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION, "%s%.*s%s",
		    before, mistyped_shown(query), query, after);
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "%s%.*s%s%sDid you mean \"%s\"?", before, mistyped_shown(query),
	    query, after, ERR_DETAIL, meant);
}

void mistyped_hide(const char *text, size_t n, struct text *out)
{
	static const char letters[] = "_abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const size_t skip = sizeof before - 1, keep = sizeof after - 1;

	if (n < skip + keep || strncmp(text, before, skip) != 0) {
		text_add_bytes(out, text, n);
		return;
	}

	/* the query may hold what looks like the end: that of the text counts */
	const char *word = text + skip;
	const char *const end = text + n - keep;

	while (word < end && strchr(" \t\r\n", *word) != NULL)
		word++;
	size_t length = strspn(word, letters);
	const char *const rest = word + length;

	if (length > WORD_SHOWN || rest > end ||
	    (rest < end && strchr(" \t\r\n;", *rest) == NULL))
		length = 0;
	text_add_bytes(out, text, skip);
	text_add_bytes(out, word, length);
	if (word + length < end)
		text_add(out, length > 0 ? " ..." : "...");
	text_add(out, after);
}
