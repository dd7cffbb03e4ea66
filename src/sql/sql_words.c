/* sql_words.c - words in SQL, wherever they stand: in a string or comment, too.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_words.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "sql/sql_chars.h"
#include "sql/sql_vocabulary.h"

static bool is_letter(char ch)
{
	return sql_char_is(ch, SQL_CHAR_LETTER);
}

/* What else a name may have ends it here: $$now$$ has a word. */
static bool is_inner(char ch)
{
	return sql_char_is(ch, SQL_CHAR_LETTER | SQL_CHAR_DIGIT |
	    SQL_CHAR_UNDERSCORE);
}

/* Most differ in their first letters: a call for each would be dear. */
static inline bool is_word(const char *at, const char *end, const char *word)
{
	for (; *word != '\0'; at++, word++) {
		if (at == end ||
		    (is_letter(*at) ? *at | 0x20 : *at) != *word)
			return false;
	}
	return at == end || !is_inner(*at);
}

/* One bit for each letter that a word begins with. */
static uint32_t first_letters(const char *const *words)
{
	uint32_t letters = 0;

	for (; *words != NULL; words++)
		letters |= 1u << (**words & 31);
	return letters;
}

const char *sql_next_word(const struct sql_text *t, const char *from,
    const char *const *words, size_t *which)
{
	const uint32_t letters = first_letters(words);

	for (const char *at = from == NULL ? t->at : from + 1; at < t->end;
	    at++) {
		if ((letters >> (*at & 31) & 1) == 0 || !is_letter(*at) ||
		    (at > t->at && is_inner(at[-1])))
			continue;
		for (size_t i = 0; words[i] != NULL; i++) {
			if (is_word(at, t->end, words[i])) {
				*which = i;
				return at;
			}
		}
	}
	return NULL;
}

bool sql_has_word(const void *sql, size_t n, const char *const *words)
{
	const char *const at = sql;
	size_t which;

	return sql_next_word(&(struct sql_text){ at, at + n }, NULL, words,
	    &which) != NULL;
}

/* --- the vocabulary --- */

#define WORDS(name) static const struct sql_word name[]
#define LAST { NULL, 0, 0 }

WORDS(words_a) = { { "all", W_ALL, 0 }, { "alter", W_CHANGES, 0 },
	{ "abort", 0, F_ENDS | F_UTILITY }, { "array_nulls", W_UNSEEN, 0 },
	{ "authorization", W_ACTING, 0 }, LAST };
WORDS(words_b) = { { "begin", 0, F_UTILITY | F_BEGINS },
	{ "backslash_quote", W_UNSEEN, 0 }, { "bytea_output", W_UNSEEN, 0 },
	LAST };
WORDS(words_c) = { { "create", W_CHANGES, 0 },
	{ "commit", 0, F_ENDS | F_UTILITY }, { "call", 0, F_RUNS },
	{ "client_encoding", W_REPORTED, 0 }, LAST };
WORDS(words_d) = { { "do", W_DO, F_DO | F_RUNS }, { "drop", W_CHANGES, 0 },
	{ "delete", 0, F_QUERY }, { "default", W_DEFAULT, 0 },
	{ "discard", W_FORGETS, F_FORGETS | F_RESETS | F_UTILITY },
	{ "deallocate", W_FORGETS, F_FORGETS | F_UTILITY },
	{ "datestyle", W_REPORTED, 0 }, LAST };
WORDS(words_e) = { { "end", 0, F_ENDS | F_UTILITY },
	{ "execute", W_PIECES, F_RUNS }, { "extra_float_digits", W_UNSEEN, 0 },
	LAST };
WORDS(words_f) = { { "fetch", 0, F_RUNS }, LAST };
WORDS(words_i) = { { "into", W_INTO, 0 }, { "insert", W_ADDS, F_QUERY },
	{ "import", W_CHANGES, 0 }, { "intervalstyle", W_REPORTED, 0 }, LAST };
WORDS(words_l) = { { "load", W_LOAD, 0 }, { "language", W_PIECES, 0 },
	{ "listen", 0, F_UTILITY }, { "lc_monetary", W_UNSEEN, 0 }, LAST };
WORDS(words_m) = { { "merge", W_ADDS, 0 }, { "move", 0, F_RUNS }, LAST };
WORDS(words_n) = { { "names", W_REPORTED, 0 }, { "notify", 0, F_UTILITY },
	LAST };
WORDS(words_o) = { { "option", W_OPTION, 0 }, LAST };
WORDS(words_p) = { { "prepare", 0, F_ENDS }, { "pg_settings", W_VIEW, 0 },
	LAST };
