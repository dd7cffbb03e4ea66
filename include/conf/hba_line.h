/* hba_line.h - the words of one line of an HBA or an ident map file.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_LINE_H
#define CONF_HBA_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct hba_word {
	const char *at;		/* borrowed from the line; no NUL follows */
	size_t len;
	bool quoted;		/* some of it was in quotes: no keyword */
	bool opens_quoted;	/* its first byte was */
	bool comma;		/* the word "," of its own */
};

/* A cursor; the text is changed as quotes are taken off. */
struct hba_line {
	char *at, *end;		/* borrowed: what is still to be read */
};

enum hba_step {
	HBA_WORD,
	HBA_END,	/* of the line, or a comment */
	HBA_BROKEN,	/* a quote without its end, or a NUL */
};

/*
 * The next word. White space separates words, a comma is one, "..." protects
 * both and # too ("" = one quote).
 * Source: spec/config-files.md section 9.
 */
enum hba_step hba_line_next(struct hba_line *l, struct hba_word *w);

/* Is a comma next? Then it is taken. */
bool hba_line_take_comma(struct hba_line *l);

/* What is left up to a comment, as it stands, blanks at both ends cut off. */
struct hba_word hba_line_rest(struct hba_line *l);

/* Is w this keyword? Not when a part of it was quoted. */
bool hba_word_is(const struct hba_word *w, const char *keyword);

/*
 * Take the next line off a text: l is set to it, and *text behind it.
 * Returns false when nothing is left.
 */
bool hba_line_take(char **text, char *end, struct hba_line *l);

#endif
