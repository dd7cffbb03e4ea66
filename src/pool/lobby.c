/* lobby.c - guests, clients that have not logged in yet: how many, what memory
 * they hold, how often they fail, and what the log says of them.
 * SPDX-License-Identifier: ISC */
#include "pool/lobby.h"

#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/net.h"

#define FORGET (60 * USEC)	/* failures of a source, after the last one */
#define PATIENCE 3		/* failures that cost nothing */
#define STEP (USEC / 8)		/* the first delay; then it doubles */
#define GRAIN (USEC / 10)
#define MARKS_MAX 10000		/* sources whose failures are remembered */
#define LOOK_AT 64		/* guests, for one that must go */

struct source_key {
	uint8_t family;
	uint8_t net[8];
};

struct lobby_source {
	UT_hash_handle hh;
	struct source_key key;
	struct lobby_guest *mates;	/* DL: guests here, oldest first */
	unsigned count;
	unsigned failures;		/* 0: not in the list of the marked */
	usec_t failed;			/* the last of them */
	struct lobby_source *prev, *next;	/* marked */
};

/* --- sources --- */

/* Guests without an address are of one source, which has no limit. */
static void make_key(struct source_key *k, const struct net_addr *a)
{
	memset(k, 0, sizeof *k);
	if (a->family != NET_IPV4 && a->family != NET_IPV6)
		return;
	k->family = a->family;
	memcpy(k->net, a->ip, a->family == NET_IPV4 ? 4 : sizeof k->net);
}

static bool has_address(const struct lobby_guest *g)
{
	return g->source != NULL && g->source->key.family != 0;
}

static struct lobby_source *source_get(struct lobby *l,
    const struct source_key *k)
{
	struct lobby_source *s = NULL;

	HASH_FIND(hh, l->sources, k, sizeof *k, s);
	if (s != NULL)
		return s;
	s = mem_zalloc(sizeof *s);
	if (s == NULL)
		return NULL;
	s->key = *k;
	HASH_ADD(hh, l->sources, key, sizeof s->key, s);
	if (s->hh.tbl != NULL)
		return s;
	mem_free(s);
	return NULL;
}

/* Nobody is there, and nothing of it is remembered. */
static bool is_vacant(const struct lobby_source *s)
{
	return s != NULL && s->count == 0 && s->failures == 0;
}

static void source_free(struct lobby *l, struct lobby_source *s)
{
	HASH_DEL(l->sources, s);
	mem_free(s);
}

/* The last one stays, as the next client is likely to come from there. */
static void source_drop_idle(struct lobby *l, struct lobby_source *s)
{
	if (!is_vacant(s) || s == l->last)
		return;
	if (is_vacant(l->last))
		source_free(l, l->last);
	l->last = s;
}

static void source_forgive(struct lobby *l, struct lobby_source *s)
{
	DL_DELETE(l->marked, s);
	l->marks--;
	s->failures = 0;
	source_drop_idle(l, s);
}

static void forgive_old(struct lobby *l, usec_t now)
{
	while (l->marked != NULL && (l->marks > MARKS_MAX ||
	    now - l->marked->failed > FORGET))
		source_forgive(l, l->marked);
}

/* --- coming and going --- */

void lobby_init(struct lobby *l, usec_t now)
{
	memset(l, 0, sizeof *l);
	wheel_init(&l->penalties, GRAIN, now);
	l->second = now;
}

void lobby_fini(struct lobby *l)
{
	while (l->marked != NULL)
		source_forgive(l, l->marked);
	if (l->last != NULL)
		source_free(l, l->last);
	l->last = NULL;
}

int lobby_enter(struct lobby *l, struct lobby_guest *g,
    const struct net_addr *from)
{
	struct source_key k;

	make_key(&k, from);
	g->source = source_get(l, &k);
	if (g->source == NULL)
		return -1;
	g->source->count++;
	DL_APPEND2(g->source->mates, g, mate_prev, mate_next);
	DL_APPEND(l->all, g);
	l->count++;
	g->present = true;
	return 0;
}

static void leave_source(struct lobby *l, struct lobby_guest *g)
{
	struct lobby_source *const s = g->source;

	DL_DELETE2(s->mates, g, mate_prev, mate_next);
	s->count--;
	g->source = NULL;
	source_drop_idle(l, s);
}

static void set_heavy(struct lobby *l, struct lobby_guest *g, bool heavy)
{
	if (g->heavy == heavy)
		return;
	g->heavy = heavy;
	if (heavy)
		DL_APPEND2(l->heavies, g, heavy_prev, heavy_next);
	else
		DL_DELETE2(l->heavies, g, heavy_prev, heavy_next);
}

