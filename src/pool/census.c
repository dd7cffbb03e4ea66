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

static void leave(struct census *c, struct pool *p)
{
	if (p->census_prev == NULL)
		return;
	DL_DELETE2(c->pools, p, census_prev, census_next);
	p->census_prev = p->census_next = NULL;
}

void census_forget(struct census *c, struct pool *p)
{
	leave(c, p);
	latencies_end_period(&c->latencies, p);
	latencies_free(&p->latencies);
}

void census_fini(struct census *c)
{
	latencies_fini(&c->latencies);
}

/* The averages of the last period can be told from now on. */
static void close_period(struct census *c)
{
	c->open = false;
	for (size_t i = 0; i < LATENCIES; i++)
		histogram_end_period(&c->latencies.of[i]);
}

void census_begin(struct census *c)
{
	census_settle(c);
	if (c->open)
		close_period(c);
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
	    memcmp(&n->last, &n->before, sizeof n->last) == 0 &&
	    latencies_are_still(p);
}

static void count(struct census *c, struct pool *p)
{
	counted_snapshot(&p->counted);
	counters_add(&c->last, &p->counted.last);
	counters_add(&c->before, &p->counted.before);
	latencies_end_period(&c->latencies, p);
	leave(c, p);
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
	close_period(c);
	counters_average(avg, &c->last, &c->before, elapsed);
	return true;
}
