/* pool_welcome.h - what clients of a pool are told at the end of their login.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_WELCOME_H
#define POOL_POOL_WELCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct params;
struct pool;
struct writer;

/* What a server of a pool said at its login. (section 3, "Welcome") */
struct welcome {
	struct params *params;		/* tracked ones; counted */
	size_t len;
	uint8_t bytes[];		/* ParameterStatus of the others */
};

/*
 * What a server of p has said at its login, or has brought from another worker,
 * is the welcome from now on. set is taken over. 0, or -1: no memory, and the
 * one before stays.
 */
int pool_put_welcome(struct pool *p, struct params *set, const void *bytes,
    size_t len);
/*
 * A server has reported this. If no client can have set it, new clients are
 * told it. 0, or -1: no memory.
 */
int pool_renew_welcome(struct pool *p, const char *name, const char *value);
/* Is the parameter one that no client can set? */
bool welcome_is_fixed(const char *name);
/*
 * No server of p is left, because one was lost: the next may be another one
 * (a failover, an upgrade). New clients wait for what it says, except while p
 * cannot have one.
 */
void pool_doubt_welcome(struct pool *p);
/* Is there a welcome, and does it count? */
bool pool_is_welcoming(const struct pool *p);
/* What a client that was welcomed before is told then of a welcome that is new. */
void welcome_write_news(const struct welcome *g, struct writer *w);
/* It is obsolete, or p is. */
void pool_drop_welcome(struct pool *p);

#endif
