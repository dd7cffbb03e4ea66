/* sql_leave.c - texts that may leave something behind in a session.
 *
 * Two letters of each word are rare enough that most texts have none of these
 * pairs; 16 bytes are looked at in one go.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_leave.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "sql/effects.h"
#include "sql/sql_chars.h"
#include "sql/sql_vocabulary.h"

#define BLOCK 16
#define WORD_MAX 8	/* bytes of LANGUAGE */
#define FOLD 0x20	/* letters to lower case */
#define D_OR_T (FOLD | ('d' ^ 't'))	/* ... and d to t, f to v */

typedef uint8_t block __attribute__((vector_size(BLOCK)));

/* --- is there a pair? --- */

/*
 * Where BLOCK + 2 bytes have the first letter of one: nextVal, setVal,
 * aDVisory; teMPorary; set_coNFig; pg_settinGS; DO; U&"..."; query_to_XMl; and
 * three of TS_stat, rEPLication, DBLink, seT_Limit. Some others are taken for
 * pairs, too (tf, df, nv, any &), as fewer comparisons do then.
 */
static inline block find_pairs(const uint8_t *s)
{
	block a, b, c, hit;

	memcpy(&a, s, BLOCK);
	memcpy(&b, s + 1, BLOCK);
	memcpy(&c, s + 2, BLOCK);
	hit = (block)(b == '&');
	hit |= (block)(((a | FOLD) == 'x') & ((b | FOLD) == 'm'));
	hit |= (block)(((a | FOLD) == 't') & ((b | FOLD) == 's') & (c == '_'));
	/* d and t, and f and v, differ by one bit */
	hit |= (block)((((a | D_OR_T) == 't') | ((a | FOLD) == 'n')) &
	    ((b | D_OR_T) == 'v'));
	hit |= (block)(((a | FOLD) == 'm') & ((b | FOLD) == 'p'));
	hit |= (block)(((a | FOLD) == 'g') & ((b | FOLD) == 's'));
	hit |= (block)(((a | FOLD) == 'd') & ((b | FOLD) == 'o'));
	hit |= (block)(((c | FOLD) == 'l') &
	    ((((a | FOLD) == 'e') & ((b | FOLD) == 'p')) |
	    (((a | FOLD) == 'd') & ((b | FOLD) == 'b')) |
	    (((a | D_OR_T) == 't') & (b == '_'))));
	return hit;
}

static inline bool is_any(block hit)
{
	uint64_t any[2];

	memcpy(any, &hit, sizeof any);
	return (any[0] | any[1]) != 0;
}

/* --- is this one of the words? --- */

/* A text around a place in it. */
struct place {
	const char *start, *at, *end;
	bool piece;	/* it is a part of a text: more may be on both sides */
};

/* A "$" ends a word, because in a string it may be that of a dollar quote. */
static bool is_inner(char ch)
{
	return sql_char_is(ch, SQL_CHAR_LETTER | SQL_CHAR_DIGIT |
	    SQL_CHAR_UNDERSCORE | SQL_CHAR_HIGH);
}

/*
 * Does word, in lower case, stand there, so that at is behind its first `before`
 * letters? Hot: most differ in the first one.
 */
static bool is_word(const struct place *p, const char *word, size_t before)
{
	if ((size_t)(p->at - p->start) < before)
		return false;
	for (const char *s = p->at - before; *word != '\0'; s++, word++) {
		const bool upper = s < p->end && *s >= 'A' && *s <= 'Z';

		if (s == p->end || (upper ? *s | FOLD : *s) != *word)
			return false;
	}
	return true;
}

/* Is s amid a name? Up to PostgreSQL 14 a word may stand behind a number. */
static bool goes_on(const struct place *p, const char *s)
{
	return s > p->start && is_inner(s[-1]) &&
	    !sql_char_is(s[-1], SQL_CHAR_DIGIT);
}

static bool is_blank(char ch)
{
	return sql_char_is(ch, SQL_CHAR_BLANK);
}

static const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && is_blank(*s))
		s++;
	return s;
}

