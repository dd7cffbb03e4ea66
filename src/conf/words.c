/* words.c - look a word up in a list, or the one that was probably meant.
 * SPDX-License-Identifier: ISC */
#include "conf/words.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

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

/*
 * Letters to insert, drop or change, and neighbours to swap, to get from a to
 * b: optimal string alignment, with the rows of the last three letters of a.
 */
static unsigned distance(const char *a, const char *b)
{
	const size_t b_len = strlen(b);
	unsigned rows[3][WORD_MAX + 1];

	if (strlen(a) > WORD_MAX || b_len > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = (unsigned)j;

	size_t i = 0;
	for (; a[i] != '\0'; i++) {
		const unsigned *const before = rows[(i + 2) % 3];
		const unsigned *const last = rows[i % 3];
		unsigned *const row = rows[(i + 1) % 3];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < b_len; j++) {
			row[j + 1] = min3(last[j] + (a[i] != b[j]),
			    row[j] + 1, last[j + 1] + 1);
			if (i > 0 && j > 0 && a[i] == b[j - 1] &&
			    a[i - 1] == b[j] && before[j - 1] < row[j + 1])
				row[j + 1] = before[j - 1] + 1;
		}
	}
	return rows[i % 3][b_len];
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

size_t words_public_len(const char *value)
{
	static const char *const words[] = { "pass", "pw" };

	for (size_t i = 0; value[i] != '\0'; i++) {
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++) {
			const size_t n = strlen(words[w]);

			if (strncasecmp(value + i, words[w], n) == 0)
				return i;
		}
	}
	return strlen(value);
}
