/* auth_query.h - asks a server for the secret of a user who wants in.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_QUERY_H
#define LOGIN_AUTH_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "conf/config.h"
#include "login/auth_answer.h"
#include "proto/msg.h"

struct client;
struct credentials;
struct err;
struct login_hold;
struct server;

/*
 * What is asked where, as the client's own database had it set: the client may
 * go to the worker that has the pool, and come back; and what has been set
 * otherwise meanwhile is noticed by it.
 */
struct auth_errand {
	char *user, *auth_user;		/* owned: of whom, by whom */
	char *database;			/* owned; NULL: the client's own */
	char *sql;			/* owned */
	struct config *config;		/* counted: in force then */
	bool urgent;			/* of a login to the console */
	bool has_database;		/* the client: there is the one it named */
	bool cached;			/* the answer was kept: it may have changed */
	uint64_t after;			/* if so: a later fetch knows better */
	unsigned knows;			/* the worker whose cache that was */
	struct login_hold *hold;	/* owned by login_cached.c; NULL */
	unsigned home;			/* the worker to come back to */
	void (*landed)(struct client *c);	/* goes on with it there; NULL:
						 * it has not left */
	struct writer params;		/* those that it has at home */
};

/* A question, and what came of it; of a login. */
struct auth_query {
	const char *user;		/* borrowed: the name that wants in */
	struct auth_errand *errand;	/* owned; NULL: nothing is asked yet */
	void (*answered)(struct client *c);	/* may close c */
	struct auth_answer answer;	/* as far as it is here */
	struct credentials *found;	/* counted: the secret; NULL = no row */
	char *name;			/* owned: of the row; NULL = no row */
};

/* Is there an auth_user for the database of c, or where there is none? */
bool auth_query_is_possible(const struct client *c);
/* ... or would there be, if there were that database? */
bool auth_query_is_meant(const struct client *c);

/*
 * c, which logs in as an unknown user, waits in the auth pool from here on and
 * is not read. c->role->query() names the question, gets the answer and is told.
 * Returns: 0 (c may be closed already), or -1 with e for the client.
 * Source:  spec/authentication.md section 6.
 */
int auth_query_start(struct client *c, struct err *e);
/* Does it run in the database that c has named? */
bool auth_query_is_here(const struct client *c);
/* At which worker: the home of the database in which it runs. */
unsigned auth_query_home(const struct client *c);
/*
 * What c asks, and takes along if it has to go there, or if the worker where it
 * goes on is another one; NULL: no memory.
 */
struct auth_errand *auth_errand_new(const struct client *c, unsigned home);
/*
 * The same question for nobody's trip, to be asked in database; NULL: in the one
 * that the client has named. NULL: no memory.
 */
struct auth_errand *auth_errand_copy(const struct auth_errand *e,
    const char *database);
/*
 * Would c, which is at home, still ask what it has asked? Else the answer is
 * none any more.
 */
bool auth_errand_holds(const struct client *c);
void auth_errand_free(struct auth_errand **e);
/* What was found is none any more; it may be asked again. */
void auth_query_fini(struct auth_query *q);

/* c is linked: send the query. May close both. */
void auth_query_send(struct client *c);

/* c does not log in any more: part it from its server, if there is one. */
void auth_query_leave(struct client *c);

/* Bytes of the answer wait to be read, in SERVER_PHASE_LOOKUP. */
void auth_query_input(struct server *s);

#endif
