/* sql_effects_old.h - effects of a text, and the readers that said so before.
 * SPDX-License-Identifier: ISC */
#ifndef TEST_UNIT_SQL_EFFECTS_OLD_H
#define TEST_UNIT_SQL_EFFECTS_OLD_H

#include <strings.h>

#include "sql/effects.h"
#include "sql/sql_words.h"
#include "sql_answers.h"

static inline uint32_t effects_sets(const char *sql, size_t n)
{
	const char *const end = sql + n;
	char name[SQL_PARAMETER_MAX];
	enum sql_change what;

	do {
		what = sql_next_change(&sql, end, name);
	} while (what == SQL_RESETS);
	return what == SQL_SETS;
}

#define LEFT(name, what) SAYS(name, sql_what_leaves(sql, n) & (what))
LEFT(effects_leaves, EFFECT_LEAVES)
LEFT(effects_draws, EFFECT_DRAWS)
LEFT(effects_hides, EFFECT_HIDES)
LEFT(effects_opens, EFFECT_OPENS)
LEFT(effects_makes, EFFECT_MAKES)
LEFT(effects_may_open, EFFECT_MAY_OPEN)
SAYS(effects_names, custom_is_any(sql, n) &&
    (sql_may_matter(sql, n) || sql_may_leave(sql, n)))
static inline uint32_t effects_calls(const char *sql, size_t n)
{
	static const char *const words[] = { "set_config", NULL };
	const char *at = sql;

	while ((at = strchr(at, '&')) != NULL && at++ > sql)
		if ((at[-2] | 0x20) == 'u' && strchr("\"'", *at) != NULL)
			return sql_back_calls(sql, n);
	return sql_back_calls(sql, n) && sql_has_word(sql, n, words);
}
SAYS(effects_several, !sql_is_single(sql, n))

static const struct {
	uint32_t effect;
	struct sql_reader old;
} sql_effects_old[] = {
	{ EFFECT_SETS, { "sets", effects_sets } },
	{ EFFECT_RESETS, { "resets", of_resets } },
	{ EFFECT_FORGETS, { "forgets", of_forgets_all } },
	{ EFFECT_ENDS, { "ends", of_may_end } },
	{ EFFECT_UTILITY, { "utility", of_utility } },
	{ EFFECT_BEGINS, { "begins", of_begin } },
	{ EFFECT_SET_FIRST, { "set first", of_is_set } },
	{ EFFECT_LOCAL, { "local", of_local } },
	{ EFFECT_LONE_SET, { "lone set", of_lone_set } },
	{ EFFECT_SEVERAL, { "several", effects_several } },
	{ EFFECT_MATTERS, { "matters", of_may_matter } },
	{ EFFECT_MAY_SET, { "may set", of_may_set } },
	{ EFFECT_UNSEEN, { "unseen", of_unseen } },
	{ EFFECT_ROLE, { "role", of_role } },
	{ EFFECT_PATH, { "path", of_path } },
	{ EFFECT_ALL, { "all", of_set_all } },
	{ EFFECT_NAMES, { "names", effects_names } },
	{ EFFECT_CALLS, { "calls", effects_calls } },
	{ EFFECT_WORDS, { "words", of_may_leave } },
	{ EFFECT_LEAVES, { "leaves", effects_leaves } },
	{ EFFECT_DRAWS, { "draws", effects_draws } },
	{ EFFECT_HIDES, { "hides", effects_hides } },
	{ EFFECT_OPENS, { "opens", effects_opens } },
	{ EFFECT_MAKES, { "makes", effects_makes } },
	{ EFFECT_MAY_OPEN, { "may open", effects_may_open } },
	{ EFFECT_ADDS, { "adds", of_may_draw } },
	{ EFFECT_SCHEMA, { "schema", of_schema } },
	{ EFFECT_MOMENTARY, { "momentary", of_momentary } },
	{ EFFECT_TIMELESS, { "timeless", of_timeless } },
	{ EFFECT_PLAIN, { "plain", of_plain } },
};
#define SQL_EFFECTS (sizeof sql_effects_old / sizeof *sql_effects_old)

