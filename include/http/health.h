/* health.h - is this pooler alive, and may clients be sent to it?
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HEALTH_H
#define HTTP_HEALTH_H

#include <stdbool.h>

struct admin;
struct text;

#define HEALTH_BYTES 4096	/* of a body; what is more is counted */

enum health { HEALTH_READY, HEALTH_NOT_READY, HEALTH_NO_DATABASE };

/*
 * May clients be sent here; to this database (NULL: to all that are configured)?
 * The answer is written to t as JSON, with all that speaks against it. a is the
 * first worker's; in a hold, as the others are asked, too.
 */
enum health health_check(const struct admin *a, const char *database,
    struct text *t);

/* The answer where a worker hangs: nobody knows of its databases. */
enum health health_of_hung(struct text *t);

#endif
