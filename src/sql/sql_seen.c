/* sql_seen.c - texts that were looked at, and what they may do.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_seen.h"

#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_leave.h"

static bool is_kept(size_t n)
{
	return n >= SQL_SEEN_PIECE && n <= SQL_SEEN_MAX;
}

static void keep(struct sql_seen *t, const char *text, size_t n,
    struct sql_seen_answer answer)
{
	struct sql_seen_text *const at = sql_seen_place(t, text, n);

	at->len = (uint8_t)n;
	at->answer = answer;
	memcpy(at->text, text, n);
}

bool sql_seen_anew(struct sql_seen *t, const char *text, size_t n)
{
	if (n > SQL_TEXT_MAX)
		return false;
	if (n > 0 && sql_is_suspect_draw(text[0]))
		return (sql_seen_effects(t, text, n) & EFFECT_PLAIN) != 0;
	if (sql_may_matter(text, n) || sql_may_leave(text, n))
		return false;
	if (is_kept(n))
		keep(t, text, n, (struct sql_seen_answer){ .plain = true });
	return true;
}

uint32_t sql_seen_effects(struct sql_seen *t, const char *text, size_t n)
{
	const struct sql_seen_text *const at = is_kept(n) ?
	    sql_seen_find(t, text, n) : NULL;

	if (at != NULL && at->answer.whole)
		return at->answer.effects;
	const uint32_t effects = sql_effects(text, n);

	if (is_kept(n))
		keep(t, text, n, (struct sql_seen_answer){ effects,
		    (effects & EFFECT_PLAIN) != 0, true });
	return effects;
}
