/* effects.c - what a text may do to the session that runs it.
 *
 * The lexer knows where strings, names, dollar quotes and comments begin and end,
 * by PostgreSQL's scan.l: a word has letters, digits, "_", "$" and all bytes that
 * are not ASCII, and begins with no digit and no "$". Inside of strings and
 * comments a "$" ends a word, because it may be that of a dollar quote. Words are
 * collected wherever they stand; what they mean together is said at the end.
 * SPDX-License-Identifier: ISC */
#include "sql/effects.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "sql/sql.h"
#include "sql/sql_vocabulary.h"
#include "sql/sql_words.h"

#define NAME_KEPT 63		/* bytes: PostgreSQL remarks on a longer name */

/* --- the lexer --- */

enum where { IN_TEXT, IN_STRING, IN_NAME, IN_DOLLARS, IN_LINE, IN_COMMENT };

struct lexer {
	const char *start, *at, *end;
	size_t given;		/* bytes, with the NUL if there is one */
	enum where where;
	bool escapes;		/* in E'...' */
	unsigned depth;		/* of comments */
	const char *open;	/* where the string or name, or its tag, begins */
	size_t tag;		/* bytes of the tag of a dollar quote */
	const char *literal;	/* the end of a literal, if nothing but blanks and
				 * comments came since; or NULL */
	const char *semicolon;	/* the first one; or NULL */
	bool awaits;		/* the first word of a statement is to come */
	bool block;		/* there was a DO with a block */
	uint32_t says, firsts;
	uint32_t behind;	/* what words behind the block say */
	uint32_t first;		/* of the first statement */
	uint32_t found;		/* effects that are known by now */
	bool any_literal, unicode, backslash, hidden_call;
	bool untimely;		/* not EFFECT_TIMELESS */
	bool into;		/* INTO as a word of a statement */
	bool names;		/* SET, set_config() or U&"..", and more */
};

static bool is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
	return ((unsigned)(uint8_t)ch | 0x20) - 'a' < 26;
}

/* May a word begin with it? */
static bool is_start(char ch)
{
	return is_letter(ch) || ch == '_' || (uint8_t)ch >= 0x80;
}

static bool is_inner(char ch)
{
	return is_start(ch) || is_digit(ch);
}

static bool stands_at(const struct lexer *l, const char *at, const char *text)
{
	const size_t n = strlen(text);

	return (size_t)(l->end - at) >= n && strncasecmp(at, text, n) == 0;
}

static const char *skip_blanks(const struct lexer *l, const char *at)
{
	while (at < l->end && is_blank(*at))
		at++;
	return at;
}

/* --- parts of words --- */

/* Behind a literal that ends where it seems to, or a parameter; or NULL. */
static const char *skip_argument(const struct lexer *l, const char *at,
    bool literal)
{
	at = skip_blanks(l, at);
	if (at < l->end && *at == '\'') {
		do
			at++;
		while (at < l->end && *at != '\'' && *at != '\\');
		if (at == l->end || *at != '\'' || at + 1 == l->end ||
		    at[1] == '\'')
			return NULL;
		at++;
	} else if (!literal && l->end - at > 1 && *at == '$') {
		do
			at++;
		while (at < l->end && is_digit(*at));
	} else {
		return NULL;
	}
	at = skip_blanks(l, at);
	return at < l->end && *at == ',' ? at + 1 : NULL;
}

/* Does a name begin at word that has no schema, or that of PostgreSQL's own? */
static bool is_function(const struct lexer *l, const char *word)
{
	static const char schema[] = "pg_catalog.";
	const size_t n = sizeof schema - 1;

	if ((size_t)(word - l->start) >= n &&
	    strncasecmp(word - n, schema, n) == 0)
		word -= n;
	return word == l->start || !(is_inner(word[-1]) || word[-1] == '$' ||
	    word[-1] == '.' || word[-1] == '"');
}

/* Is it set_config('name', ..., true), and not of the search_path? */
static bool is_local_call(const struct lexer *l, const char *word)
{
	const char *at = skip_blanks(l, word + strlen("set_config"));

	if (!is_function(l, word) || at == l->end || *at != '(')
		return false;
	at = skip_blanks(l, at + 1);
	/* tables would be temporary ones, if that says so */
	if (stands_at(l, at, "'search_path'"))
		return false;
	at = skip_argument(l, at, true);
	at = at == NULL ? NULL : skip_argument(l, at, false);
	if (at == NULL)
		return false;
	at = skip_blanks(l, at);
	if (!stands_at(l, at, "true"))
		return false;
	at = skip_blanks(l, at + 4);
	return at < l->end && *at == ')';
}

