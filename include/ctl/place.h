/* place.h - where the console is, by an ini file, PG* variables and options.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PLACE_H
#define CTL_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "conf/options.h"

struct err;
struct settings;

#define PLACE_KEYS 64		/* more than libpq has */

/* Parameters of a connection, as libpq takes them: NULL behind the last. */
struct place {
	char *keys[PLACE_KEYS + 1];	/* owned, each */
	char *values[PLACE_KEYS + 1];	/* the same; maybe secret */
	size_t count;
	uid_t as;		/* user that root connects as; or (uid_t)-1 */
	bool own;		/* over our own socket: no password is needed */
};

/* A Unix socket that is there. */
struct place_socket {
	uid_t uid;		/* owner of the socket */
	char owner[64];		/* the same by name; "": has none */
	bool shared;		/* any user could have put the socket there */
};

/* Facts about the system. */
struct place_facts {
	const struct settings *ini;	/* NULL: there is none */
	bool given;		/* the ini was named: beats PG* variables */
	const char *user;	/* of the command line, or NULL */
	const char *os_user;	/* name of uid, or NULL */
	uid_t uid;		/* effective */
	uid_t keeper;		/* the ini's setting "user"; or (uid_t)-1 */
	uid_t author;		/* owner of the ini; or (uid_t)-1 */
	const char *(*env)(const char *name);
	/* The socket at path. 0, or -1: not there. */
	int (*socket)(const char *path, struct place_socket *s);
};

/* 0, or -1 out of memory; a key with a value keeps it. */
int place_default(struct place *p, const char *key, const char *value);
const char *place_get(const struct place *p, const char *key);	/* or NULL */

/*
 * Complete p, which has what a conninfo said. 0, or -1 with e.
 * Source:  pgsluicectl(1), "FINDING THE CONSOLE".
 */
int place_find(struct place *p, const struct place_facts *f, struct err *e);

void place_fini(struct place *p);	/* wipes */

/* Do PG* variables, or parameters, name the place by themselves? */
bool place_is_named(const struct place *p,
    const char *(*env)(const char *name));

/*
 * The settings of an ini file that tell the place; mistakes elsewhere in it are
 * no matter. s is all-zero before. 0, or -1 with e; settings_fini() all the same.
 */
int place_read(const char *path, struct settings *s, struct err *e);

/* Which of the usual files tells where the console is. */

/*
 * Of count paths the first whose pooler answers now; else the first that can be
 * read; else the first that is there. NULL: none is. address_answers() looks at
 * listen_addr, where there is no Unix socket.
 */
const char *usual_choose(const char *const *paths, size_t count,
    bool (*address_answers)(const struct settings *s));

#endif
