/* hba_source.h - the lines of an HBA or ident map file and its includes.
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

#endif
