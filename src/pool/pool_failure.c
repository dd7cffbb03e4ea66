/* pool_failure.c - why no server of a pool could be logged in.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_failure.h"

#include <stdint.h>

#include "base/mem.h"
#include "base/time.h"
#include "pool/pool.h"

#define LONG_AGO (INT64_MIN / 4)	/* for any server_login_retry */

static void forget_failure(struct pool *p)
{
	mem_free(p->failure);
	p->failure = NULL;
}

static void forget_miss(struct pool *p)
{
	mem_free(p->miss);
	p->miss = NULL;
}

void pool_miss(struct pool *p, const char *what)
{
	forget_miss(p);
	p->miss = mem_strdup(what);
	p->missed = true;
}

void pool_fail(struct pool *p, const char *reason, const char *hint)
{
	forget_failure(p);
	if (!p->missed)
		forget_miss(p);
	p->missed = false;
	if (!p->failing)
		p->failing_since = time_now();
	p->failing = true;
	p->failure_hint = hint;
	p->failure = reason == NULL ? NULL : mem_strdup(reason);
}

void pool_worked(struct pool *p)
{
	forget_failure(p);
	forget_miss(p);
	p->missed = p->failing = false;
}

void pool_retry_now(struct pool *p)
{
	if (!p->failing)
		return;
	p->last_launch = LONG_AGO;
	wheel_wake(&p->wheel);
}

const char *pool_failure(const struct pool *p)
{
	return p->failure != NULL ? p->failure : "out of memory";
}

const char *pool_failure_detail(const struct pool *p)
{
	return p->miss;
}

const char *pool_failure_hint(const struct pool *p)
{
	return p->failure_hint != NULL ? p->failure_hint :
	    "Look at the server, and at host and port in [databases]; the log "
	    "says more. It is tried again after server_login_retry.";
}
