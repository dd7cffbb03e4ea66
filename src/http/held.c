/* held.c - an answer each bit of which is made while all workers stand still.
 * SPDX-License-Identifier: ISC */
#include "http/held.h"

#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "console/admin.h"
#include "http/httpd.h"

struct held {
	struct held *prev, *next;	/* in late */
	struct holds *holds;		/* borrowed */
	const struct httpd_source *source;
	void *body;			/* owned, of source */
};

bool holds_take(const struct holds *hs)
{
	struct err e;

	return hs->admin->ops->hold(hs->admin->app, &e) == 0;
}

void holds_release(const struct holds *hs)
{
	hs->admin->ops->let_go(hs->admin->app);
}

static void free_now(struct held *x)
{
	x->source->free(x->body);
	mem_free(x);
}

void holds_free_late(struct holds *hs)
{
	struct held *x, *next;

	if (hs->late == NULL || !holds_take(hs))
		return;
	DL_FOREACH_SAFE(hs->late, x, next)
		free_now(x);
	hs->late = NULL;
	holds_release(hs);
}

static enum httpd_more more(void *body, struct text *t)
{
	struct held *const x = body;

	if (!holds_take(x->holds))
		return HTTPD_BROKEN;
	const enum httpd_more rest = x->source->more(x->body, t);

	holds_release(x->holds);
	return rest;
}

static void held_free(void *body)
{
	struct held *const x = body;
	struct holds *const hs = x->holds;

	DL_APPEND(hs->late, x);
	holds_free_late(hs);
}

struct held *held_new(struct holds *hs, const struct httpd_source *source,
    void *body)
{
	struct held *const x = mem_zalloc(sizeof *x);

	if (x == NULL) {
		source->free(body);
		return NULL;
	}
	x->holds = hs;
	x->source = source;
	x->body = body;
	return x;
}

const struct httpd_source *held_source(void)
{
	static const struct httpd_source source = {
		.more = more, .free = held_free };

	return &source;
}