static uint32_t of_config(const struct lexer *l, const char *word)
{
	return is_local_call(l, word) ? EFFECT_WORDS : EFFECT_LEAVES;
}

static uint32_t of_lock(const struct lexer *l, const char *word)
{
	static const char *const own[] = { "pg_advisory_xact_lock",
		"pg_try_advisory_xact_lock" };
	static const size_t before[] = { 2, 6 };	/* "_advisory_" */

	for (size_t i = 0; i < 2; i++)
		if ((size_t)(word - l->start) >= before[i] &&
		    stands_at(l, word - before[i], own[i]) &&
		    is_function(l, word - before[i]))
			return 0;
	return EFFECT_LEAVES;
}

static const struct part {
	const char *text;
	size_t before;
	uint32_t effects;
	uint32_t (*look)(const struct lexer *l, const char *word);
} parts[] = {
#define PART(text, before, effects, look) { text, before, effects, look },
#include "sql/sql_parts.def"
};

/* Which letters may stand behind a letter so that the two are in a part. */
#define BEHIND(ch) (1u << LETTER(ch))
static const uint32_t pairs[32] = {
	[LETTER('d')] = BEHIND('b') | BEHIND('v'), [LETTER('e')] = BEHIND('p'),
	[LETTER('t')] = BEHIND('_') | BEHIND('v'), [LETTER('g')] = BEHIND('s'),
	[LETTER('x')] = BEHIND('m'), [LETTER('n')] = BEHIND('f'),
	[LETTER('m')] = BEHIND('p'),
};

/* Two letters of a part are there: is it that part? */
static void look_for_parts(struct lexer *l, const char *at)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const struct part *const p = &parts[i];
		const char *const word = at - p->before;

		if ((*at | 0x20) != p->text[p->before] ||
		    (size_t)(at - l->start) < p->before ||
		    !stands_at(l, word, p->text))
			continue;
		const uint32_t what = p->look == NULL ? p->effects :
		    p->look(l, word);

		l->found |= what == 0 ? 0 : what | EFFECT_WORDS;
	}
}

/* --- literals --- */

static bool is_one_of(const struct lexer *l, const char *at,
    const char *const *list)
{
	for (; *list != NULL; list++)
		if (stands_at(l, at, *list))
			return true;
	return false;
}

/* A letter or digit of a literal: may its type be one of times? */
static void look_for_clock(struct lexer *l, const char *at)
{
	static const char *const clock[] = { "now", "today", "tomorrow",
		"yesterday", NULL };
	static const char *const times[] = { "current", "allballs", NULL };
	const char before = at[-1];

	if (is_digit(*at))
		l->untimely = true;
	if (strchr("ntyca", *at | 0x20) == NULL)
		return;
	if (is_one_of(l, at, clock)) {
		l->untimely = true;
		if (!is_letter(before))
			l->found |= EFFECT_MOMENTARY;
	}
	if (is_one_of(l, at, times))
		l->untimely = true;
}

/*
 * Of a string: may it have a word of times with what its type takes away: a
 * backslash, the quotes of a part of an array or range?
 */
static void look_for_quotes(struct lexer *l)
{
	const char ch = *l->at;
	const char before = l->at[-1];
	const char after = l->at + 1 < l->end ? l->at[1] : '\0';

	/* \' may be the end of the string, or not */
	if ((ch == '\\' && (is_letter(after) || is_digit(after) ||
	    after == '\'')) ||
	    (ch == '"' && is_letter(before) && is_letter(after)))
		l->found |= EFFECT_MOMENTARY;
	l->untimely = l->untimely || is_digit(ch) || ch == '\\';
}

static void begin_literal(struct lexer *l, enum where where, const char *open)
{
	/* 'no' 'w' is one */
	if (l->literal != NULL && l->literal < open && *open == '\'') {
		l->found |= EFFECT_MOMENTARY;
		l->untimely = true;
	}
	l->where = where;
	l->open = open;
	l->any_literal = true;
	l->awaits = false;
	l->literal = NULL;
}

static void end_literal(struct lexer *l)
{
	l->where = IN_TEXT;
	l->literal = l->at;
	l->escapes = false;
}

