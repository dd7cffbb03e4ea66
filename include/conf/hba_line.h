/* hba_line.h - lines and words of an HBA or an ident map file.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_LINE_H
#define CONF_HBA_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct hba_word {
	const char *at;		/* borrowed from the line; no NUL follows */
	size_t len;
	bool quoted;		/* began with a quote: no keyword */
	bool comma;		/* the word "," of its own */
};

/* The lines that are still to be taken; changed as they are taken. */
struct hba_text {
	char *at, *end;		/* borrowed */
	unsigned next;		/* number of the next one; the first is 1 */
};

/* A cursor; the text is changed as quotes are taken off. */
struct hba_line {
	char *at, *end;		/* borrowed: what is still to be read */
	unsigned number;	/* of the first line joined */
	struct hba_word first;	/* set by hba_source_walk() */
};

enum hba_step {
	HBA_WORD,
	HBA_END,	/* of the line, or a comment */
	HBA_BROKEN,	/* a quote without its end, or a NUL */
};

/*
 * The next line, joined to the lines behind it as long as the end is a
 * backslash: a comment, too, goes on there. Returns false when nothing is left.
 * Source: PostgreSQL docs, The pg_hba.conf File.
 */
bool hba_text_next(struct hba_text *t, struct hba_line *l);

/*
 * The next word. Blanks and tabs separate words, a comma is one, "..." protects
 * both and # too ("" = one quote).
 * Source: spec/config-files.md section 9.
 */
enum hba_step hba_line_next(struct hba_line *l, struct hba_word *w);

/*
 * Take a comma, if one is next. A blank before it ends the list, as for
 * PostgreSQL.
 */
bool hba_line_take_comma(struct hba_line *l);

/* The rest up to a comment, as it stands, blanks at both ends cut off. */
struct hba_word hba_line_rest(struct hba_line *l);

/* Is w text, quoted or not? */
bool hba_word_equals(const struct hba_word *w, const char *text);
/* Is w this keyword? Not when w began with a quote. */
bool hba_word_is(const struct hba_word *w, const char *keyword);

#endif
