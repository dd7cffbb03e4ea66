/* lobby.c - guests, clients that have not logged in yet: how many, what memory
 * they hold, how often they fail, and what the log says of them.
 * SPDX-License-Identifier: ISC */
#include "pool/lobby.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/net.h"

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

/* Of all workers; with the lock, where there are several. */
static inline struct lobby *lobby_lock(struct lobby *l)
{
	if (!l->shared)
		return l;
	struct lobby *const all = l->first != NULL ? l->first : l;

	pthread_mutex_lock(&all->lock);
	return all;
}

static inline void lobby_unlock(struct lobby *all)
{
	if (all->shared)
		pthread_mutex_unlock(&all->lock);
}

static inline bool lobby_has_address(const struct lobby_guest *g)
{
	return g->source != NULL && g->source->key.family != 0;
}

/* Out of all lists, with the lock. */
void lobby_take_out(struct lobby *all, struct lobby_guest *g);

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
static unsigned lobby_mark(struct lobby *l, struct lobby_source *s, usec_t now)
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
	    lobby_mark(all, g->source, now) : 0;
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

static void lobby_decide(struct lobby *l, struct lobby_guest *g, unsigned rate,
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

		lobby_decide(all, g, rate, now);
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

void lobby_share(struct lobby *first, struct lobby *l)
{
	struct lobby *last = first;

	if (!first->shared)
		pthread_mutex_init(&first->lock, NULL);
	first->shared = l->shared = true;
	while (last->next != NULL)
		last = last->next;
	last->next = l;
	l->worker = last->worker + 1;
	l->first = first;
}

void lobby_on_call(struct lobby *l, void (*call)(void *arg), void *arg)
{
	l->call = call;
	l->arg = arg;
}

unsigned lobby_emptiest(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	unsigned fewest = l->guests > 0 ? l->guests - 1 : 0;
	unsigned worker = l->worker;

	for (const struct lobby *other = all; other != NULL;
	    other = other->next) {
		if (other->guests >= fewest)
			continue;
		fewest = other->guests;
		worker = other->worker;
	}
	lobby_unlock(all);
	return worker;
}

static void change_lobby(struct lobby *all, struct lobby_guest *g,
    unsigned worker)
{
	struct lobby *to = all;

	while (to->worker != worker)
		to = to->next;
	g->lobby->guests--;
	to->guests++;
	g->lobby = to;
	g->travels = true;
}

bool lobby_send(struct lobby *l, struct lobby_guest *g, unsigned worker)
{
	struct lobby *const all = lobby_lock(l);
	const bool stays = g->expelled;

	if (!stays)
		change_lobby(all, g, worker);
	lobby_unlock(all);
	return !stays;
}

bool lobby_arrive(struct lobby *l, struct lobby_guest *g)
{
	struct lobby *const all = lobby_lock(l);
	const bool stays = g->present;

	g->travels = false;
	lobby_unlock(all);
	return stays;
}

struct lobby_guest *lobby_take_expelled(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	struct lobby_guest *const g = l->expelled;

	if (g != NULL) {
		DL_DELETE(l->expelled, g);
		g->prev = NULL;
	}
	lobby_unlock(all);
	return g;
}

bool lobby_is_expelled(struct lobby *l, const struct lobby_guest *g)
{
	if (!l->shared)
		return false;
	struct lobby *const all = lobby_lock(l);
	const bool is_expelled = g->expelled;

	lobby_unlock(all);
	return is_expelled;
}

bool lobby_is_empty(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	const bool is_empty = all->count == 0;

	lobby_unlock(all);
	return is_empty;
}

unsigned lobby_leaving(struct lobby *l)
{
	struct lobby *const all = lobby_lock(l);
	const unsigned n = all->leaving;

	lobby_unlock(all);
	return n;
}
