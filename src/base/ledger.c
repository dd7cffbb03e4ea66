/* ledger.c - what several workers may have together under one name.
 * SPDX-License-Identifier: ISC */
#include "base/ledger.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/mem.h"

/*
 * Counts and wants are written, then looked at, by each side in one order of
 * all: whoever gives sees who wants, or who wants sees what was given.
 */
struct ledger {
	struct ledger_sum *sum;		/* NULL: not open */
	void *owner;			/* borrowed */
	unsigned worker;
	struct ledger *prev, *next;	/* in desk.called; under the lock */
	bool called;			/* under the lock */
	atomic_uint own[LEDGER_KINDS];	/* of this worker */
	atomic_llong since;		/* of struct ledger_want */
	atomic_bool in_need;
	atomic_uint wanted;		/* its count */
	atomic_uint coming;		/* servers in the mail to this worker */
};

/* All of one name. */
struct ledger_sum {
	UT_hash_handle hh;		/* in the book, under its lock */
	struct ledger_book *book;
	char *name;			/* owned */
	unsigned open;			/* under the lock */
	atomic_uint taken[LEDGER_KINDS];
	struct ledger at[];		/* of each worker */
};

/* Where a worker is called; under the lock. */
struct desk {
	struct ledger *called;		/* DL */
	struct ledger_bell bell;	/* ring NULL: there is none */
};

struct ledger_book {
	pthread_mutex_t lock;
	struct ledger_sum *sums;	/* uthash */
	unsigned workers;
	struct desk desks[];
};

/* --- the book --- */

struct ledger_book *ledger_book_new(unsigned workers)
{
	struct ledger_book *const b = mem_zalloc(sizeof *b +
	    workers * sizeof b->desks[0]);

	if (b == NULL)
		return NULL;
	pthread_mutex_init(&b->lock, NULL);
	b->workers = workers;
	return b;
}

void ledger_book_free(struct ledger_book **bp)
{
	struct ledger_book *const b = *bp;

	*bp = NULL;
	if (b == NULL)
		return;
	assert(b->sums == NULL);
	pthread_mutex_destroy(&b->lock);
	mem_free(b);
}

static void put_bell(struct ledger_book *b, unsigned worker,
    struct ledger_bell bell)
{
	pthread_mutex_lock(&b->lock);
	b->desks[worker].bell = bell;
	pthread_mutex_unlock(&b->lock);
}

void ledger_book_join(struct ledger_book *b, unsigned worker,
    struct ledger_bell bell)
{
	put_bell(b, worker, bell);
}

void ledger_book_leave(struct ledger_book *b, unsigned worker)
{
	put_bell(b, worker, (struct ledger_bell){ NULL, NULL });
}

void *ledger_take_called(struct ledger_book *b, unsigned worker)
{
	struct desk *const d = &b->desks[worker];
	void *owner = NULL;

	pthread_mutex_lock(&b->lock);
	struct ledger *const l = d->called;

	if (l != NULL) {
		DL_DELETE(d->called, l);
		l->called = false;
		owner = l->owner;
	}
	pthread_mutex_unlock(&b->lock);
	return owner;
}

/* --- ledgers --- */

static struct ledger_sum *sum_new(struct ledger_book *b, const char *name)
{
	struct ledger_sum *const s = mem_zalloc(sizeof *s +
	    b->workers * sizeof s->at[0]);

	if (s == NULL)
		return NULL;
	s->book = b;
	s->name = mem_strdup(name);
	if (s->name != NULL)
		HASH_ADD_KEYPTR(hh, b->sums, s->name, strlen(s->name), s);
	if (s->name != NULL && s->hh.tbl != NULL)
		return s;
	mem_free(s->name);
	mem_free(s);
	return NULL;
}

struct ledger *ledger_open(struct ledger_book *b, unsigned worker,
    const char *name, void *owner)
{
	struct ledger_sum *s = NULL;
	struct ledger *l = NULL;

	pthread_mutex_lock(&b->lock);
	HASH_FIND_STR(b->sums, name, s);
	if (s == NULL)
		s = sum_new(b, name);
	if (s != NULL) {
		l = &s->at[worker];
		assert(l->sum == NULL);
		l->sum = s;
		l->owner = owner;
		l->worker = worker;
		s->open++;
	}
	pthread_mutex_unlock(&b->lock);
	return l;
}