WORDS(words_q) = { { "quote_all_identifiers", W_UNSEEN, 0 }, LAST };
WORDS(words_r) = { { "role", W_ACTING, 0 }, { "reset", 0, F_RESETS | F_UTILITY },
	{ "release", 0, F_UTILITY }, { "rollback", 0, F_ENDS | F_UTILITY },
	{ "regproc", W_NAMED, 0 }, { "regprocedure", W_NAMED, 0 },
	{ "regoper", W_NAMED, 0 }, { "regoperator", W_NAMED, 0 },
	{ "regtype", W_NAMED, 0 }, { "regrole", W_NAMED, 0 },
	{ "regconfig", W_NAMED, 0 }, { "regdictionary", W_NAMED, 0 },
	{ "regcollation", W_NAMED, 0 },
	{ "restrict_nonsystem_relation_kind", W_UNSEEN, 0 }, LAST };
WORDS(words_s) = { { "select", 0, F_QUERY | F_READS },
	{ "set", W_SET, F_SET | F_UTILITY }, { "set_config", W_CALL, 0 },
	{ "start", 0, F_UTILITY | F_BEGINS }, { "savepoint", 0, F_UTILITY },
	{ "schema", W_SCHEMA | W_REPORTED, 0 },
	{ "search_path", W_PATH | W_REPORTED, 0 },
	{ "session_authorization", W_ACTING, 0 },
	{ "standard_conforming_strings", W_REPORTED, 0 }, LAST };
WORDS(words_t) = { { "ts_stat", W_QUERY, 0 }, { "ts_rewrite", W_QUERY, 0 },
	{ "temp", W_TEMP, 0 }, { "temporary", W_TEMP, 0 },
	{ "timezone", W_REPORTED, 0 }, { "timezone_abbreviations", W_UNSEEN, 0 },
	{ "transform_null_equals", W_UNSEEN, 0 }, LAST };
WORDS(words_u) = { { "update", W_UPDATE, F_QUERY },
	{ "unlisten", 0, F_UTILITY }, LAST };
WORDS(words_v) = { { "values", 0, F_QUERY }, LAST };
WORDS(words_w) = { { "with", W_WITH, F_QUERY | F_READS }, LAST };
WORDS(words_x) = { { "xmlbinary", W_UNSEEN, 0 }, { "xmloption", W_UNSEEN, 0 },
	LAST };
WORDS(words_z) = { { "zone", W_REPORTED, 0 }, LAST };

static const struct sql_word *const vocabulary[32] = {
	[LETTER('a')] = words_a, [LETTER('b')] = words_b, [LETTER('c')] = words_c,
	[LETTER('d')] = words_d, [LETTER('e')] = words_e, [LETTER('f')] = words_f,
	[LETTER('i')] = words_i, [LETTER('l')] = words_l, [LETTER('m')] = words_m,
	[LETTER('n')] = words_n, [LETTER('o')] = words_o, [LETTER('p')] = words_p,
	[LETTER('q')] = words_q, [LETTER('r')] = words_r, [LETTER('s')] = words_s,
	[LETTER('t')] = words_t, [LETTER('u')] = words_u, [LETTER('v')] = words_v,
	[LETTER('w')] = words_w, [LETTER('x')] = words_x, [LETTER('z')] = words_z,
};

const struct sql_word *sql_find_word(const char *at, size_t n)
{
	const struct sql_word *w = vocabulary[LETTER(*at)];

	for (; w != NULL && w->text != NULL; w++)
		if (strncasecmp(w->text, at, n) == 0 && w->text[n] == '\0')
			return w;
	return NULL;
}

bool sql_is_unseen(const char *parameter)
{
	const struct sql_word *const w = sql_find_word(parameter,
	    strlen(parameter));

	return w != NULL && ((w->says & (W_UNSEEN | W_PATH)) != 0 ||
	    strcmp(w->text, "role") == 0);
}

/* --- what changes schemas --- */

bool sql_adds_rows(const char *start, const char *into)
{
	while (into > start && sql_char_is(into[-1], SQL_CHAR_BLANK))
		into--;
	return (into - start >= 6 && strncasecmp(into - 6, "insert", 6) == 0) ||
	    (into - start >= 5 && strncasecmp(into - 5, "merge", 5) == 0);
}

static bool changes_schema(const struct sql_text *t, const char *at, size_t n)
{
	const struct sql_word *const w = sql_find_word(at, n);

	return w != NULL && ((w->says & W_CHANGES) != 0 ||
	    ((w->says & W_INTO) != 0 && !sql_adds_rows(t->at, at)));
}

bool sql_may_change_schema(const void *bytes, size_t n)
{
	const struct sql_text t = { bytes, (const char *)bytes + n };
	size_t len;

	for (const char *at = t.at; at < t.end; at += len + 1) {
		for (len = 0; at + len < t.end && is_inner(at[len]);)
			len++;
		if (len > 0 && changes_schema(&t, at, len))
			return true;
	}
	return false;
}
