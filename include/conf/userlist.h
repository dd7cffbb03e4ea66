/* userlist.h - the auth file: names and secrets.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_USERLIST_H
#define CONF_USERLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"

#define USERLIST_NAME_MAX 128	/* spec/config-files.md section 7; excluded, */
#define USERLIST_SECRET_MAX 65531	/* with each quote counted as two */

/* Told apart by content alone (spec/config-files.md section 7). */
enum secret_kind {
	SECRET_NONE,	/* empty: no password method may succeed */
	SECRET_PLAIN,
	SECRET_MD5,	/* "md5" + 32 lower-case hex digits */
	SECRET_SCRAM,	/* SCRAM-SHA-256$<iterations>:<salt>$<stored>:<server> */
	SECRET_UNUSABLE,	/* looks like one of these two, but can't be
				 * read: nobody proves to know it, as the text
				 * is no password */
};

enum secret_kind secret_kind(const char *secret);

struct userlist;		/* immutable, reference-counted */

/* level: warning for a secret of no use, else error. */
typedef void userlist_report_fn(void *arg, enum log_level level,
    const char *text);

/* A record: at text + at, from its first quote up to the end of its line. */
typedef void userlist_record_fn(void *arg, const char *name, size_t at,
    size_t len);

struct userlist_source {
	const char *text;
	size_t len;
	const char *path;		/* for messages */
	userlist_report_fn *report;	/* may be NULL */
	userlist_record_fn *record;	/* told of each; may be NULL */
	void *arg;
};

/*
 * Parse the text of an auth file. Every problem is reported with path and
 * line. What was read before the first one stays, what follows it is looked
 * through for further ones only.
 * Returns one reference, or NULL when out of memory.
 */
struct userlist *userlist_parse(const struct userlist_source *src);
/* Read the file first; NULL with errno set when that fails: reported. */
struct userlist *userlist_load(const char *path,
    userlist_report_fn *report, void *arg);
/*
 * Is u what userlist_load(path) would read again, judged by stat(2)? Not when
 * it had mistakes, which are to be told of again.
 */
bool userlist_is_current(const struct userlist *u, const char *path);

struct userlist *userlist_ref(struct userlist *u);
/* Drops the reference and sets *u to NULL; secrets are wiped. */
void userlist_unref(struct userlist **u);

/* The secret of name ("" = present without one); NULL: no such name. */
const char *userlist_find(const struct userlist *u, const char *name);
size_t userlist_count(const struct userlist *u);
/* Did the text hold white space at most? */
bool userlist_is_blank(const struct userlist *u);
/* The nth in byte order, from 0; NULL: there are fewer. */
const char *userlist_name(const struct userlist *u, size_t n);
/* In byte order of the names; fn returns non-zero to stop. */
int userlist_each(const struct userlist *u,
    int (*fn)(const char *name, const char *secret, void *arg), void *arg);

#endif