/* May a statement begin there? Behind the name of a Parse, and in a string, too. */
static bool is_start(const struct place *p)
{
	const char *s = p->at;

	while (s > p->start && is_blank(s[-1])) {
		/* a comment may end with the line */
		if (*--s == '\n' || *s == '\r')
			return true;
	}
	return s == p->start || memchr(";/'$", s[-1], sizeof ";/'$") != NULL;
}

/*
 * DO with a string, LANGUAGE, or a comment behind it; not ON CONFLICT DO
 * NOTHING. If it fails, it has no tag, but may have committed something before.
 */
static bool is_block(const struct place *p)
{
	if (!is_start(p))
		return false;
	const char *const next = skip_blanks(p->at + 2, p->end);
	const struct place rest = { .start = next, .at = next,
	    .end = p->end };

	/* the next word may go on in the next piece */
	if (next == p->end || (p->piece && p->end - next < WORD_MAX))
		return p->piece;
	/* 'do' is all of a string */
	if (*next == '\'' && p->at > p->start && p->at[-1] == '\'' &&
	    (next + 1 == p->end || next[1] != '\''))
		return false;
	return (strchr("$'/-", *next) != NULL ||
	    is_word(&rest, "e'", 0) || is_word(&rest, "language", 0)) &&
	    *next != '\0';
}

/* Does a name begin at word that has no schema, or that of PostgreSQL's own? */
static bool is_function(const struct place *p, const char *word)
{
	static const char schema[] = "pg_catalog.";
	const size_t n = sizeof schema - 1;

	if ((size_t)(word - p->start) >= n &&
	    strncasecmp(word - n, schema, n) == 0)
		word -= n;
	return word == p->start || !(is_inner(word[-1]) || word[-1] == '$' ||
	    word[-1] == '.' || word[-1] == '"');
}

static bool is_lock(const struct place *p)
{
	return !(is_word(p, "pg_advisory_xact_lock", 4) &&
	    is_function(p, p->at - 4)) &&
	    !(is_word(p, "pg_try_advisory_xact_lock", 8) &&
	    is_function(p, p->at - 8));
}

/* U&"..." and U&'...'; not menu&"... */
static uint32_t look_at_unicode(const struct place *p)
{
	const char quote = p->end - p->at > 2 ? p->at[2] : '\0';

	if (goes_on(p, p->at) || (quote != '"' && quote != '\''))
		return 0;
	return quote == '"' ? EFFECT_LEAVES | EFFECT_MAY_OPEN : EFFECT_LEAVES;
}

/* A word whose letter after so many others is that at p->at. */
static uint32_t look_at_word(const struct place *p, size_t before)
{
	const char *const word = p->at - before;
	const char *end = p->at;

	if ((size_t)(p->at - p->start) < before || goes_on(p, word))
		return 0;
	while (end < p->end && is_inner(*end))
		end++;
	const struct sql_word *const w = sql_find_word(word,
	    (size_t)(end - word));
	const uint32_t says = w == NULL ? 0 : w->says;

	if ((says & W_TEMP) != 0)
		return EFFECT_LEAVES | EFFECT_MAKES;
	/* what is behind it is not read */
	return (says & W_QUERY) != 0 || ((says & W_DO) != 0 && is_block(p)) ?
	    EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN : 0;
}

/* Names are not read. */
static uint32_t of_config(const struct place *p)
{
	(void)p;
	return EFFECT_LEAVES | EFFECT_HIDES;
}

static uint32_t of_lock(const struct place *p)
{
	return is_lock(p) ? EFFECT_LEAVES : 0;
}

static const struct part {
	const char *text;
	size_t before;
	uint32_t effects;
	uint32_t (*look)(const struct place *p);
} parts[] = {
#define PART(text, before, effects, look) { text, before, effects, look },
#include "sql/sql_parts.def"
};

/* Two letters are there, at least. */
static uint32_t look_at(const struct place *p)
{
	const char ch = (char)(*p->at | FOLD);
	uint32_t what = 0;

	if (p->at[1] == '&')
		return ch == 'u' ? look_at_unicode(p) : 0;
	if (ch == 'd' || ch == 't')
		what = look_at_word(p, 0);
	else if (ch == 'm')
		what = look_at_word(p, 2);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (parts[i].text[parts[i].before] == ch &&
		    is_word(p, parts[i].text, parts[i].before))
			what |= parts[i].look == NULL ? parts[i].effects :
			    parts[i].look(p);
	return what;
}

