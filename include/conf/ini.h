/* ini.h - the lexer of the main file: bytes in, headers and entries out.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_INI_H
#define CONF_INI_H

#include <stddef.h>

#define INI_DEPTH_MAX 10	/* levels of %include below the main file */

struct ini_source {
	const char *text;	/* borrowed; need not end in a NUL */
	size_t len;
	const char *file;	/* borrowed: the file's name, for messages */
	unsigned depth;		/* 0 = the main file */
};

struct ini_place {
	const char *file;
	unsigned line;
	unsigned depth;
};

enum ini_step {
	INI_GO,
	INI_BAD,	/* reported; go on to find more */
	INI_STOP,	/* reported; no use in going on */
};

/* Strings are lent for the time of the call. */
struct ini_ops {
	enum ini_step (*section)(void *arg, const char *name,
	    const struct ini_place *at);
	enum ini_step (*entry)(void *arg, const char *key, const char *value,
	    const struct ini_place *at);
	/* Read path, parse it with depth + 1 and return what that returned. */
	enum ini_step (*include)(void *arg, const char *path,
	    const struct ini_place *at);
	void (*problem)(void *arg, const char *text);
};

/*
 * Parse one file. A faulty line is passed to ops->problem and skipped.
 * Returns: INI_GO, INI_BAD when anything in it was bad, or INI_STOP.
 * Source:  pgsluice.ini(5), "FILE SYNTAX".
 */
enum ini_step ini_parse(const struct ini_source *src,
    const struct ini_ops *ops, void *arg);

#endif
