/* hba_source.h - the lines and words of an HBA or ident map file and its
 * includes.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HBA_SOURCE_H
#define CONF_HBA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

struct err;
struct file_names;
struct file_text;
struct hba_line;
struct hba_word;

/* The code of an error: the line is right, but nobody here can judge it. */
#define HBA_UNKNOWN "0A000"

struct hba_source {
	const char *text;
	size_t len;
	const char *path;	/* of the text, for messages and file names */
	/* Read a file; 0, or -1 with errno. */
	int (*read)(const char *path, struct file_text *f);
	/* The names of an include_dir; 0, or -1 with errno. */
	int (*list)(const char *path, struct file_names *out);
	/*
	 * error: the file is refused; warning: a line was skipped, or can
	 * never fit; or NULL
	 */
	void (*report)(void *arg, enum log_level level, const char *text);
	void *arg;
	bool skip_unknown;	/* lines with HBA_UNKNOWN; else fail */
};

/* Limits of reading, shared by all files that one source includes. */
struct hba_budget {
	size_t names;		/* left */
	unsigned files, regexes;	/* left */
};

/* Where a line stands. */
struct hba_place {
	const char *path;	/* of its file */
	unsigned depth;		/* of files that name files */
	const struct hba_source *src;
	struct hba_budget *budget;
};

/* The receiver of the lines. */
struct hba_taker {
	const char *what;	/* begins the reports: "hba", "ident" */
	/*
	 * A line that is neither empty nor an include; its first word is taken.
	 * 0, or -1 with e: code 53200 ends it all, HBA_UNKNOWN may be skipped.
	 */
	int (*line)(void *arg, struct hba_line *l,
	    const struct hba_place *at, struct err *e);
	void *arg;
};

/*
 * Give all lines to to->line, lines of included files in their place. Returns
 * how many were taken, or -1 with the first problem in e after all were
 * reported.
 */
long hba_source_walk(const struct hba_source *src,
    const struct hba_taker *to, struct err *e);

/* The line is used, but somebody should look at it. */
void hba_warn(const struct hba_place *at, unsigned number, const char *text);

#define HBA_PATH_MAX 4096

/*
 * Read a file into an all-zero f; an empty one is an error. 0, or -1 with e
 * and errno.
 */
int hba_open(const struct hba_place *at, const char *path,
    struct file_text *f, struct err *e);
/* The path that w without its first skip bytes means there. 0, or -1: none. */
int hba_path(const struct hba_place *at, const struct hba_word *w,
    size_t skip, char path[HBA_PATH_MAX]);

/* Lines and words of an HBA or an ident map file. */

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
