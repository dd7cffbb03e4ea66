/* persist.h - settings of the console that outlive a reload and a restart.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_PERSIST_H
#define CONF_PERSIST_H

#include <stddef.h>

struct err;

#define PERSIST_SUFFIX ".persist.ini"

/* What SET PERSIST writes down. */
struct persist_entry {
	const char *key, *value;
	const char *was;	/* the value in force before; NULL = none */
	const char *by;		/* who changed it */
};

/* "<ini>.persist.ini" in buf. Returns buf, or NULL: no room. */
char *persist_path(const char *ini, char *buf, size_t size);

/*
 * Put it into the file beside ini, in place of an older one of that key, so
 * that at any moment the file is whole. 0, or -1 with e.
 */
int persist_set(const char *ini, const struct persist_entry *entry,
    struct err *e);

#endif
