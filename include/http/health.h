/* health.h - is this pooler alive, and may clients be sent to it?
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HEALTH_H
#define HTTP_HEALTH_H

#include <stdbool.h>

struct admin;
struct text;

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
