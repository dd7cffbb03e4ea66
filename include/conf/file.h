/* file.h - a whole file in memory, and a secret of a file, kept as its digest.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_FILE_H
#define CONF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/crypto.h"

struct err;

struct file_text {
	char *at;		/* owned; a NUL follows the last byte */
	size_t len;
	struct stat st;		/* when it was read */
};

#define FILE_TEXT_MAX ((size_t)256 << 20)	/* bytes; longer is an error */

/*
 * Read path into an all-zero f.
 * Returns: 0, or -1 with errno set, for input_why(), and f empty.
 */
int file_read(const char *path, struct file_text *f);

/* Paths, in byte order. */
struct file_names {
	char **at;		/* owned, each too */
	size_t count;
};

#define FILE_NAMES_MAX 10000	/* more are an error */

/*
 * The files of a directory whose names end in .conf and begin with no dot,
 * into an all-zero n. 0, or -1 with errno set and n empty.
 */
int file_list(const char *dir, struct file_names *n);
void file_names_fini(struct file_names *n);

/* Wipes and frees: the text may hold secrets. */
void file_text_fini(struct file_text *f);

/* A secret that a file holds, kept as its digest. */

/* A value: nothing in it is owned. */
struct token {
	bool given;		/* a file was named, and read */
	uint8_t digest[SHA256_BYTES];
};

/*
 * The first line of path, without blanks around it; path "": no token. 0, or -1
 * with e: the file can't be read, or is empty.
 */
int token_load(const char *path, struct token *t, struct err *e);

/* Is given this token? Takes the same time wherever the two differ. */
bool token_is(const struct token *t, const char *given);

#endif
