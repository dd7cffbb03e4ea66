/* sql_words.c - words in SQL, wherever they stand: in a string or comment, too.
 * SPDX-License-Identifier: ISC */
#include "sql/sql_words.h"

#include <stdint.h>

#include "sql/sql_chars.h"

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
