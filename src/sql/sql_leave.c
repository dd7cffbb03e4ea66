/* sql_leave.c - texts that may leave something behind in a session.
 *
 * Two letters of each word are rare enough that most texts have none of these
 * pairs; 16 bytes are looked at in one go.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_leave.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "sql/sql.h"
#include "sql/sql_words.h"

#define BLOCK 16
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
};

static bool is_inner(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	    (ch >= '0' && ch <= '9') || ch == '$' || (uint8_t)ch >= 0x80;
}

/* Does word stand there, so that at is behind its first `before` letters? */
static bool is_word(const struct place *p, const char *word, size_t before)
{
	const size_t n = strlen(word);

	return (size_t)(p->at - p->start) >= before &&
	    (size_t)(p->end - p->at) + before >= n &&
	    strncasecmp(p->at - before, word, n) == 0;
}

/* TEMP or TEMPORARY, and pg_temp or pg_temp_3; not a_temp, temper, tempt. */
static bool is_temporary(const struct place *p)
{
	if (!is_word(p, "temp", 2))
		return false;
	const char *const word = p->at - 2;
	const char *const next = p->at + 2;
	const struct place prefix = { .start = p->start, .at = word,
	    .end = p->end };

	if (is_word(&prefix, "pg_temp", 3))
		return true;
	if (word > p->start && (is_inner(word[-1]) || word[-1] == '_'))
		return false;
	return is_word(p, "temporary", 2) || next == p->end ||
	    !(is_inner(*next) || *next == '_');
}

static const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || (*s >= '\t' && *s <= '\r')))
		s++;
	return s;
}

/*
 * DO with a string, LANGUAGE, or a comment behind it; not ON CONFLICT DO
 * NOTHING. If it fails, it has no tag, but may have committed something before.
 */
static bool is_block(const struct place *p)
{
	if (!is_word(p, "do", 0) || (p->at > p->start &&
	    (is_inner(p->at[-1]) || p->at[-1] == '_')))
		return false;
	const char *const next = skip_blanks(p->at + 2, p->end);
	const struct place rest = { .start = next, .at = next,
	    .end = p->end };

	return next < p->end && (strchr("$'/-", *next) != NULL ||
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
	if (!is_word(p, "_advisory_", 2))
		return false;
	return !(is_word(p, "pg_advisory_xact_lock", 4) &&
	    is_function(p, p->at - 4)) &&
	    !(is_word(p, "pg_try_advisory_xact_lock", 8) &&
	    is_function(p, p->at - 8));
}

/* A query comes as a string: query_to_xml() and its like, ts_stat(), ts_rewrite(). */
static bool is_query(const struct place *p)
{
	return is_word(p, "query_to_xml", 9) || is_word(p, "ts_stat", 0) ||
	    is_word(p, "ts_rewrite", 0);
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

static unsigned look_at_block(struct place *p)
{
	if (p->block)
		return SQL_LEAVES;
	p->block = true;
	if (loads(p))
		return SQL_LEAVES | SQL_OPENS;
	return makes_sql(p) ? SQL_LEAVES | SQL_MAY_OPEN : SQL_LEAVES;
}

#define NOTHING 8U	/* a word, but nothing is left */

/* By UPDATE of pg_settings parameters are set. Returns of enum sql_leaves. */
static unsigned look_at(struct place *p)
{
	static const struct {
		const char *word;
		size_t before;
		unsigned what;
	} words[] = { { "dblink_connect", 0, SQL_LEAVES | SQL_OPENS },
		{ "replication_origin_session_setup", 1,
		    SQL_LEAVES | SQL_OPENS },
		{ "physical_replication_slot", 10, SQL_LEAVES | SQL_OPENS },
		{ "logical_replication_slot", 9, SQL_LEAVES | SQL_OPENS },
		{ "set_limit", 2, SQL_LEAVES }, { "nextval", 3, SQL_DRAWS },
		{ "setval", 2, SQL_DRAWS },
		{ "pg_settings", 9, SQL_LEAVES },
		{ "u&\"", 0, SQL_LEAVES | SQL_MAY_OPEN },
		{ "u&'", 0, SQL_LEAVES } };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is_word(p, words[i].word, words[i].before))
			return words[i].what;
	if (is_query(p))
		return SQL_LEAVES | SQL_HIDES | SQL_MAY_OPEN;
	if (is_word(p, "set_config", 6))
		return is_local_call(p) ? NOTHING : SQL_LEAVES;
	if (is_block(p))
		return look_at_block(p);
	if (is_temporary(p))
		return SQL_LEAVES | SQL_MAKES;
	return is_lock(p) ? SQL_LEAVES : 0;
}

static bool is_pair(const struct place *p)
{
	const char *const s = p->at;
	const char a = s[0] | FOLD, b = s[1] | FOLD;

	if (p->end - s > 2 && (s[2] | FOLD) == 'l' && ((a == 'e' && b == 'p') ||
	    (a == 'd' && b == 'b') || (a == 't' && s[1] == '_')))
		return true;
	return (b == 'v' && (a == 't' || a == 'd')) || (a == 'm' && b == 'p') ||
	    (a == 'n' && b == 'f') || (a == 'g' && b == 's') ||
	    (a == 'd' && b == 'o') || (a == 'u' && s[1] == '&') ||
	    (a == 'x' && b == 'm') || (a == 't' && b == 's');
}

static bool has_word(const char *sql, size_t n)
{
	struct place p = { .start = sql, .at = sql, .end = sql + n };

	for (; p.end - p.at > 1; p.at++)
		if (is_pair(&p) && look_at(&p) != 0)
			return true;
	return false;
}

unsigned sql_what_leaves(const void *sql, size_t n)
{
	const char *const s = sql;
	struct place p = { .start = s, .at = s, .end = s + n };
	unsigned what = 0;

	for (; p.end - p.at > 1; p.at++)
		if (is_pair(&p))
			what |= look_at(&p);
	return what & ~NOTHING;
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
