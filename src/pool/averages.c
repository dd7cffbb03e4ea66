/* averages.c - the end of each stats_period: counters become averages.
 * SPDX-License-Identifier: ISC */
#include "pool/averages.h"

#include <limits.h>
#include <string.h>
#include <utlist.h>

#include "pool/pool.h"

static void averages_enter(struct averages *c, struct pool *p)
{
	p->averages_round = c->round;
	DL_APPEND2(c->pools, p, averages_prev, averages_next);
}

void averages_note(struct averages *c, struct pool *p)
{
	if (p->averages_prev == NULL)
		averages_enter(c, p);
}

static void averages_leave(struct averages *c, struct pool *p)
{
	if (p->averages_prev == NULL)
		return;
	DL_DELETE2(c->pools, p, averages_prev, averages_next);
	p->averages_prev = p->averages_next = NULL;
}

void averages_forget(struct averages *c, struct pool *p)
{
	averages_leave(c, p);
	latencies_end_period(&c->latencies, p);
	latencies_free(&p->latencies);
}

void averages_fini(struct averages *c)
{
	latencies_fini(&c->latencies);
}

/* From now on the averages of the last period can be told. */
static void close_period(struct averages *c)
{
	c->open = false;
	for (size_t i = 0; i < LATENCIES; i++)
		histogram_end_period(&c->latencies.of[i]);
}

void averages_begin(struct averages *c)
{
	averages_settle(c);
	if (c->open)
		close_period(c);
	c->round++;
	memset(&c->last, 0, sizeof c->last);
	memset(&c->before, 0, sizeof c->before);
	c->open = true;
}

/* Would the end of a period change nothing in p, unless something happens? */
static bool is_still(const struct pool *p)
{
	const struct counted *const n = &p->counted;

	return p->wheel.due != 0 &&
	    memcmp(&n->now, &n->last, sizeof n->now) == 0 &&
	    memcmp(&n->last, &n->before, sizeof n->last) == 0 &&
	    latencies_are_still(p);
}

static void averages_count(struct averages *c, struct pool *p)
{
	counted_snapshot(&p->counted);
	counters_add(&c->last, &p->counted.last);
	counters_add(&c->before, &p->counted.before);
	latencies_end_period(&c->latencies, p);
	averages_leave(c, p);
	if (!is_still(p))
		averages_enter(c, p);
}

static struct pool *next_left(const struct averages *c)
{
	struct pool *const p = c->pools;

	return p != NULL && p->averages_round != c->round ? p : NULL;
}

bool averages_go_on(struct averages *c, unsigned most)
{
	struct pool *p;

	for (; most > 0 && (p = next_left(c)) != NULL; most--)
		averages_count(c, p);
	return next_left(c) != NULL;
}

void averages_settle(struct averages *c)
{
	(void)averages_go_on(c, UINT_MAX);
}

bool averages_close(struct averages *c, usec_t elapsed, struct counters *avg)
{
	if (!c->open || next_left(c) != NULL)
		return false;
	close_period(c);
	counters_average(avg, &c->last, &c->before, elapsed);
	return true;
}
