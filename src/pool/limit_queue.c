/* limit_queue.c - the limits of a user, a database and a pool: shares, queues.
 * SPDX-License-Identifier: ISC */
#include "pool/limit_queue.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/ledger.h"
#include "base/mem.h"
#include "pool/pool.h"

#define SIZE_MIN 8

int limit_queue_enroll(struct limit_queue *l)
{
	if (l->members == l->size) {
		const unsigned size = l->size == 0 ? SIZE_MIN : l->size * 2;
		struct pool **heap = mem_resize(l->heap, size * sizeof *heap);

		if (heap == NULL)
			return -1;
		l->heap = heap;
		l->size = size;
	}
	l->members++;
	return 0;
}

void limit_queue_dismiss(struct limit_queue *l, struct pool *p)
{
	limit_queue_remove(l, p);
	l->members--;
}

void limit_queue_fini(struct limit_queue *l)
{
	mem_free(l->heap);
	l->heap = NULL;
	l->count = l->size = l->members = 0;
}

static struct limit_queue_place *place(const struct limit_queue *l, unsigned at)
{
	return &l->heap[at - 1]->place[l->kind];
}

static void limit_queue_put(struct limit_queue *l, unsigned at, struct pool *p)
{
	l->heap[at - 1] = p;
	p->place[l->kind].at = at;
}

static void limit_queue_swap(struct limit_queue *l, unsigned a, unsigned b)
{
	struct pool *const p = l->heap[a - 1];

	limit_queue_put(l, a, l->heap[b - 1]);
	limit_queue_put(l, b, p);
}

static void move_up(struct limit_queue *l, unsigned at)
{
	while (at > 1 && place(l, at)->since < place(l, at / 2)->since) {
		limit_queue_swap(l, at, at / 2);
		at /= 2;
	}
}

static void move_down(struct limit_queue *l, unsigned at)
{
	for (unsigned next; (next = 2 * at) <= l->count; at = next) {
		if (next < l->count &&
		    place(l, next + 1)->since < place(l, next)->since)
			next++;
		if (place(l, at)->since <= place(l, next)->since)
			return;
		limit_queue_swap(l, at, next);
	}
}

void limit_queue_add(struct limit_queue *l, struct pool *p)
{
	const usec_t since = pool_waiting_since(p);

	if (p->place[l->kind].at != 0 || since == 0)
		return;
	p->place[l->kind].since = since;
	limit_queue_put(l, ++l->count, p);
	move_up(l, l->count);
}

void limit_queue_remove(struct limit_queue *l, struct pool *p)
{
	const unsigned at = p->place[l->kind].at;

	if (at == 0)
		return;
	p->place[l->kind].at = 0;
	struct pool *const last = l->heap[--l->count];

	if (last == p)
		return;
	limit_queue_put(l, at, last);
	move_up(l, at);
	move_down(l, last->place[l->kind].at);
}

struct pool *limit_queue_first(struct limit_queue *l)
{
	while (l->count > 0) {
		struct pool *const p = l->heap[0];
		const usec_t since = pool_waiting_since(p);

		if (since == place(l, 1)->since)
			return p;
		if (since == 0) {
			limit_queue_remove(l, p);
			continue;
		}
		place(l, 1)->since = since;
		move_down(l, 1);
	}
	return NULL;
}

int limit_share_open(struct limit_share *s, struct ledger_book *book,
    unsigned worker, struct limit_name of)
{
	static const char kinds[LIMIT_SHARES] = {
		[LIMIT_DB] = 'd', [LIMIT_USER] = 'u', [LIMIT_POOL] = 'p',
	};
	const char *const user = of.user != NULL ? of.user : "";
	const size_t length = strlen(of.name);
	/* "a" and "bc" are not "ab" and "c" */
	const size_t size = sizeof "d18446744073709551615:" + length +
	    strlen(user);
	char *const name = mem_alloc(size);

	if (name == NULL)
		return -1;
	snprintf(name, size, "%c%zu:%s%s", kinds[s->kind], length, of.name,
	    user);
	s->ledger = ledger_open(book, worker, name, s);
	mem_free(name);
	return s->ledger != NULL ? 0 : -1;
}

void limit_share_close(struct limit_share *s)
{
	ledger_close(&s->ledger);
	s->promised = false;
}