static void sum_close(struct ledger_sum *s)
{
	if (--s->open > 0)
		return;
	HASH_DEL(s->book->sums, s);
	mem_free(s->name);
	mem_free(s);
}

void ledger_close(struct ledger **lp)
{
	struct ledger *const l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	struct ledger_book *const b = l->sum->book;

	ledger_want(l, (struct ledger_want){ 0 });
	for (int kind = 0; kind < LEDGER_KINDS; kind++)
		atomic_store(&l->own[kind], 0);
	pthread_mutex_lock(&b->lock);
	if (l->called)
		DL_DELETE(b->desks[l->worker].called, l);
	l->called = false;
	struct ledger_sum *const s = l->sum;

	l->sum = NULL;
	sum_close(s);
	pthread_mutex_unlock(&b->lock);
}

/* --- counts --- */

unsigned ledger_taken(const struct ledger *l, enum ledger_kind kind)
{
	return atomic_load(&l->sum->taken[kind]);
}

unsigned ledger_taken_at(const struct ledger *l, unsigned worker,
    enum ledger_kind kind)
{
	return atomic_load_explicit(&l->sum->at[worker].own[kind],
	    memory_order_relaxed);
}

static void ledger_count(struct ledger *l, enum ledger_kind kind, int n)
{
	atomic_store_explicit(&l->own[kind], atomic_load_explicit(
	    &l->own[kind], memory_order_relaxed) + (unsigned)n,
	    memory_order_relaxed);
}

bool ledger_take(struct ledger *l, enum ledger_kind kind, unsigned max)
{
	atomic_uint *const taken = &l->sum->taken[kind];
	unsigned n = atomic_load(taken);

	do {
		if (n >= max)
			return false;
	} while (!atomic_compare_exchange_weak(taken, &n, n + 1));
	ledger_count(l, kind, 1);
	return true;
}

unsigned ledger_add(struct ledger *l, enum ledger_kind kind)
{
	const unsigned before = atomic_fetch_add(&l->sum->taken[kind], 1);

	ledger_count(l, kind, 1);
	return before + 1;
}

void ledger_give(struct ledger *l, enum ledger_kind kind)
{
	const unsigned before = atomic_fetch_sub(&l->sum->taken[kind], 1);

	assert(before > 0);
	ledger_count(l, kind, -1);
}

/* --- on the way --- */

struct ledger_trip ledger_send(struct ledger *l, enum ledger_kind kind,
    unsigned to)
{
	struct ledger_sum *const s = l->sum;

	if (kind == LEDGER_SERVERS)
		atomic_fetch_add(&s->at[to].coming, 1);
	pthread_mutex_lock(&s->book->lock);
	s->open++;
	pthread_mutex_unlock(&s->book->lock);
	ledger_count(l, kind, -1);
	return (struct ledger_trip){ s, kind, to };
}

static void end_trip(struct ledger_trip *t)
{
	struct ledger_book *const b = t->of->book;

	if (t->kind == LEDGER_SERVERS)
		atomic_fetch_sub(&t->of->at[t->to].coming, 1);
	pthread_mutex_lock(&b->lock);
	sum_close(t->of);
	pthread_mutex_unlock(&b->lock);
	t->of = NULL;
}

void ledger_receive(struct ledger *l, struct ledger_trip *t)
{
	if (t->of == NULL)
		return;
	assert(l->sum == t->of);
	ledger_count(l, t->kind, 1);
	end_trip(t);
}

/* --- who wants --- */

void ledger_want(struct ledger *l, struct ledger_want want)
{
	if (atomic_load_explicit(&l->since, memory_order_relaxed) ==
	    want.since && atomic_load_explicit(&l->in_need,
	    memory_order_relaxed) == want.in_need &&
	    atomic_load_explicit(&l->wanted, memory_order_relaxed) ==
	    want.count)
		return;
	atomic_store(&l->in_need, want.in_need);
	atomic_store(&l->wanted, want.count);
	atomic_store(&l->since, want.since);
}

