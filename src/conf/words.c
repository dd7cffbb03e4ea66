/* words.c - look a word up in a list, or the one that was probably meant.
 * SPDX-License-Identifier: ISC */
#include "conf/words.h"

#include <stddef.h>
#include <string.h>

#include "base/text.h"

#define WORD_MAX 64	/* longer ones are near to nothing */

int words_find(const char *const *words, const char *word)
{
	if (word[0] == '\0')
		return -1;
	for (int i = 0; words[i] != NULL; i++) {
		if (text_casecmp(words[i], word) == 0)
			return i;
	}
	return -1;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	const unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein: letters to insert, drop or change to get from a to b. */
static unsigned distance(const char *a, const char *b)
{
	const size_t b_len = strlen(b);
	unsigned row[WORD_MAX + 1];

	if (strlen(a) > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < b_len; j++) {
			const unsigned change = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			row[j + 1] = min3(change, row[j] + 1, diagonal + 1);
		}
	}
	return row[b_len];
}

void nearest_init(struct nearest *n, const char *word)
{
	/* A third of the letters wrong is no typing error any more. */
	const size_t allowed = strlen(word) / 3;

	*n = (struct nearest){
		.word = word,
		.distance = (allowed < 3 ? (unsigned)allowed : 3) + 1,
	};
}

void nearest_offer(struct nearest *n, const char *name)
{
	const unsigned d = distance(n->word, name);

	if (d >= n->distance)
		return;
	n->best = name;
	n->distance = d;
}
