/* pool_failure.c - why no server of a pool could be logged in.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_failure.h"

#include "base/mem.h"
#include "pool/pool.h"

static void forget_failure(struct pool *p)
{
	mem_free(p->failure);
	p->failure = NULL;
}

void pool_fail(struct pool *p, const char *reason)
{
	forget_failure(p);
	p->failing = true;
	p->failure = reason == NULL ? NULL : mem_strdup(reason);
}

void pool_worked(struct pool *p)
{
	forget_failure(p);
	p->failing = false;
}

const char *pool_failure(const struct pool *p)
{
	return p->failure != NULL ? p->failure : "out of memory";
}
