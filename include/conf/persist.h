/* persist.h - settings of the console that outlive a reload and a restart.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_PERSIST_H
#define CONF_PERSIST_H

#include <stddef.h>

struct err;
struct text;

#define PERSIST_SUFFIX ".persist.ini"

/* A setting that SET PERSIST writes. */
struct persist_entry {
	const char *key, *value;
	const char *by;		/* user that set it: any bytes */
};

/* "<ini>.persist.ini" in buf. Returns buf, or NULL: no room. */
char *persist_path(const char *ini, char *buf, size_t size);

/* The file as it is. */
struct persist_old {
	const char *path;	/* the file's name, for messages */
	const char *text;
};

/*
 * The text with entry in place of an older one of its key; all other settings
 * stay, and no replaced value does. The text is read back before it counts: an
 * entry that the next start would read otherwise is an error. 0, or -1 with e.
 */
int persist_compose(struct text *out, const struct persist_old *old,
    const struct persist_entry *entry, struct err *e);

/*
 * Put the entry into the file beside ini, so that at any moment the file is
 * whole. Others than the owner and the group of ini can't read it. 0, or -1
 * with e.
 */
int persist_set(const char *ini, const struct persist_entry *entry,
    struct err *e);

/*
 * May the file path be read as settings of ini? 0 (also: there is none), or
 * -1 with e: a stranger may have put it there.
 */
int persist_check(const char *path, const char *ini, struct err *e);

#endif