usec_t ledger_wants(const struct ledger *l)
{
	return atomic_load_explicit(&l->since, memory_order_relaxed);
}

unsigned ledger_wanted(const struct ledger *l)
{
	return atomic_load_explicit(&l->wanted, memory_order_relaxed);
}

static bool is_served(const struct ledger *l)
{
	return atomic_load(&l->coming) >= atomic_load(&l->wanted);
}

/*
 * The ledger of the worker that wants most, but for one, and for those that
 * skip says; NULL: none wants.
 */
static struct ledger *find_first(struct ledger_sum *s, const struct ledger *but,
    bool (*skip)(const struct ledger *l))
{
	struct ledger *rival = NULL;
	usec_t first = 0;

	for (unsigned i = 0; i < s->book->workers; i++) {
		const usec_t since = atomic_load(&s->at[i].since);

		if (&s->at[i] == but || since == 0 ||
		    (first != 0 && first <= since) ||
		    (skip != NULL && skip(&s->at[i])))
			continue;
		first = since;
		rival = &s->at[i];
	}
	return rival;
}

static struct ledger *find_rival(const struct ledger *l)
{
	return find_first(l->sum, l, NULL);
}

static struct ledger_want want_of(const struct ledger *l, unsigned worker)
{
	return l == NULL ? (struct ledger_want){ 0 } :
	    (struct ledger_want){ .since = atomic_load(&l->since),
		.in_need = atomic_load(&l->in_need),
		.count = atomic_load(&l->wanted), .worker = worker };
}

struct ledger_want ledger_rival(const struct ledger *l)
{
	const struct ledger *const rival = find_rival(l);

	return want_of(rival, rival == NULL ? 0 :
	    (unsigned)(rival - l->sum->at));
}

struct ledger_want ledger_recipient(const struct ledger *l)
{
	const struct ledger *const other = find_first(l->sum, l, is_served);

	return want_of(other, other == NULL ? 0 :
	    (unsigned)(other - l->sum->at));
}

/* --- calls --- */

/* With the lock. */
static void call(struct ledger *l)
{
	if (l->sum == NULL || l->called)
		return;
	struct desk *const d = &l->sum->book->desks[l->worker];

	if (d->called == NULL && d->bell.ring != NULL)
		d->bell.ring(d->bell.arg);
	l->called = true;
	DL_APPEND(d->called, l);
}

void ledger_call_rival(struct ledger *l)
{
	struct ledger *const rival = find_rival(l);

	if (rival == NULL)
		return;
	pthread_mutex_lock(&l->sum->book->lock);
	call(rival);
	pthread_mutex_unlock(&l->sum->book->lock);
}

void ledger_lose(struct ledger_trip *t)
{
	struct ledger_sum *const s = t->of;

	if (s == NULL)
		return;
	atomic_fetch_sub(&s->taken[t->kind], 1);
	struct ledger *const first = t->kind == LEDGER_SERVERS ?
	    find_first(s, NULL, NULL) : NULL;

	if (first != NULL) {
		pthread_mutex_lock(&s->book->lock);
		call(first);
		pthread_mutex_unlock(&s->book->lock);
	}
	end_trip(t);
}

static bool has_servers(const struct ledger *l)
{
	return atomic_load_explicit(&l->own[LEDGER_SERVERS],
	    memory_order_relaxed) > 0;
}

static bool may_have_idle(const struct ledger *l)
{
	return has_servers(l) && atomic_load(&l->since) == 0;
}

/* All others that are so. */
static void ledger_call_all(struct ledger *l,
    bool (*is)(const struct ledger *l))
{
	struct ledger_sum *const s = l->sum;

	pthread_mutex_lock(&s->book->lock);
	for (unsigned i = 0; i < s->book->workers; i++) {
		if (&s->at[i] != l && is(&s->at[i]))
			call(&s->at[i]);
	}
	pthread_mutex_unlock(&s->book->lock);
}

void ledger_call_servers(struct ledger *l)
{
	ledger_call_all(l, has_servers);
}

void ledger_call_idle(struct ledger *l)
{
	ledger_call_all(l, may_have_idle);
}
