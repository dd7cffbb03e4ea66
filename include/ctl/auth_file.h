/* auth_file.h - edit an auth file in place: what is not meant stays as it is.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_AUTH_FILE_H
#define CTL_AUTH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct err;
struct userlist;

struct auth_file {
	char *path;		/* owned; links followed */
	char *text;		/* owned, secret; NUL terminated */
	size_t len;
	struct stat st;		/* st_nlink 0: no file yet */
	int lock;		/* fd of its folder, or -1 */
	struct userlist *users;	/* a reference: what text says */
};

/*
 * Read it into an all-zero f. With edit nobody else edits files of its folder
 * until auth_file_close(), and it need not be there yet. 0, or -1 with e: also
 * when there is a mistake in it, as what follows one does not count.
 */
int auth_file_open(struct auth_file *f, const char *path, bool edit,
    struct err *e);

/* Give name this secret, in place of its old secret. 0, or -1 with e. */
int auth_file_put(struct auth_file *f, const char *name, const char *secret,
    struct err *e);
/* Returns 1, or 0: there is no such name, or -1 with e. */
int auth_file_remove(struct auth_file *f, const char *name, struct err *e);

/* Replace the old file, whole or not at all. 0, or -1 with e. */
int auth_file_save(const struct auth_file *f, struct err *e);

void auth_file_close(struct auth_file *f);	/* wipes */

#endif
