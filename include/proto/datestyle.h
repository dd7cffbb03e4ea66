/* datestyle.h - DateStyle, a value of two halves.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_DATESTYLE_H
#define PROTO_DATESTYLE_H

#include <stdbool.h>

#define DATESTYLE_MAX 16	/* of a whole value, NUL included */

/*
 * What becomes of value where a whole one, have, is in force: a half that it
 * does not name stays. Written as PostgreSQL reports it. False: out is
 * unchanged, as PostgreSQL would refuse the value, or only it can tell.
 */
bool datestyle_complete(const char *value, const char *have,
    char out[DATESTYLE_MAX]);

/* The same where have may lack a half, too: then out may lack it. */
bool datestyle_join(const char *value, const char *have,
    char out[DATESTYLE_MAX]);

#endif