/* --- words, as they come --- */

/* May a statement begin there? In a string, too. */
static bool may_begin(const struct lexer *l, const char *at)
{
	while (at > l->start && is_blank(at[-1])) {
		/* a comment may end with the line */
		if (*--at == '\n' || *at == '\r')
			return true;
	}
	return at == l->start || memchr(";/'$", at[-1], sizeof ";/'$") != NULL;
}

/* DO with a string, LANGUAGE, or a comment behind it; not ON CONFLICT DO NOTHING. */
static bool is_block(const struct lexer *l, const char *word)
{
	const char *const next = skip_blanks(l, word + strlen("do"));

	if (!may_begin(l, word) || next == l->end)
		return false;
	/* 'do' is all of a string */
	if (*next == '\'' && word > l->start && word[-1] == '\'' &&
	    (next + 1 == l->end || next[1] != '\''))
		return false;
	return strchr("$'/-", *next) != NULL || stands_at(l, next, "e'") ||
	    stands_at(l, next, "language");
}

/* Some words ask for a look at what is around; l->at is behind it. */
static void look_around(struct lexer *l, const char *word, uint32_t says)
{
	char name[SQL_PARAMETER_MAX];

	l->names = l->names || ((says & (W_SET | W_CALL)) != 0 &&
	    l->end - word > 3);
	if ((says & W_CALL) != 0)
		l->hidden_call = l->hidden_call || sql_call_at(l->at, l->end,
		    name) == SQL_NO_CHANGE;
	if ((says & W_TEMP) != 0)
		l->found |= EFFECT_WORDS | EFFECT_LEAVES | EFFECT_MAKES;
	if ((says & W_QUERY) != 0)
		l->found |= EFFECT_WORDS | EFFECT_LEAVES | EFFECT_HIDES |
		    EFFECT_MAY_OPEN;
	if ((says & W_CHANGES) != 0 ||
	    ((says & W_INTO) != 0 && !sql_adds_rows(l->start, word)))
		l->found |= EFFECT_SCHEMA;
	l->into = l->into || ((says & W_INTO) != 0 && l->where == IN_TEXT);
	l->block = l->block || ((says & W_DO) != 0 && is_block(l, word));
}

/* The first word of a statement is one that is known. */
static void note_first(struct lexer *l, const char *word, uint32_t first)
{
	char name[SQL_PARAMETER_MAX];
	const enum sql_change what = (first & (F_SET | F_RESETS)) == 0 ?
	    SQL_NO_CHANGE : sql_change_at(word, l->end, name);

	l->firsts |= first;
	if (l->semicolon == NULL)
		l->first = first;
	l->found |= what == SQL_SETS ? EFFECT_SETS :
	    what == SQL_RESETS ? EFFECT_RESETS : 0;
	if ((first & F_FORGETS) != 0 && sql_forgets_at(word, l->end))
		l->found |= EFFECT_FORGETS;
}

/* A word, n bytes before l->at, stands in a statement, not in quotes. */
static void note_token(struct lexer *l, const char *word, size_t n)
{
	l->awaits = false;
	l->literal = NULL;
	if (n > NAME_KEPT || memchr(word, '$', n) != NULL)
		l->untimely = true;
	if (n == 1 && (*word | 0x20) == 'e' && l->at < l->end &&
	    *l->at == '\'') {
		begin_literal(l, IN_STRING, word);
		l->escapes = true;
		l->at++;
	}
}

/* U&"..." may be any name, U&'...' any string. */
static void note_unicode(struct lexer *l)
{
	const char *const quote = l->at + 1;

	if (l->end - l->at < 2 || *l->at != '&' ||
	    (*quote != '"' && *quote != '\''))
		return;
	l->unicode = true;
	l->names = l->names || l->end - quote > 1;
	l->found |= EFFECT_WORDS | EFFECT_LEAVES |
	    (*quote == '"' ? EFFECT_MAY_OPEN : 0);
}

