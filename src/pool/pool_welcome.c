/* pool_welcome.c - what clients of a pool are told at the end of their login.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_welcome.h"

#include <string.h>

#include "base/mem.h"
#include "pool/pool.h"
#include "proto/params.h"

int pool_put_welcome(struct pool *p, struct params *set, const void *bytes,
    size_t len)
{
	struct welcome *const w = mem_alloc(sizeof *w + len);

	if (w == NULL) {
		params_unref(&set);
		return -1;
	}
	w->params = set;
	w->len = len;
	if (len > 0)
		memcpy(w->bytes, bytes, len);
	p->welcome = w;
	return 0;
}

void pool_drop_welcome(struct pool *p)
{
	if (p->welcome == NULL)
		return;
	params_unref(&p->welcome->params);
	mem_free(p->welcome);
	p->welcome = NULL;
}
