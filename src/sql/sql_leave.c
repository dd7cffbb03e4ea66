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
#include "sql/sql.h"
#include "sql/sql_words.h"

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
	bool block;	/* one was ahead: it was looked at, and all behind it */
	bool piece;	/* it is a part of a text: more may be on both sides */
};

static bool is_inner(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	    (ch >= '0' && ch <= '9') || ch == '$' || (uint8_t)ch >= 0x80;
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

/* Does a name or number end ahead of s, so that s goes on with it? */
static bool goes_on(const struct place *p, const char *s)
{
	return s > p->start && (is_inner(s[-1]) || s[-1] == '_');
}

/* TEMP or TEMPORARY, and pg_temp or pg_temp_3; not a_temp, temper, tempt. */
static bool is_temporary(const struct place *p)
{
	const char *const word = p->at - 2;
	const char *const next = p->at + 2;
	const struct place prefix = { .start = p->start, .at = word,
	    .end = p->end };

	if (is_word(&prefix, "pg_temp", 3))
		return true;
	if (goes_on(p, word))
		return false;
	return is_word(p, "temporary", 2) || next == p->end ||
	    !(is_inner(*next) || *next == '_');
}

static bool is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
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
 * EFFECT_WORDS. If it fails, it has no tag, but may have committed something before.
 */
static bool is_block(const struct place *p)
{
	if (goes_on(p, p->at) || !is_start(p))
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

/* Behind a literal that ends where it seems to, or a parameter; or NULL. */
static const char *skip_argument(const char *s, const char *end, bool literal)
{
	s = skip_blanks(s, end);
	if (s < end && *s == '\'') {
		do
			s++;
		while (s < end && *s != '\'' && *s != '\\');
		if (s == end || *s != '\'' || s + 1 == end || s[1] == '\'')
			return NULL;
		s++;
	} else if (!literal && end - s > 1 && *s == '$') {
		while (s + 1 < end && s[1] >= '0' && s[1] <= '9')
			s++;
		s++;
	} else {
		return NULL;
	}
	s = skip_blanks(s, end);
	return s < end && *s == ',' ? s + 1 : NULL;
}

/* Does a name begin at word that has no schema, or that of PostgreSQL's own? */
static bool is_function(const struct place *p, const char *word)
{
	static const char schema[] = "pg_catalog.";
	const size_t n = sizeof schema - 1;

	if ((size_t)(word - p->start) >= n &&
	    strncasecmp(word - n, schema, n) == 0)
		word -= n;
	return word == p->start || !(is_inner(word[-1]) || word[-1] == '_' ||
	    word[-1] == '.' || word[-1] == '"');
}

/* Is it set_config('name', ..., true), and not of the search_path? */
static bool is_local_call(const struct place *p)
{
	static const char path[] = "'search_path'";
	const char *at = skip_blanks(p->at + 4, p->end);

	if (!is_function(p, p->at - 6) || at == p->end || *at != '(')
		return false;
	at = skip_blanks(at + 1, p->end);
	/* tables would be temporary ones, if that says so */
	if ((size_t)(p->end - at) >= sizeof path &&
	    strncasecmp(at, path, sizeof path - 1) == 0)
		return false;
	at = skip_argument(at, p->end, true);
	at = at == NULL ? NULL : skip_argument(at, p->end, false);
	if (at == NULL)
		return false;
	at = skip_blanks(at, p->end);
	if (p->end - at < 5 || strncasecmp(at, "true", 4) != 0)
		return false;
	at = skip_blanks(at + 4, p->end);
	return at < p->end && *at == ')';
}

static bool is_lock(const struct place *p)
{
	return !(is_word(p, "pg_advisory_xact_lock", 4) &&
	    is_function(p, p->at - 4)) &&
	    !(is_word(p, "pg_try_advisory_xact_lock", 8) &&
	    is_function(p, p->at - 8));
}

/* ... which no other letters follow, or are ahead of: not clients_status */
static bool is_whole_word(const struct place *p, const char *word)
{
	const char *const end = p->at + strlen(word);

	return is_word(p, word, 0) && !goes_on(p, p->at) &&
	    (end == p->end || !(is_inner(*end) || *end == '_'));
}

/* U&"..." and U&'...'; not menu&"... */
static uint32_t look_at_unicode(struct place *p)
{
	if (goes_on(p, p->at))
		return 0;
	return p->at[2] == '"' ? EFFECT_LEAVES | EFFECT_MAY_OPEN : EFFECT_LEAVES;
}

/* LOAD in a block has no tag. */
static bool loads(const struct place *p)
{
	static const char *const words[] = { "load", NULL };

	return sql_has_word(p->at, (size_t)(p->end - p->at), words);
}

/* A block that makes its SQL itself, or that may be in any language. */
static bool makes_sql(const struct place *p)
{
	static const char *const words[] = { "execute", "language", NULL };

	return sql_has_word(p->at, (size_t)(p->end - p->at), words);
}

/* What is behind it in other pieces is not known. */
static uint32_t look_at_block(struct place *p)
{
	if (!is_block(p))
		return 0;
	if (p->piece)
		return EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN;
	if (p->block)
		return EFFECT_LEAVES;
	p->block = true;
	if (loads(p))
		return EFFECT_LEAVES | EFFECT_OPENS;
	return makes_sql(p) ? EFFECT_LEAVES | EFFECT_MAY_OPEN : EFFECT_LEAVES;
}

/* Names are not read in pieces. */
static uint32_t look_at_call(struct place *p)
{
	if (p->piece)
		return EFFECT_LEAVES | EFFECT_HIDES;
	return is_local_call(p) ? EFFECT_WORDS : EFFECT_LEAVES;
}

static uint32_t look_at_temporary(struct place *p)
{
	return is_temporary(p) ? EFFECT_LEAVES | EFFECT_MAKES : 0;
}

static uint32_t look_at_lock(struct place *p)
{
	return is_lock(p) ? EFFECT_LEAVES : 0;
}

/* A query comes as a string. */
static uint32_t look_at_query(struct place *p)
{
	return is_whole_word(p, "ts_stat") || is_whole_word(p, "ts_rewrite") ?
	    EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN : 0;
}

#define PAIR(a, b) ((uint16_t)((a) << 8 | (b)))
#define LINE ('_' | FOLD)

static inline uint16_t pair_at(const char *s)
{
	return PAIR((uint8_t)s[0] | FOLD, (uint8_t)s[1] | FOLD);
}

/*
 * By UPDATE of pg_settings parameters are set; query_to_xml() and its like run
 * what is a string.
 */
static const struct word {
	uint16_t pair;
	uint8_t before;		/* letters of the word ahead of its pair */
	uint32_t what;		/* effects; or: */
	uint32_t (*see)(struct place *p);
	const char *word;
} vocabulary[] = {
	{ PAIR('d', 'o'), 0, 0, look_at_block, "do" },
	{ PAIR('t', 's'), 0, 0, look_at_query, "ts_" },
	{ PAIR('m', 'p'), 2, 0, look_at_temporary, "temp" },
	{ PAIR('g', 's'), 9, EFFECT_LEAVES, NULL, "pg_settings" },
	{ PAIR('n', 'f'), 6, 0, look_at_call, "set_config" },
	{ PAIR('t', 'v'), 3, EFFECT_DRAWS, NULL, "nextval" },
	{ PAIR('t', 'v'), 2, EFFECT_DRAWS, NULL, "setval" },
	{ PAIR('d', 'v'), 2, 0, look_at_lock, "_advisory_" },
	{ PAIR('u', '&'), 0, 0, look_at_unicode, "u&\"" },
	{ PAIR('u', '&'), 0, 0, look_at_unicode, "u&'" },
	{ PAIR('x', 'm'), 9, EFFECT_LEAVES | EFFECT_HIDES | EFFECT_MAY_OPEN, NULL,
	    "query_to_xml" },
	{ PAIR('d', 'b'), 0, EFFECT_LEAVES | EFFECT_OPENS, NULL, "dblink_connect" },
	{ PAIR('e', 'p'), 1, EFFECT_LEAVES | EFFECT_OPENS, NULL,
	    "replication_origin_session_setup" },
	{ PAIR('e', 'p'), 10, EFFECT_LEAVES | EFFECT_OPENS, NULL,
	    "physical_replication_slot" },
	{ PAIR('e', 'p'), 9, EFFECT_LEAVES | EFFECT_OPENS, NULL,
	    "logical_replication_slot" },
	{ PAIR('t', LINE), 2, EFFECT_LEAVES, NULL, "set_limit" },
};

/* Two letters are there, at least. */
static uint32_t look_at(struct place *p)
{
	const uint16_t pair = pair_at(p->at);

	for (const struct word *w = vocabulary; w < vocabulary +
	    sizeof vocabulary / sizeof *vocabulary; w++)
		if (w->pair == pair && is_word(p, w->word, w->before))
			return w->see == NULL ? w->what : w->see(p);
	return 0;
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

static struct place place_of(const char *sql, size_t n)
{
	return (struct place){ .start = sql, .at = sql, .end = sql + n };
}

static bool has_word(const char *sql, size_t n)
{
	struct place p = place_of(sql, n);

	return look_up_to(&p, p.end, true) != 0;
}

uint32_t sql_what_leaves(const void *sql, size_t n)
{
	struct place p = place_of(sql, n);

	return look_up_to(&p, p.end, false) & ~(uint32_t)EFFECT_WORDS;
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

/* --- numbers of sequences --- */

bool sql_may_draw(const void *sql, size_t n)
{
	static const char *const defaults[] = { "default", NULL };
	static const char *const update[] = { "update", NULL };
	static const char *const adds[] = { "insert", "merge", NULL };
	static const char *const with[] = { "with", NULL };

	return (sql_has_word(sql, n, defaults) &&
	    sql_has_word(sql, n, update)) ||
	    (sql_has_word(sql, n, adds) && sql_has_word(sql, n, with));
}

/* --- SET LOCAL --- */

/* Behind the word and blanks, if it stands at s; else NULL. */
static const char *skip_word(const char *s, const char *end, const char *word)
{
	const size_t n = strlen(word);

	s = skip_blanks(s, end);
	if ((size_t)(end - s) <= n || strncasecmp(s, word, n) != 0)
		return NULL;
	const char *const next = skip_blanks(s + n, end);

	return next == s + n || next == end ? NULL : next;
}

/* ... and a name or word comes, not the rest of a name, as in local . x */
static bool is_word_before_name(const char *s, const char *end,
    const char *word)
{
	const char *const next = skip_word(s, end, word);

	return next != NULL && (*next == '"' || *next == '_' ||
	    (is_inner(*next) && *next != '$'));
}

bool sql_is_local(const char *sql, size_t n)
{
	const char *const end = sql + n;
	const char *const at = skip_word(sql, end, "set");

	return at != NULL && (is_word_before_name(at, end, "local") ||
	    is_word_before_name(at, end, "transaction"));
}

bool sql_is_set(const char *sql, size_t n)
{
	return skip_word(sql, sql + n, "set") != NULL ||
	    skip_word(sql, sql + n, "reset") != NULL;
}

bool sql_is_single(const char *sql, size_t n)
{
	const char *const end = memchr(sql, ';', n);

	return end == NULL || (size_t)(end - sql) + 2 >= n;
}
