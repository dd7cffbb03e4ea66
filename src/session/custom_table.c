/* custom_table.c - which custom parameters were seen, at whatever worker.
 * SPDX-License-Identifier: ISC */
#include "session/custom_table.h"

#include <string.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "session/server.h"

/* NULL: no memory. */
static struct custom *get_own(struct server *s)
{
	if (s->keep.names == NULL)
		s->keep.names = mem_zalloc(sizeof *s->keep.names);
	return s->keep.names;
}

bool custom_table_learn(struct server *s, const char *sql, size_t n)
{
	struct custom *const all = custom_table_of(s->ss);

	if (custom_learn(all, sql, n))
		return true;
	/* else there is one that can't be seen */
	return custom_is_full(all) && get_own(s) != NULL &&
	    custom_learn(s->keep.names, sql, n);
}

bool custom_table_add(struct server *s, const char *name)
{
	struct custom *const all = custom_table_of(s->ss);
	const size_t n = strlen(name);

	return custom_add(all, name, n) || (custom_is_full(all) &&
	    get_own(s) != NULL && custom_add(s->keep.names, name, n));
}

bool custom_table_add_set(struct server *s, const struct baggage *b)
{
	struct baggage_pair pair;
	const char *at = NULL;
	bool all = true;

	while (b != NULL && baggage_next(b, &at, &pair))
		all = (strchr(pair.name, '.') == NULL ||
		    custom_table_add(s, pair.name)) && all;
	return all;
}

const char *custom_table_next(const struct server *s, unsigned at[2])
{
	const char *const name = custom_next(custom_table_of(s->ss), &at[0]);

	return name != NULL || s->keep.names == NULL ? name :
	    custom_next(s->keep.names, &at[1]);
}

void custom_table_forget(struct server *s)
{
	if (s->keep.names != NULL)
		custom_fini(s->keep.names);
	mem_free(s->keep.names);
	s->keep.names = NULL;
}