/* --- where they are meant to differ --- */

static bool is_letter_of_name(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

/* A word and a "$", or a byte that is not ASCII, side by side. */
static bool is_beside(const char *at)
{
	return (is_letter_of_name(at[0]) && (at[1] == '$' || at[1] < 0)) ||
	    (is_letter_of_name(at[1]) && (at[0] == '$' || at[0] < 0));
}

/* A number, and a word or a "$". */
static bool is_behind_number(const char *at)
{
	return at[0] >= '0' && at[0] <= '9' &&
	    (is_letter_of_name(at[1]) || at[1] == '$');
}

static bool is_short_do(const char *at)
{
	return strncasecmp(at, "doe'", 4) == 0 ||
	    strncasecmp(at, "dolanguage", 10) == 0;
}

/* temporary_x is another name. */
static bool is_longer_temporary(const char *at)
{
	const char ch = strncasecmp(at, "temporary", 9) == 0 ? at[9] : ' ';

	return is_letter_of_name(ch) || (ch >= '0' && ch <= '9');
}

/* menu&"a" is no U&"a" */
static bool is_longer_unicode(const char *at)
{
	return (is_letter_of_name(at[0]) || (at[0] >= '0' && at[0] <= '9')) &&
	    strncasecmp(at + 1, "u&", 2) == 0;
}

static bool is_backslash(const char *at)
{
	return at[0] == '\\';
}

static bool is_parameter(const char *at)
{
	return at[0] == '$' && at[1] >= '0' && at[1] <= '9';
}

static bool has(const char *text, bool (*is)(const char *at))
{
	for (; *text != '\0'; text++)
		if (is(text))
			return true;
	return false;
}

/*
 * PostgreSQL's lexer decides where the readers of before were of several minds.
 * Is the text one of these?
 */
static inline bool sql_effects_may_differ(const char *text, uint32_t effect)
{
	/*
	 * "$" and bytes that are not ASCII belong to a word: set$ is no SET. Inside
	 * of $$..$$ and strings a "$" does not, so $$set begins with one.
	 */
	if (has(text, is_beside))
		return true;
	/* up to PostgreSQL 14, 1into is INTO; 1$a$ begins a string, $1$ does not */
	if (has(text, is_behind_number))
		return true;
	/* doe is a word, not DO and e'...' */
	if (has(text, is_short_do) || has(text, is_longer_temporary) ||
	    has(text, is_longer_unicode))
		return true;
	/* $1 'a' is no SQL; nor is a name without an end, which has a quote there */
	if (effect == EFFECT_MOMENTARY && (has(text, is_parameter) ||
	    (strchr(text, '"') != NULL && text[strlen(text) - 1] == '\'')))
		return true;
	/*
	 * In E'...' two quotes do not end the string, and a word may begin behind
	 * \n. E'no\w' is 'now', so it is not timeless. Without an end it is no SQL.
	 */
	if (effect == EFFECT_TIMELESS && has(text, is_backslash))
		return true;
	return strcasestr(text, "e'") != NULL &&
	    (effect == EFFECT_MOMENTARY || has(text, is_backslash) ||
	    strstr(text, "''") != NULL);
}

/* The first effect that its reader tells in another way; NULL: none. */
static inline const struct sql_reader *sql_effects_other(const char *sql,
    size_t n)
{
	const uint32_t effects = sql_effects(sql, n);

	for (size_t i = 0; i < SQL_EFFECTS; i++) {
		const uint32_t effect = sql_effects_old[i].effect;
		const struct sql_reader *const old = &sql_effects_old[i].old;

		if (((effects & effect) != 0) != (old->answer(sql, n) != 0) &&
		    !sql_effects_may_differ(sql, effect))
			return old;
	}
	return NULL;
}

#endif
