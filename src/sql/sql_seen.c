/* sql_seen.c - texts that were looked at, and leave nothing in a session.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_seen.h"

#include "sql/sql.h"
#include "sql/sql_leave.h"

/* A Parse begins with the name of the statement, which is empty. */
static bool is_plain(const char *body, size_t n)
{
	const size_t name = n > 1 && body[0] == '\0';

	return !sql_may_matter(body + name, n - name) &&
	    !sql_may_leave(body, n) && (n == name ||
	    !sql_is_suspect_draw(body[name]) || !sql_may_draw(body, n));
}

bool sql_seen_anew(struct sql_seen *t, const char *body, size_t n)
{
	if (n > SQL_TEXT_MAX || !is_plain(body, n))
		return false;
	if (n < SQL_SEEN_PIECE || n > SQL_SEEN_MAX)
		return true;
	struct sql_seen_text *const at = sql_seen_place(t, body, n);

	at->len = (uint32_t)n;
	memcpy(at->text, body, n);
	return true;
}
