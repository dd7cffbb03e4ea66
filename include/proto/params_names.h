/* params_names.h - the parameters that are tracked, and their special values.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PARAMS_NAMES_H
#define PROTO_PARAMS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/params.h"

struct intern;

enum params_trait {
	PARAMS_FOLD = 1,	/* words of a fixed list, which the server
				 * reports in its own spelling */
	PARAMS_READ = 2,	/* texts are read by it: see effects.h */
	PARAMS_ACT = 4,		/* the acting user: each RESET and SET of the
				 * first one resets the second, which follows */
};

/* All zero: none. */
struct params_names {
	int count;
	const char *name[PARAMS_MAX];	/* interned */
	uint8_t traits[PARAMS_MAX];	/* of enum params_trait */
};

/*
 * All that PostgreSQL reports and a client may set, then the names of extra (a
 * comma list, or NULL). 0, or -1: no memory; put back what there is then, too.
 */
int params_names_get(struct params_names *n, struct intern *strings,
    const char *extra);
void params_names_put(struct params_names *n, struct intern *strings);

static inline bool params_names_are(const struct params_names *n, int i,
    enum params_trait trait)
{
	return (n->traits[i] & trait) != 0;
}

/* DateStyle, a value of two halves. */

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

/* The names of PostgreSQL's character sets. */

/*
 * The name by which PostgreSQL reports the client_encoding that it was asked
 * for by this one: "UTF8" for "utf-8" and for "Unicode". NULL: none is known.
 */
const char *encoding_name(const char *alias);

/*
 * Is the second half of its characters a letter or a backslash of ASCII at
 * times? Of no encoding is it a blank, a quote or any other byte below '0'.
 */
bool encoding_has_pairs(const char *alias);

#endif
