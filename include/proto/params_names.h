/* params_names.h - which parameters are tracked, and what is special of them.
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

#endif
