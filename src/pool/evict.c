/* evict.c - idle servers under a limit, in order of their last use.
 * SPDX-License-Identifier: ISC */
#include "pool/evict.h"

#include <stddef.h>
#include <utlist.h>

#include "pool/catalog.h"

bool evict_is_candidate(enum server_state state)
{
	return state == SERVER_IDLE || state == SERVER_USED ||
	    state == SERVER_TESTED;
}

static struct pool_server **list_of(const struct pool *p, enum limit_kind kind)
{
	return kind == LIMIT_DB ? &p->key.db->evictable : &p->key.user->evictable;
}

static bool is_limited(const struct pool *p, enum limit_kind kind)
{
	return (kind == LIMIT_DB ? p->limits.max_db : p->limits.max_user) > 0;
}

static bool is_listed(const struct pool_server *ps, enum limit_kind kind)
{
	return ps->evict[kind].prev != NULL;
}

static void leave(struct pool_server *ps, enum limit_kind kind)
{
	struct pool_server **const list = list_of(ps->pool, kind);

	DL_DELETE2(*list, ps, evict[kind].prev, evict[kind].next);
	ps->evict[kind].prev = ps->evict[kind].next = NULL;
}

/* From the end: it was nearly always used just now. */
static void enter(struct pool_server *ps, enum limit_kind kind)
{
	struct pool_server **const list = list_of(ps->pool, kind);
	struct pool_server *at = *list == NULL ? NULL :
	    (*list)->evict[kind].prev;

	while (at != NULL && at->used > ps->used)
		at = at == *list ? NULL : at->evict[kind].prev;
	if (at == NULL)
		DL_PREPEND2(*list, ps, evict[kind].prev, evict[kind].next);
	else
		DL_APPEND_ELEM2(*list, at, ps, evict[kind].prev,
		    evict[kind].next);
}

/* Is ps between a server used earlier and one used later? */
static bool is_in_place(const struct pool_server *ps, enum limit_kind kind)
{
	const struct pool_server *const head = *list_of(ps->pool, kind);
	const struct evict_place *const at = &ps->evict[kind];

	return (ps == head || at->prev->used <= ps->used) &&
	    (at->next == NULL || ps->used <= at->next->used);
}

static void update(struct pool_server *ps, enum limit_kind kind)
{
	const bool wanted = evict_is_candidate((enum server_state)ps->state) &&
	    is_limited(ps->pool, kind);

	if (is_listed(ps, kind)) {
		if (wanted && is_in_place(ps, kind))
			return;
		leave(ps, kind);
	}
	if (wanted)
		enter(ps, kind);
}

void evict_update(struct pool_server *ps)
{
	for (int kind = 0; kind < LIMIT_KINDS; kind++)
		update(ps, (enum limit_kind)kind);
}

/* A server under test is as good as promised to a client that waits there. */
static bool may_go(const struct pool_server *ps)
{
	return ps->state == SERVER_IDLE ||
	    ps->pool->client_count[CLIENT_WAITING] == 0;
}

struct pool_server *evict_oldest(const struct pool *p, enum limit_kind kind)
{
	struct pool_server *ps = *list_of(p, kind), *next;

	for (; ps != NULL; ps = next) {
		next = ps->evict[kind].next;
		/* ps had something to say meanwhile, as a notification */
		if (next != NULL && ps->used > next->used)
			update(ps, kind);
		else if (may_go(ps))
			return ps;
	}
	return NULL;
}