/* One bit a byte, the first one lowest. */
static unsigned bits_of(block hit)
{
	uint64_t half[2];
	unsigned bits = 0;

	memcpy(half, &hit, sizeof half);
	for (unsigned i = 0; i < 2; i++)
		/* each byte is all ones, or zero */
		bits |= (unsigned)(((le64toh(half[i]) &
		    UINT64_C(0x8040201008040201)) *
		    UINT64_C(0x0101010101010101)) >> 56) << 8 * i;
	return bits;
}

/* What is at places from p->at to `to`, ORed; or what the first one has. */
static uint32_t look_up_to(struct place *p, const char *to, bool first)
{
	uint32_t what = 0;

	while (p->at < to && p->end - p->at > 1 && (what == 0 || !first)) {
		const bool many = p->end - p->at > BLOCK + 1;
		const char *const start = p->at;
		unsigned bits = many ?
		    bits_of(find_pairs((const uint8_t *)start)) : 1;

		for (; bits != 0; bits &= bits - 1) {
			p->at = start + __builtin_ctz(bits);
			if (p->at < to)
				what |= look_at(p);
		}
		p->at = start + (many ? BLOCK : 1);
	}
	return what;
}

static bool has_word(const char *sql, size_t n)
{
	struct place p = { .start = sql, .at = sql, .end = sql + n };

	return look_up_to(&p, p.end, true) != 0;
}

bool sql_may_leave(const void *sql, size_t n)
{
	const uint8_t *const s = sql;
	uint8_t last[BLOCK + 2] = { 0 };
	block hit = { 0 };
	size_t i = 0;

	if (n <= BLOCK + 1) {
		memcpy(last, s, n);
		return is_any(find_pairs(last)) && has_word(sql, n);
	}
	for (; i + BLOCK + 1 < n; i += BLOCK)
		hit |= find_pairs(s + i);
	/* the end, again with some of what was before */
	hit |= find_pairs(s + n - BLOCK - 2);
	return is_any(hit) && has_word(sql, n);
}

/* --- a long text, in pieces --- */

/* Bytes that tell what a word is: ahead of its pair, from there on. */
#define AHEAD 32
#define BEHIND 64

_Static_assert(SQL_LONG_KEPT == AHEAD + BEHIND, "a word and what is around it");

/* At places of n bytes; behind these are BEHIND more, but in the end. */
static uint32_t look_in(const char *s, size_t from, size_t to, size_t n)
{
	struct place p = { .start = s, .at = s + from, .end = s + n,
	    .piece = true };

	return look_up_to(&p, s + to, false);
}

static size_t first_new(const struct sql_long *l)
{
	return l->kept > BEHIND ? l->kept - BEHIND : 0;
}

void sql_long_take(struct sql_long *l, const void *bytes, size_t n)
{
	const char *const s = bytes;
	char both[2 * SQL_LONG_KEPT];
	const size_t more = n < SQL_LONG_KEPT ? n : SQL_LONG_KEPT;
	const size_t all = l->kept + more;

	memcpy(both, l->last, l->kept);
	memcpy(both + l->kept, s, more);
	if (all > BEHIND)
		l->what |= look_in(both, first_new(l), all - BEHIND, all);
	if (n > SQL_LONG_KEPT)
		l->what |= look_in(s, AHEAD, n - BEHIND, n);
	l->kept = (uint8_t)(all < SQL_LONG_KEPT ? all : SQL_LONG_KEPT);
	memcpy(l->last, n > SQL_LONG_KEPT ? s + n - l->kept :
	    both + all - l->kept, l->kept);
	l->what &= ~EFFECT_WORDS;
}

void sql_long_end(struct sql_long *l)
{
	l->what |= look_in(l->last, first_new(l), l->kept, l->kept);
	l->what &= ~EFFECT_WORDS;
	l->kept = 0;
}