static void take_word(struct lexer *l)
{
	const char *const word = l->at;
	const bool text = l->where == IN_TEXT;
	const bool literal = l->where == IN_STRING || l->where == IN_DOLLARS;
	const char *at = word;

	do {
		if (at + 1 < l->end &&
		    (pairs[LETTER(*at)] >> LETTER(at[1]) & 1) != 0)
			look_for_parts(l, at);
		if (literal)
			look_for_clock(l, at);
		at++;
	} while (at < l->end && (is_inner(*at) || (text && *at == '$')));
	const size_t n = (size_t)(at - word);
	const struct sql_word *const w = sql_find_word(word, n);

	l->at = at;
	if (n == 1 && (*word | 0x20) == 'u')
		note_unicode(l);
	if (w != NULL) {
		l->says |= w->says;
		look_around(l, word, w->says);
		l->behind |= l->block ? w->says : 0;
		if (text && l->awaits)
			note_first(l, word, w->first);
	}
	if (text)
		note_token(l, word, n);
}

/* --- other bytes, by where they are --- */

/* Does set_config, in any spelling but U&"..", stand before the parenthesis? */
static bool is_call(const struct lexer *l)
{
	const char *end = l->at;
	const size_t n = strlen("set_config");

	while (end > l->start && (is_blank(end[-1]) || end[-1] == '"'))
		end--;
	/* behind a comment it may be anything */
	return end > l->start && (end[-1] == '/' ||
	    ((size_t)(end - l->start) >= n &&
	    strncasecmp(end - n, "set_config", n) == 0));
}

/* What counts wherever it is. */
static void note_sign(struct lexer *l)
{
	const char ch = *l->at;

	if (ch == ';' && l->semicolon == NULL)
		l->semicolon = l->at;
	if (ch == '\\')
		l->backslash = true;
	if (ch == '(' && is_call(l))
		l->found |= EFFECT_CALLS;
}

/* The dollar sign of a tag, which is stepped over then? */
static bool take_tag(struct lexer *l)
{
	const char *at = l->at + 1;

	if (at < l->end && is_start(*at))
		while (at < l->end && is_inner(*at))
			at++;
	if (at == l->end || *at != '$')
		return false;
	begin_literal(l, IN_DOLLARS, l->at);
	l->tag = (size_t)(at + 1 - l->at);
	l->at = at + 1;
	return true;
}

/* A comment begins, and is stepped into? */
static bool take_comment(struct lexer *l)
{
	const char next = l->end - l->at > 1 ? l->at[1] : '\0';

	if (*l->at == '-' && next == '-')
		l->where = IN_LINE;
	else if (*l->at == '/' && next == '*')
		l->where = IN_COMMENT;
	else
		return false;
	l->untimely = true;
	l->depth = 1;
	l->at += 2;
	return true;
}

static void take_dollar(struct lexer *l)
{
	l->untimely = l->untimely || l->end - l->at < 2 || !is_digit(l->at[1]);
	if (take_tag(l))
		return;
	l->literal = NULL;
	l->awaits = false;
	/* its type may be regrole, as that of a literal */
	l->any_literal = l->any_literal || (l->end - l->at > 1 &&
	    is_inner(l->at[1]));
	l->at++;
}

static void end_statement(struct lexer *l)
{
	l->awaits = true;
	l->literal = NULL;
	l->at++;
}

static void step_text(struct lexer *l)
{
	const char ch = *l->at;

	if (is_blank(ch)) {
		l->at++;
	} else if (ch == '\'') {
		begin_literal(l, IN_STRING, l->at++);
	} else if (ch == '"') {
		l->where = IN_NAME;
		l->awaits = false;
		l->literal = NULL;
		l->open = l->at++;
	} else if (ch == '$') {
		take_dollar(l);
	} else if (ch == ';') {
		end_statement(l);
	} else if (!take_comment(l)) {
		l->awaits = false;
		l->literal = NULL;
		l->untimely = l->untimely || ch == '\\';
		l->at++;
	}
}

/* The quote that is open: does it end here, or are there two of them? */
static bool ends_quote(struct lexer *l, char quote)
{
	if (l->end - l->at > 1 && l->at[1] == quote) {
		l->at += 2;
		return false;
	}
	l->at++;
	return true;
}

/* Behind the backslash of E'...': a word may begin behind \n, but \s is a letter. */
static void skip_escaped(struct lexer *l)
{
	if (l->at == l->end || (is_inner(*l->at) &&
	    strchr("bfnrt", *l->at) == NULL))
		return;
	note_sign(l);
	look_for_quotes(l);
	l->at++;
}

static void step_string(struct lexer *l)
{
	if (*l->at == '\'') {
		if (ends_quote(l, '\''))
			end_literal(l);
		return;
	}
	look_for_quotes(l);
	if (*l->at++ == '\\' && l->escapes)
		skip_escaped(l);
}

