/* views.c - the list of all views.
 * SPDX-License-Identifier: ISC */
#include "console/views.h"

#include "base/text.h"
#include "console/admin.h"

/* In the order of SHOW HELP. */
static struct view_group (*const groups[])(void) = {
	view_group_catalog,
	view_group_pools,
	view_group_fds,
	view_group_sockets,
	view_group_dns,
	view_group_process,
	view_group_stats,
	view_group_latencies,
	view_group_counters,
	view_group_workers,
};

const struct view *view_at(size_t i)
{
	for (size_t g = 0; g < VIEW_COUNT(groups); g++) {
		const struct view_group group = groups[g]();

		if (i < group.count)
			return &group.views[i];
		i -= group.count;
	}
	return NULL;
}

const struct view *view_find(const char *topic)
{
	const struct view *v;

	for (size_t i = 0; (v = view_at(i)) != NULL; i++) {
		if (text_casecmp(v->topic, topic) == 0)
			return v;
	}
	return NULL;
}

void view_rows(const struct admin *a, const struct view *v,
    struct row_sink *sink)
{
	for (; a != NULL; a = v->spread == VIEW_EACH ? a->next : NULL)
		v->rows(a, v, sink);
}
