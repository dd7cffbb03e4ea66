/* lobby.c - guests, clients that have not logged in yet: how many, what memory
 * they hold, how often they fail, and what the log says of them.
 * SPDX-License-Identifier: ISC */
#include "pool/lobby_parts.h"

#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/net.h"

#define FORGET (60 * USEC)	/* failures of a source, after the last one */
#define PATIENCE 3		/* failures that cost nothing */
#define STEP (USEC / 8)		/* the first delay; then it doubles */
#define GRAIN (USEC / 10)
#define MARKS_MAX 10000		/* sources whose failures are remembered */

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
	if (l->shared && l->first == NULL)
		pthread_mutex_destroy(&l->lock);
	while (l->marked != NULL)
		source_forgive(l, l->marked);
	if (l->last != NULL)
		source_free(l, l->last);
	l->last = NULL;
}

static int enter(struct lobby *l, struct lobby_guest *g,
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

int lobby_enter(struct lobby *l, struct lobby_guest *g,
    const struct net_addr *from)
{
	struct lobby *const all = lobby_lock(l);
	const int rc = enter(all, g, from);

	g->lobby = l;
	l->guests += rc == 0;
	lobby_unlock(all);
	return rc;
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

static void weigh(struct lobby *l, struct lobby_guest *g, size_t own,
    size_t library)
{
	l->bytes = l->bytes - g->bytes + own + library;
	g->bytes = own + library;
	set_heavy(l, g, own > LOBBY_LIGHT);
}

void lobby_take_out(struct lobby *l, struct lobby_guest *g)
{
	weigh(l, g, 0, 0);
	leave_source(l, g);
	DL_DELETE(l->all, g);
	l->count--;
	g->lobby->guests--;
	g->present = false;
}

/* It is closed, whoever wanted that. */
static void end_expulsion(struct lobby *l, struct lobby_guest *g)
{
	if (g->prev != NULL)
		DL_DELETE(g->lobby->expelled, g);
	l->leaving--;
	g->prev = NULL;
	g->expelled = false;
}

bool lobby_leave(struct lobby *l, struct lobby_guest *g)
{
	/* nobody else looks at one that has not entered, or left */
	if (g->lobby == NULL)
		return true;
	struct lobby *const all = lobby_lock(l);
	const bool was_expelled = g->expelled;

	if (g->present)
		lobby_take_out(all, g);
	if (was_expelled)
		end_expulsion(all, g);
	lobby_unlock(all);
	g->lobby = NULL;
	wheel_remove(&g->penalty);
	g->until = 0;
	return !was_expelled;
}

void lobby_hold(struct lobby *l, struct lobby_guest *g, size_t own,
    size_t library)
{
	struct lobby *const all = lobby_lock(l);

	if (g->present)
		weigh(all, g, own, library);
	lobby_unlock(all);
}

size_t lobby_bytes(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	const size_t n = all->bytes;

	lobby_unlock(all);
	return n;
}

void lobby_examine(struct lobby *l, struct lobby_guest *g, bool examined)
{
	struct lobby *const all = lobby_lock(l);

	g->examined = examined;
	lobby_unlock(all);
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

/* Returns how often that source has failed. */
static unsigned mark(struct lobby *l, struct lobby_source *s, usec_t now)
{
	forgive_old(l, now);
	if (s->failures++ > 0)
		DL_DELETE(l->marked, s);
	else
		l->marks++;
	s->failed = now;
	DL_APPEND(l->marked, s);
	return s->failures;
}

usec_t lobby_fail(struct lobby *l, struct lobby_guest *g, usec_t max,
    usec_t now)
{
	struct lobby *const all = lobby_lock(l);
	const unsigned failures = lobby_has_address(g) && max > 0 ?
	    mark(all, g->source, now) : 0;
	const bool is_expelled = g->expelled;

	lobby_unlock(all);
	return is_expelled ? max : delay_of(failures, max);
}

void lobby_punish(struct lobby *l, struct lobby_guest *g, usec_t until)
{
	struct lobby *const all = lobby_lock(l);

	g->until = until;
	lobby_unlock(all);
	wheel_add(&l->penalties, &g->penalty);
}

void lobby_turn(struct lobby *l, usec_t now)
{
	struct lobby *const all = lobby_lock(l);

	forgive_old(all, now);
	lobby_unlock(all);
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

static void decide(struct lobby *l, struct lobby_guest *g, unsigned rate,
    usec_t now)
{
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
}

bool lobby_speaks(struct lobby *l, struct lobby_guest *g, unsigned rate,
    usec_t now)
{
	if (g->voice == LOBBY_UNDECIDED) {
		struct lobby *const all = lobby_lock(l);

		decide(all, g, rate, now);
		lobby_unlock(all);
	}
	return g->voice == LOBBY_LOUD;
}

bool lobby_admit(struct lobby *l, struct lobby_guest *g)
{
	if (g->voice == LOBBY_UNDECIDED)
		return false;
	struct lobby *const all = lobby_lock(l);
	unsigned *const said = g->voice == LOBBY_LOUD ? &all->loud :
	    &all->quiet;

	if (*said > 0)
		--*said;
	lobby_unlock(all);
	return g->voice == LOBBY_QUIET;
}

static unsigned take_unsaid(struct lobby *l, usec_t now)
{
	const unsigned n = l->quiet;

	if (n == 0 || now - l->second < USEC)
		return 0;
	l->second = now;
	l->loud = l->quiet = 0;
	return n;
}

unsigned lobby_take_unsaid(struct lobby *l, usec_t now)
{
	struct lobby *const all = lobby_lock(l);
	const unsigned n = take_unsaid(all, now);

	lobby_unlock(all);
	return n;
}