static void step_name(struct lexer *l)
{
	if (*l->at != '"') {
		l->at++;
		return;
	}
	const char *const quote = l->at;

	if (!ends_quote(l, '"'))
		return;
	l->where = IN_TEXT;
	if (quote - l->open - 1 > NAME_KEPT)
		l->untimely = true;
}

static void step_dollars(struct lexer *l)
{
	look_for_quotes(l);
	if (*l->at != '$' || (size_t)(l->end - l->at) < l->tag ||
	    memcmp(l->at, l->open, l->tag) != 0) {
		l->at++;
		return;
	}
	l->at += l->tag;
	end_literal(l);
}

static void step_line(struct lexer *l)
{
	if (*l->at == '\n' || *l->at == '\r')
		l->where = IN_TEXT;
	l->at++;
}

static void step_comment(struct lexer *l)
{
	const char next = l->end - l->at > 1 ? l->at[1] : '\0';
	const bool opens = *l->at == '/' && next == '*';
	const bool ends = *l->at == '*' && next == '/';

	l->depth += opens;
	l->depth -= ends;
	l->at += opens || ends ? 2 : 1;
	if (l->depth == 0)
		l->where = IN_TEXT;
}

static void read_all(struct lexer *l)
{
	static void (*const steps[])(struct lexer *l) = {
		[IN_TEXT] = step_text, [IN_STRING] = step_string,
		[IN_NAME] = step_name, [IN_DOLLARS] = step_dollars,
		[IN_LINE] = step_line, [IN_COMMENT] = step_comment };

	while (l->at < l->end) {
		if (is_start(*l->at)) {
			take_word(l);
			continue;
		}
		note_sign(l);
		steps[l->where](l);
	}
}

/* --- what it means together --- */

static uint32_t if_any(uint32_t which, uint32_t effect)
{
	return which != 0 ? effect : 0;
}

static void add_block(struct lexer *l)
{
	if (!l->block)
		return;
	l->found |= EFFECT_WORDS | EFFECT_LEAVES |
	    ((l->behind & W_LOAD) != 0 ? EFFECT_OPENS :
	    if_any(l->behind & W_PIECES, EFFECT_MAY_OPEN));
}

/* By the statements, set_config() and parameters. */
static void add_settings(struct lexer *l)
{
	const uint32_t says = l->says;
	/* a name that can't be seen, or any statements */
	const bool any = l->hidden_call || l->unicode ||
	    (l->firsts & F_DO) != 0;
	const bool sets = (l->firsts & (F_SET | F_RESETS)) != 0 ||
	    (says & W_CALL) != 0;

	if (any || (says & (W_UNSEEN | W_OPTION)) != 0 ||
	    ((says & W_VIEW) != 0 && (says & W_UPDATE) != 0))
		l->found |= EFFECT_UNSEEN;
	if (any || (says & W_ACTING) != 0)
		l->found |= EFFECT_ROLE;
	if ((says & W_PATH) != 0 ||
	    ((says & W_SCHEMA) != 0 && (l->firsts & F_SET) != 0))
		l->found |= EFFECT_PATH;
	if ((says & W_ALL) != 0 && (l->firsts & F_RESETS) != 0)
		l->found |= EFFECT_ALL;
	if (any || (l->firsts & F_RUNS) != 0 ||
	    (l->found & EFFECT_HIDES) != 0 || (sets &&
	    ((says & W_REPORTED) != 0 || (l->found & (EFFECT_UNSEEN |
	    EFFECT_ROLE | EFFECT_ALL)) != 0)))
		l->found |= EFFECT_MAY_SET;
}

/* By words that need each other. */
static void add_words(struct lexer *l)
{
	const uint32_t says = l->says;

	if (((says & W_DEFAULT) != 0 && (says & W_UPDATE) != 0) ||
	    ((says & W_ADDS) != 0 && (says & W_WITH) != 0))
		l->found |= EFFECT_ADDS;
	if (l->any_literal && (l->unicode || (says & W_NAMED) != 0))
		l->found |= EFFECT_MOMENTARY;
	/* a comment ahead of a parenthesis may be one of another function */
	if ((says & W_CALL) == 0 && !l->unicode)
		l->found &= ~(uint32_t)EFFECT_CALLS;
	/* where a backslash hides the end of a string, any word may be one */
	if (l->backslash && (says & W_FORGETS) != 0 && (says & W_ALL) != 0)
		l->found |= EFFECT_FORGETS;
	l->found |= if_any(l->firsts & F_ENDS, EFFECT_ENDS) |
	    if_any(l->first & F_UTILITY, EFFECT_UTILITY);
}

