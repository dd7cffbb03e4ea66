/* secret.h - a server's password that changes: where it is from, what it may be.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_SECRET_H
#define CONF_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/time.h"

struct config;
struct err;

#define SECRET_TEXT_MAX 65536	/* bytes of a password, without its newline */
/* Room for it, for its newline, and for a byte that shows that there is more. */
#define SECRET_BUFFER (SECRET_TEXT_MAX + 3)
#define SECRET_TTL (600 * USEC)	/* unless password_ttl says otherwise */

/* Keys of a line of [databases] or [users]; at most one of the first two. */
struct config_secret {
	char *file;		/* password_file; NULL: none */
	char *command;		/* password_command; NULL: none */
	usec_t ttl;		/* password_ttl; CONFIG_UNSET: SECRET_TTL */
};

static inline bool config_secret_is_given(const struct config_secret *s)
{
	return s->file != NULL || s->command != NULL;
}

/*
 * A file or a command has given len bytes: make them a string of one line
 * without its end. There is room for a NUL behind them.
 * Returns: 0, or -1 with e, which quotes nothing of them.
 */
int secret_take_line(char *text, size_t len, struct err *e);

/* Where a file is, and since when it has what is in it. */
struct secret_place {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, written;
};

/*
 * Read the password in a file into text, of SECRET_BUFFER bytes, unless the
 * file is still as *place says (all zero: it was not read yet). May block.
 * Returns: 1 when it was read, 0 when it is unchanged, or -1 with e. *place
 *          says then what was looked at.
 */
int secret_read_file(const char *path, struct secret_place *place, char *text,
    struct err *e);

typedef void secret_problem_fn(void *arg, const char *line);
/*
 * For --check: read each password_file, and look whether each password_command
 * can be run. No command runs.
 */
void secret_check_all(const struct config *c, secret_problem_fn *problem,
    void *arg);

#endif