void lobby_leave(struct lobby *l, struct lobby_guest *g)
{
	if (!g->present)
		return;
	lobby_hold(l, g, 0, 0);
	leave_source(l, g);
	DL_DELETE(l->all, g);
	l->count--;
	wheel_remove(&g->penalty);
	g->until = 0;
	g->present = false;
}

void lobby_hold(struct lobby *l, struct lobby_guest *g, size_t own,
    size_t library)
{
	l->bytes = l->bytes - g->bytes + own + library;
	g->bytes = own + library;
	set_heavy(l, g, own > LOBBY_LIGHT);
}

/* --- limits --- */

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

struct lobby_guest *lobby_surplus(const struct lobby *l, struct lobby_guest *g,
    unsigned max)
{
	return l->count > max ? find_one_too_many(l, g) : NULL;
}

struct lobby_guest *lobby_surplus_mate(struct lobby_guest *g, unsigned max)
{
	struct lobby_guest *mate;

	if (!has_address(g) || max == 0 || g->source->count <= max)
		return NULL;
	mate = find_free(g->source);
	return mate != NULL ? mate : g;
}

struct lobby_guest *lobby_surplus_bytes(const struct lobby *l,
    struct lobby_guest *g, size_t max)
{
	if (max == 0 || l->bytes <= max)
		return NULL;
	return l->heavies != NULL ? l->heavies : find_one_too_many(l, g);
}

bool lobby_makes_room(const struct lobby_guest *old,
    const struct lobby_guest *g)
{
	return old != g && !(lobby_is_punished(old) &&
	    old->source == g->source);
}

/* --- failures --- */

static usec_t delay_of(unsigned failures, usec_t max)
{
	usec_t delay = STEP;

	if (failures <= PATIENCE)
		return 0;
	for (unsigned n = PATIENCE + 1; n < failures && delay < max; n++)
		delay *= 2;
	return delay < max ? delay : max;
}

usec_t lobby_fail(struct lobby *l, struct lobby_guest *g, usec_t max,
    usec_t now)
{
	struct lobby_source *const s = g->source;

	if (!has_address(g) || max <= 0)
		return 0;
	forgive_old(l, now);
	if (s->failures++ > 0)
		DL_DELETE(l->marked, s);
	else
		l->marks++;
	s->failed = now;
	DL_APPEND(l->marked, s);
	return delay_of(s->failures, max);
}

void lobby_punish(struct lobby *l, struct lobby_guest *g, usec_t until)
{
	g->until = until;
	wheel_add(&l->penalties, &g->penalty);
}

void lobby_turn(struct lobby *l, usec_t now)
{
	forgive_old(l, now);
	wheel_turn(&l->penalties, now);
}

static struct lobby_guest *guest_of(struct wheel_node *n)
{
	return container_of(n, struct lobby_guest, penalty);
}

struct lobby_guest *lobby_take_served(struct lobby *l, usec_t now)
{
	struct wheel_node *n;

	while ((n = wheel_take(&l->penalties)) != NULL) {
		if (guest_of(n)->until <= now)
			return guest_of(n);
		wheel_hasten(n, guest_of(n)->until);
	}
	return NULL;
}

/* --- the log --- */

bool lobby_speaks(struct lobby *l, struct lobby_guest *g, unsigned rate,
    usec_t now)
{
	if (g->voice != LOBBY_UNDECIDED)
		return g->voice == LOBBY_LOUD;
	/* what is unsaid is told of before the next second begins */
	if (l->quiet == 0 && now - l->second >= USEC) {
		l->second = now;
		l->loud = 0;
	}
	g->voice = rate == 0 || l->loud < rate ? LOBBY_LOUD : LOBBY_QUIET;
	if (g->voice == LOBBY_LOUD)
		l->loud++;
	else
		l->quiet++;
	return g->voice == LOBBY_LOUD;
}

bool lobby_admit(struct lobby *l, struct lobby_guest *g)
{
	if (g->voice == LOBBY_LOUD && l->loud > 0)
		l->loud--;
	if (g->voice == LOBBY_QUIET && l->quiet > 0)
		l->quiet--;
	return g->voice == LOBBY_QUIET;
}

unsigned lobby_take_unsaid(struct lobby *l, usec_t now)
{
	const unsigned n = l->quiet;

	if (n == 0 || now - l->second < USEC)
		return 0;
	l->second = now;
	l->loud = l->quiet = 0;
	return n;
}