/* Behind the word and blanks, if it stands at `at`; else NULL. */
static const char *skip_word(const char *at, const char *end, const char *word)
{
	const size_t n = strlen(word);

	while (at < end && is_blank(*at))
		at++;
	if ((size_t)(end - at) <= n || strncasecmp(at, word, n) != 0)
		return NULL;
	const char *next = at + n;

	while (next < end && is_blank(*next))
		next++;
	return next == at + n || next == end ? NULL : next;
}

/* ... and a name or word comes, not the rest of a name, as in local . x */
static bool is_word_before_name(const char *at, const char *end,
    const char *word)
{
	const char *const next = skip_word(at, end, word);

	return next != NULL && (*next == '"' || is_inner(*next));
}

/* SET LOCAL, SET TRANSACTION? */
static bool is_local(const char *at, const char *end)
{
	const char *const next = skip_word(at, end, "set");

	return next != NULL && (is_word_before_name(next, end, "local") ||
	    is_word_before_name(next, end, "transaction"));
}

static bool is_set(const char *at, const char *end)
{
	return skip_word(at, end, "set") != NULL ||
	    skip_word(at, end, "reset") != NULL;
}

/* By the beginning, and a second statement. */
static void add_shape(struct lexer *l)
{
	const char *const s = l->start;
	const size_t n = (size_t)(l->end - s);
	const size_t left = l->semicolon == NULL ? 0 :
	    (size_t)(l->end - l->semicolon);

	if (left > 1)
		l->found |= EFFECT_SEVERAL;
	if (left > 1 || (n > 0 && sql_is_suspect_reset(s[0])) ||
	    (n > 2 && (s[0] | 0x20) == 's' && (s[2] | 0x20) == 't'))
		l->found |= EFFECT_MATTERS;
	if ((l->found & (EFFECT_MATTERS | EFFECT_WORDS)) == 0 &&
	    ((l->found & EFFECT_ADDS) == 0 || !sql_is_suspect_draw(s[0])))
		l->found |= EFFECT_PLAIN;
	if (l->names && (l->found & (EFFECT_MATTERS | EFFECT_WORDS)) != 0)
		l->found |= EFFECT_NAMES;
	if (is_local(s, s + l->given))
		l->found |= EFFECT_LOCAL;
	if (is_set(s, s + l->given))
		l->found |= EFFECT_SET_FIRST;
	if (is_set(s, l->end) && left <= 2 && !l->backslash)
		l->found |= EFFECT_LONE_SET;
}

/* Of a text with a NUL. */
static void add_whole(struct lexer *l)
{
	const bool starts = l->end > l->start && is_start(l->start[0]);

	if (starts && (l->first & F_BEGINS) != 0 && l->semicolon == NULL)
		l->found |= EFFECT_BEGINS;
	if ((l->first & F_QUERY) != 0 && l->where == IN_TEXT && !l->untimely &&
	    (l->found & EFFECT_WORDS) == 0 &&
	    !((l->first & F_READS) != 0 && l->into))
		l->found |= EFFECT_TIMELESS;
}

uint32_t sql_effects(const char *text, size_t n)
{
	const size_t len = strnlen(text, n);
	struct lexer l = { .start = text, .at = text, .end = text + len,
		.given = len + (len < n), .literal = text,
		.awaits = true };

	read_all(&l);
	add_block(&l);
	add_settings(&l);
	add_words(&l);
	add_shape(&l);
	if (len < n)
		add_whole(&l);
	return l.found;
}

uint32_t sql_effects_long(const char *text, size_t n)
{
	static const char *const queries[] = { "select", "insert", "update",
		"delete", "merge", "with", "values", "table", NULL };

	const size_t read = n < SQL_TEXT_MAX ? n : SQL_TEXT_MAX;

	if (!sql_starts(text, read, queries))
		return EFFECTS_ANY;
	return EFFECTS_ANY & ~(uint32_t)(EFFECT_ENDS | EFFECTS_HOLD |
	    (sql_may_change_schema(text, read) ? 0 : EFFECT_SCHEMA));
}
