/* view_walk.c - a view bit by bit, for callers that must not take long.
 * SPDX-License-Identifier: ISC */
#include "console/view_walk.h"

#include <stddef.h>

#include "base/container.h"
#include "conf/config.h"
#include "conf/userlist.h"
#include "console/admin.h"
#include "console/table.h"
#include "session/client.h"
#include "session/server.h"

static struct cursor_list *view_walk_list_of(const struct admin *a,
    enum view_over over)
{
	struct sessions *const ss = a->ss;

	switch (over) {
	case VIEW_DATABASES: return &ss->catalog->all_databases;
	case VIEW_POOLS: return &ss->catalog->all_pools;
	case VIEW_CLIENTS: return &ss->all_clients;
	case VIEW_SERVERS: return &ss->all_servers;
	case VIEW_USERS: return &ss->catalog->all_users;
	case VIEW_PRIVATE:
	case VIEW_WHOLE: break;
	}
	return NULL;
}

/* --- which of two comes first --- */

static int compare_ages(usec_t a, usec_t b)
{
	return (a > b) - (a < b);
}

static int compare_clients(const struct cursor_node *a,
    const struct cursor_node *b)
{
	return compare_ages(container_of(a, struct client, node)->born,
	    container_of(b, struct client, node)->born);
}

static int compare_servers(const struct cursor_node *a,
    const struct cursor_node *b)
{
	return compare_ages(container_of(a, struct server, node)->ps.born,
	    container_of(b, struct server, node)->ps.born);
}

/* --- the walk --- */

static const struct {
	size_t node;			/* its place in an item */
	int (*compare)(const struct cursor_node *a,
	    const struct cursor_node *b);
} view_walk_kinds[] = {
	[VIEW_DATABASES] = { offsetof(struct database, node),
	    database_compare },
	[VIEW_POOLS] = { offsetof(struct pool, node), pool_compare },
	[VIEW_CLIENTS] = { offsetof(struct client, node), compare_clients },
	[VIEW_SERVERS] = { offsetof(struct server, node), compare_servers },
};

static const void *item_of(enum view_over over, const struct cursor_node *n)
{
	return (const char *)n - view_walk_kinds[over].node;
}

static size_t count_up_to(const struct cursor_list *list, size_t max)
{
	const struct cursor_node *n = list == NULL ? NULL : list->first;
	size_t count = 0;

	for (; n != NULL && count < max; n = n->next)
		count++;
	return count;
}

/* Names of the files, which need not have come; one may count twice. */
static size_t count_configured(const struct config *config, size_t max)
{
	size_t count = config->userlist == NULL ? 0 :
	    userlist_count(config->userlist);

	for (const struct config_user *u = config->users;
	    u != NULL && count < max; u = u->next)
		count++;
	return count;
}

bool view_walk_is_long(const struct admin *a, const struct view *v,
    size_t max)
{
	size_t count = 0;

	if (v->over == VIEW_USERS)
		count = count_configured(a->ss->catalog->config, max + 1);
	for (; v != NULL && count <= max; v = v->then) {
		for (const struct admin *at = a; at != NULL; at = at->next)
			count += count_up_to(view_walk_list_of(at, v->over),
			    max + 1 - count);
	}
	return count > max;
}

void view_walk_begin(struct view_walk *w, const struct admin *a,
    const struct view *v)
{
	w->a = a;
	w->v = v;
	w->fold = (struct view_fold){ .pool = { .peer_id = 0 } };
	w->begun = false;
	w->rest = v->over == VIEW_WHOLE ? NULL : a;
	w->count = 0;
	users_walk_begin(&w->users);
}

void view_walk_end(struct view_walk *w)
{
	w->rest = NULL;
	users_walk_end(&w->users);
	view_fold_fini(&w->fold);
	while (w->count > 0)
		cursor_end(&w->of[--w->count].cursor);
}

/* False: there are none of another kind. */
static bool begin_others(struct view_walk *w)
{
	if (w->v->then == NULL)
		return false;
	view_walk_end(w);
	w->v = w->v->then;
	w->rest = w->a;
	return true;
}

/* One worker's a time: it may have very many to bring in order. */
static void view_walk_begin_next(struct view_walk *w)
{
	const struct admin *const a = w->rest;

	if (w->v->over == VIEW_USERS) {
		users_walk_add(&w->users, a->ss->catalog);
		w->rest = w->users.count < USERS_CATALOGS ? a->next : NULL;
		return;
	}
	w->of[w->count].a = a;
	cursor_begin(&w->of[w->count++].cursor,
	    view_walk_list_of(a, w->v->over));
	w->rest = w->count < USERS_CATALOGS ? a->next : NULL;
}

/* Does the next of worker i come before that of worker k? */
static bool view_walk_is_before(const struct view_walk *w, size_t i, size_t k)
{
	const struct cursor_node *const a = cursor_next(&w->of[i].cursor);
	const struct cursor_node *const b = cursor_next(&w->of[k].cursor);

	if (a == NULL || b == NULL)
		return a != NULL;
	return view_walk_kinds[w->v->over].compare(a, b) < 0;
}

/* The worker whose next one is next of all. */
static size_t view_walk_first_of(const struct view_walk *w)
{
	size_t first = 0;

	for (size_t i = 1; i < w->count; i++) {
		if (view_walk_is_before(w, i, first))
			first = i;
	}
	return first;
}

/* As one with its parts; NULL: it is one. */
static const void *view_walk_fold(struct view_walk *w, const void *item)
{
	switch (w->v->over) {
	case VIEW_DATABASES:
		return view_fold_database(&w->fold, w->a, item);
	case VIEW_POOLS:
		return view_fold_pool(&w->fold, w->a, item);
	case VIEW_CLIENTS:
	case VIEW_SERVERS:
	case VIEW_USERS:
	case VIEW_PRIVATE:
	case VIEW_WHOLE:
		break;
	}
	return item;
}

/* Returns false when nobody wants more. */
static bool view_walk_put(struct view_walk *w, const struct admin *a,
    const void *item, struct row_sink *sink)
{
	const void *const whole = view_walk_fold(w, item);

	return whole == NULL || w->v->item(a, w->v, whole, sink) == 0;
}

static bool view_walk_put_user(struct view_walk *w, struct row_sink *sink)
{
	struct known_user u;

	return users_walk_next(&w->users, &u) &&
	    w->v->item(w->a, w->v, &u, sink) == 0;
}

bool view_walk_next(struct view_walk *w, struct row_sink *sink)
{
	const struct view *const v = w->v;
	const bool first = !w->begun;

	if (w->rest != NULL) {
		view_walk_begin_next(w);
		return true;
	}
	w->begun = true;
	if (v->over == VIEW_WHOLE && first)
		view_rows(w->a, v, sink);
	if (v->over == VIEW_WHOLE)
		return false;
	if (v->over == VIEW_USERS)
		return view_walk_put_user(w, sink);
	if (first && v->begin != NULL)
		return v->begin(w->a, sink) == 0;
	const size_t i = view_walk_first_of(w);
	const struct cursor_node *const n = cursor_take(&w->of[i].cursor);

	return n == NULL ? begin_others(w) :
	    view_walk_put(w, w->of[i].a, item_of(v->over, n), sink);
}
