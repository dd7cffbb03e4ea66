/* link.h - a connection to the console.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_LINK_H
#define CTL_LINK_H

#include <stdbool.h>
#include <stdio.h>

#include "base/time.h"
#include "ctl/place.h"

struct ctl_options;
struct err;
struct grid;
struct pg_conn;
struct pg_result;

struct link {
	struct place place;
	struct pg_conn *conn;		/* owned; NULL: none */
	FILE *notices;		/* borrowed; NULL: stderr */
	int interrupt;		/* readable: the user gives up; -1: none */
	char log[256];		/* the ini's logfile; "": it names none */
	usec_t patience;	/* with an answer; LINK_TIMEOUT; 0: no limit */
};

enum link_end {
	LINK_OK,
	LINK_REFUSED,	/* by the console; the connection goes on */
	LINK_LOST,
};

#define LINK_TIMEOUT (10 * USEC)	/* of what the console answers at once */

/* Find out where the console is, into an all-zero l. 0, or -1 with e. */
int link_init(struct link *l, const struct ctl_options *o, struct err *e);
void link_fini(struct link *l);		/* wipes */

/*
 * Connect; a password is asked for where one is wanted and there is a terminal.
 * 0, or -1 with e.
 */
int link_open(struct link *l, struct err *e);

/* The same in steps for callers that poll: PQconnectPoll(). 0, -1 with e. */
int link_start(struct link *l, struct err *e);

/* Put libpq's reason for the failed connection into e. Returns -1. */
int link_failure(const struct link *l, struct err *e);

/* The pooler's process, which a Unix socket tells; 0: not known. */
long link_pid(const struct link *l);

/* The connection was refused for good: another try would not help. */
bool link_is_denied(const struct link *l);

/*
 * Send sql and wait, for l->patience at most. *res is for PQclear() when it
 * went well; else the reason is in e. l->interrupt has it cancelled.
 */
enum link_end link_query(struct link *l, const char *sql,
    struct pg_result **res, struct err *e);

/* Put the error of res into e, with its detail and hint. Returns -1. */
int link_complaint(const struct pg_result *res, struct err *e);

/* Fill g from res, which g keeps. 0, or -1 with e: out of memory. */
int link_take(struct grid *g, struct pg_result *res, struct err *e);
/* The answer to sql, whole. */
enum link_end link_ask(struct link *l, const char *sql, struct grid *g,
    struct err *e);
void link_give_back(struct grid *g);	/* with its result */

/* "host:port", for people. Returns buf. */
const char *link_where(const struct link *l, char *buf, size_t size);

#endif
