/* view_walk.c - a view bit by bit, for callers that must not take long.
 * SPDX-License-Identifier: ISC */
#include "console/view_walk.h"

#include <stddef.h>

#include "console/admin.h"
#include "console/table.h"
#include "session/client.h"
#include "session/server.h"

static struct cursor_list *list_of(const struct admin *a, enum view_over over)
{
	struct sessions *const ss = a->ss;

	switch (over) {
	case VIEW_DATABASES: return &ss->catalog->all_databases;
	case VIEW_POOLS: return &ss->catalog->all_pools;
	case VIEW_CLIENTS: return &ss->all_clients;
	case VIEW_SERVERS: return &ss->all_servers;
	case VIEW_PRIVATE:
	case VIEW_WHOLE: break;
	}
	return NULL;
}

static const void *item_of(enum view_over over, const struct cursor_node *n)
{
	static const size_t offsets[] = {
		[VIEW_DATABASES] = offsetof(struct database, node),
		[VIEW_POOLS] = offsetof(struct pool, node),
		[VIEW_CLIENTS] = offsetof(struct client, node),
		[VIEW_SERVERS] = offsetof(struct server, node),
	};

	return (const char *)n - offsets[over];
}

bool view_walk_is_long(const struct admin *a, const struct view *v,
    size_t max)
{
	const struct cursor_list *const list = list_of(a, v->over);
	const struct cursor_node *n = list == NULL ? NULL : list->first;

	for (; n != NULL && max > 0; max--)
		n = n->next;
	return n != NULL;
}

void view_walk_begin(struct view_walk *w, const struct admin *a,
    const struct view *v)
{
	struct cursor_list *const list = list_of(a, v->over);

	*w = (struct view_walk){ .a = a, .v = v };
	if (list != NULL)
		cursor_begin(&w->cursor, list);
}

/* The next thing of this worker, or of those behind it; NULL: that was all. */
static const struct cursor_node *take(struct view_walk *w)
{
	const struct cursor_node *n;

	while ((n = cursor_take(&w->cursor)) == NULL && w->a->next != NULL) {
		cursor_end(&w->cursor);
		w->a = w->a->next;
		cursor_begin(&w->cursor, list_of(w->a, w->v->over));
	}
	return n;
}

bool view_walk_next(struct view_walk *w, struct row_sink *sink)
{
	const struct view *const v = w->v;
	const bool first = !w->begun;

	w->begun = true;
	if (v->over == VIEW_WHOLE && first)
		view_rows(w->a, v, sink);
	if (v->over == VIEW_WHOLE)
		return false;
	if (first && v->begin != NULL)
		return v->begin(w->a, sink) == 0;
	const struct cursor_node *const n = take(w);

	return n != NULL && v->item(w->a, v, item_of(v->over, n), sink) == 0;
}

void view_walk_end(struct view_walk *w)
{
	cursor_end(&w->cursor);
}
