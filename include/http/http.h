/* http.h - requests by HTTP: who may send them, the answers, the health.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>

#include "base/time.h"

struct admin;
struct http;
struct net_addr;
struct text;

/* Nothing is open before http_apply(). NULL: no memory. */
struct http *http_new(const struct admin *a);
/* In a hold, as http_apply(). */
void http_free(struct http **h);

/*
 * The settings may have changed: listen where they say. What can't be had is
 * logged, and tried again: clients of the pooler are not to suffer from it.
 */
void http_apply(struct http *h);
/* From time to time. */
void http_tick(struct http *h, usec_t now);
/* Behind that, again and again while it returns true. */
bool http_go_on(struct http *h, usec_t now);

/* Is a client on this machine, and does it call us by our name? */

/* Of the loopback interface. */
bool access_is_local(const struct net_addr *peer);
/* The value of Host: names that only this machine can have. */
bool access_names_us(const char *host);
/* The same: the name that this machine gives itself. */
bool access_names_host(const char *host);

/* Is this pooler alive, and may clients be sent to it? */

#define HEALTH_BYTES 24576	/* of a body; what is more is counted */

enum health { HEALTH_READY, HEALTH_NOT_READY, HEALTH_NO_DATABASE };

struct health_question {
	const char *database;	/* one that the answer is about; NULL: the process */
	bool strict;		/* all databases must be well */
};

/*
 * May clients be sent here? The process may take them unless it is suspended, or
 * about to end. The answer is written to t as JSON, with all that is not well,
 * be it against that or not. a is the first worker's; in a hold, because the
 * others are asked, too.
 */
enum health health_check(const struct admin *a,
    const struct health_question *q, struct text *t);

/* The answer where a worker hangs: nobody knows of its databases. */
enum health health_of_hung(struct text *t);

#endif
