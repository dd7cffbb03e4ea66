/* words.h - look a word up in a list, or the one that was probably meant.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_WORDS_H
#define CONF_WORDS_H

#include <stddef.h>

/*
 * Index of word in the NULL-terminated list, ASCII case ignored; -1: none.
 * An empty item holds a place and is never found.
 */
int words_find(const char *const *words, const char *word);

/* How much of a rejected value may be shown: not what follows "pass", "pw". */
size_t words_public_len(const char *value);

/* Keeps the nearest of the names offered to it. */
struct nearest {
	const char *word;	/* borrowed: what was written */
	const char *best;	/* borrowed: NULL while none is near enough */
	unsigned distance;	/* of best */
};

void nearest_init(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *name);

#endif
