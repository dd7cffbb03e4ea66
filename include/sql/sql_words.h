/* sql_words.h - words in SQL, wherever they stand: in a string or comment, too.
 * SPDX-License-Identifier: ISC */
#ifndef SQL_SQL_WORDS_H
#define SQL_SQL_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* SQL, or a message with some. */
struct sql_text {
	const char *at, *end;
};

/*
 * The next whole word, in any case, of a list in lower case that ends in NULL;
 * from behind it on is looked for the one after that, if from is that of before,
 * or NULL at first. NULL: no more. *which is its place in the list.
 */
const char *sql_next_word(const struct sql_text *t, const char *from,
    const char *const *words, size_t *which);
/* Is there one? */
bool sql_has_word(const void *sql, size_t n, const char *const *words);

/*
 * Is there a word in n bytes, of SQL or messages, that makes, changes or drops
 * what has a name: CREATE, ALTER, DROP, IMPORT, and INTO except that of INSERT
 * and MERGE? Comments and strings count, too.
 */
bool sql_may_change_schema(const void *bytes, size_t n);
/* Is INTO, in a text from start on, that of an INSERT or MERGE? */
bool sql_adds_rows(const char *start, const char *into);
/* Are texts read by the parameter, and may a server not report it? */
bool sql_is_unseen(const char *parameter);

#endif
