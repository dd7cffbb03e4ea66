/* census.c - the end of each stats_period: counters become averages.
 * SPDX-License-Identifier: ISC */
#include "pool/census.h"

#include <limits.h>
#include <string.h>
#include <utlist.h>

#include "pool/pool.h"

static void enter(struct census *c, struct pool *p)
{
	p->census_round = c->round;
	DL_APPEND2(c->pools, p, census_prev, census_next);
}

void census_note(struct census *c, struct pool *p)
{
	if (p->census_prev == NULL)
		enter(c, p);
}

void census_forget(struct census *c, struct pool *p)
{
	if (p->census_prev == NULL)
		return;
	DL_DELETE2(c->pools, p, census_prev, census_next);
	p->census_prev = p->census_next = NULL;
}

void census_begin(struct census *c)
{
	census_settle(c);
	c->round++;
	memset(&c->last, 0, sizeof c->last);
	memset(&c->before, 0, sizeof c->before);
	c->open = true;
}

/* Will the end of a period change nothing in p until something happens? */
static bool is_still(const struct pool *p)
{
	const struct counted *const n = &p->counted;

	return p->care.due != 0 &&
	    memcmp(&n->now, &n->last, sizeof n->now) == 0 &&
	    memcmp(&n->last, &n->before, sizeof n->last) == 0;
}

static void count(struct census *c, struct pool *p)
{
	counted_snapshot(&p->counted);
	counters_add(&c->last, &p->counted.last);
	counters_add(&c->before, &p->counted.before);
	census_forget(c, p);
	if (!is_still(p))
		enter(c, p);
}

static struct pool *next_left(const struct census *c)
{
	struct pool *const p = c->pools;

	return p != NULL && p->census_round != c->round ? p : NULL;
}

void census_go_on(struct census *c, unsigned most)
{
	struct pool *p;

	for (; most > 0 && (p = next_left(c)) != NULL; most--)
		count(c, p);
}

void census_settle(struct census *c)
{
	census_go_on(c, UINT_MAX);
}

bool census_close(struct census *c, usec_t elapsed, struct counters *avg)
{
	if (!c->open || next_left(c) != NULL)
		return false;
	c->open = false;
	counters_average(avg, &c->last, &c->before, elapsed);
	return true;
}
