/* userlist.h - the users of an auth file, and how they come from a server.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_USERLIST_H
#define CTL_USERLIST_H

struct err;

struct import {
	const char *conninfo;	/* as psql takes it */
	char **names;		/* users wanted ... */
	int count;		/* ... 0 = all with a password */
	/* 0, or -1 with e. */
	int (*put)(void *arg, const char *name, const char *secret,
	    struct err *e);
};

/*
 * Give each user that can log in by password to put. A wanted user that is not
 * there is an error; an expired password is left out, which stderr says.
 * 0, or -1 with e.
 */
int import_run(const struct import *im, void *arg, struct err *e);

#endif
