/* lobby_limits.c - which guest must go when there are too many.
 * SPDX-License-Identifier: ISC */
#include "pool/lobby_parts.h"

#include <stddef.h>
#include <utlist.h>

#define LOOK_AT 64		/* guests, for one that must go */

/* A guess that is not waited for keeps its place taken. */
static struct lobby_guest *find_free(const struct lobby_source *s)
{
	struct lobby_guest *g = s->mates;

	for (int i = 0; i < LOOK_AT && g != NULL; i++, g = g->mate_next) {
		if (!lobby_is_punished(g) && !g->examined)
			return g;
	}
	return NULL;
}

/* Whoever has most of them here; where several have, the oldest one's. */
static const struct lobby_source *find_crowd(const struct lobby *l,
    const struct lobby_guest *newest)
{
	const struct lobby_guest *g = l->all;
	const struct lobby_source *crowd = g->source;

	for (int i = 0; i < LOOK_AT && g != NULL; i++, g = g->next) {
		if (g->source->count > crowd->count)
			crowd = g->source;
	}
	return newest->source->count > crowd->count ? newest->source : crowd;
}

static struct lobby_guest *find_one_too_many(const struct lobby *l,
    struct lobby_guest *g)
{
	const struct lobby_source *const crowd = find_crowd(l, g);
	struct lobby_guest *const one = find_free(crowd);

	if (one != NULL)
		return one;
	return crowd == g->source ? g : crowd->mates;
}

/* Is it this worker's to close? */
static bool is_here(const struct lobby *l, const struct lobby_guest *g)
{
	return g->lobby == l && !g->travels;
}

/* Another worker's guest is out at once; one that travels is told at the end. */
static void expel(struct lobby *all, struct lobby_guest *g,
    enum tally_limit limit)
{
	struct lobby *const l = g->lobby;

	lobby_take_out(all, g);
	g->expelled = true;
	g->limit = (uint8_t)limit;
	g->prev = NULL;
	all->leaving++;
	if (g->travels)
		return;
	if (l->expelled == NULL)
		l->call(l->arg);
	DL_APPEND(l->expelled, g);
}

static struct lobby_guest *one_too_many(const struct lobby *l,
    struct lobby_guest *g, size_t max)
{
	return l->count > max ? find_one_too_many(l, g) : NULL;
}

static struct lobby_guest *mate_too_many(const struct lobby *l,
    struct lobby_guest *g, size_t max)
{
	struct lobby_guest *mate;

	(void)l;
	if (!lobby_has_address(g) || max == 0 || g->source->count <= max)
		return NULL;
	mate = find_free(g->source);
	return mate != NULL ? mate : g;
}

static struct lobby_guest *bytes_too_many(const struct lobby *l,
    struct lobby_guest *g, size_t max)
{
	if (max == 0 || l->bytes <= max)
		return NULL;
	return l->heavies != NULL ? l->heavies : find_one_too_many(l, g);
}

struct limit {
	struct lobby_guest *(*find)(const struct lobby *l,
	    struct lobby_guest *g, size_t max);
	enum tally_limit name;
};

static inline struct lobby_guest *surplus(struct lobby *l, struct lobby_guest *g,
    const struct limit *limit, size_t max)
{
	struct lobby *const all = lobby_lock(l);
	struct lobby_guest *victim = NULL;

	while (g->present && (victim = limit->find(all, g, max)) != NULL &&
	    !is_here(l, victim))
		expel(all, victim, limit->name);
	lobby_unlock(all);
	return victim;
}

struct lobby_guest *lobby_surplus(struct lobby *l, struct lobby_guest *g,
    unsigned max)
{
	static const struct limit limit = { one_too_many,
		TALLY_max_unauthenticated };

	return surplus(l, g, &limit, max);
}

struct lobby_guest *lobby_surplus_mate(struct lobby *l, struct lobby_guest *g,
    unsigned max)
{
	static const struct limit limit = { mate_too_many,
		TALLY_max_unauthenticated_per_address };

	return surplus(l, g, &limit, max);
}

struct lobby_guest *lobby_surplus_bytes(struct lobby *l, struct lobby_guest *g,
    size_t max)
{
	static const struct limit limit = { bytes_too_many,
		TALLY_login_memory };

	return surplus(l, g, &limit, max);
}

/* One that guesses, of the same source, would pay no penalty. */
static bool makes_room(const struct lobby_guest *old,
    const struct lobby_guest *g)
{
	return old != g && !(lobby_is_punished(old) &&
	    old->source == g->source);
}

/* One of the oldest that is idle, else the oldest, if it is slow. */
static struct lobby_guest *find_displaced(const struct lobby *l,
    const struct lobby_guest *g, const struct lobby_judge *judge)
{
	struct lobby_guest *const oldest =
	    l->first != NULL ? l->first->all : l->all;
	struct lobby_guest *old = oldest;

	for (int i = 0; i < LOOK_AT && old != NULL; i++, old = old->next) {
		if (makes_room(old, g) && (is_here(l, old) ?
		    judge->is_idle(old) : lobby_is_punished(old)))
			return old;
	}
	return oldest != NULL && makes_room(oldest, g) &&
	    judge->is_slow(oldest) ? oldest : NULL;
}

/* The oldest that serves no penalty, else the oldest. */
static struct lobby_guest *find_oldest(const struct lobby *l)
{
	struct lobby_guest *g = l->all;

	for (int i = 0; i < LOOK_AT && g != NULL; i++, g = g->next) {
		if (!lobby_is_punished(g))
			return g;
	}
	return l->all;
}

bool lobby_expel_oldest(struct lobby *l, enum tally_limit limit,
    struct lobby_guest **own)
{
	struct lobby *const all = lobby_lock(l);
	struct lobby_guest *const victim = find_oldest(all);

	if (victim != NULL && !is_here(l, victim))
		expel(all, victim, limit);
	*own = victim != NULL && victim->present ? victim : NULL;
	lobby_unlock(all);
	return victim != NULL;
}

bool lobby_displace(struct lobby *l, const struct lobby_guest *g,
    const struct lobby_judge *judge, struct lobby_guest **own)
{
	struct lobby *const all = lobby_lock(l);
	struct lobby_guest *const victim = find_displaced(l, g, judge);

	if (victim != NULL && !is_here(l, victim))
		expel(all, victim, TALLY_max_client_conn);
	*own = victim != NULL && victim->present ? victim : NULL;
	lobby_unlock(all);
	return victim != NULL;
}
