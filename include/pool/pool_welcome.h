/* pool_welcome.h - what clients of a pool are told at the end of their login.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_WELCOME_H
#define POOL_POOL_WELCOME_H

#include <stddef.h>
#include <stdint.h>

struct params;
struct pool;

/* What the first server of a pool said at login. (section 3, "Welcome") */
struct welcome {
	struct params *params;		/* tracked ones; counted */
	size_t len;
	uint8_t bytes[];		/* ParameterStatus of the others */
};

/*
 * What a server of p has said at its login, or has brought from another worker:
 * p has had none. set is taken over. 0, or -1: no memory.
 */
int pool_put_welcome(struct pool *p, struct params *set, const void *bytes,
    size_t len);
/* It is obsolete, or p is. */
void pool_drop_welcome(struct pool *p);

#endif
