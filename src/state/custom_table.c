/* custom_table.c - the names of custom parameters that clients have used, on
 * any worker.
 * SPDX-License-Identifier: ISC */
#include "state/custom_table.h"

#include <string.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/custom.h"
#include "proto/params.h"
#include "session/server.h"

/* Returns NULL if there is no memory. */
static struct custom *get_own(struct server *s)
{
	if (s->keep.names == NULL)
		s->keep.names = mem_zalloc(sizeof *s->keep.names);
	return s->keep.names;
}

/*
 * A name that is not plain may have letters that another database's encoding
 * lacks.
 */
static bool put(void *arg, const char *name)
{
	struct server *const s = arg;
	struct custom *const all = custom_table_of(s->ss);

	if (custom_name_is_plain(name) && custom_put(all, name))
		return true;
	return (custom_is_full(all) || !custom_name_is_plain(name)) &&
	    get_own(s) != NULL && custom_put(s->keep.names, name);
}

bool custom_table_put(struct server *s, const char *kept)
{
	return put(s, kept);
}

struct custom_reader custom_table_reader(struct server *s)
{
	const char *const encoding = params_get(s->params,
	    PARAMS_CLIENT_ENCODING);

	return (struct custom_reader){ .take = put, .arg = s,
		.encoding = encoding == params_unknown() ? NULL : encoding };
}

/* Returns false if the name cannot be made known. */
static bool custom_table_add(struct custom_reader *r, const char *name)
{
	struct custom_name n;

	custom_name_init(&n, r->encoding);
	for (const char *at = name; *at != '\0'; at++)
		custom_name_add(&n, *at);
	return !custom_name_is_custom(&n) ||
	    custom_name_take(&n, r) == CUSTOM_KNOWN;
}

bool custom_table_add_set(struct server *s, const struct baggage *b)
{
	struct custom_reader r = { .take = put, .arg = s };
	struct baggage_pair pair;
	const char *at = NULL;
	bool all = true;

	if (b == NULL)
		return true;
	r.encoding = baggage_find(b, BAGGAGE_ENCODING);
	while (baggage_next(b, &at, &pair))
		all = custom_table_add(&r, pair.name) && all;
	return all;
}

static bool put_plain(void *arg, const char *name)
{
	return !custom_name_is_plain(name) || custom_put(arg, name);
}

void custom_table_share_set(struct sessions *ss, const struct baggage *b)
{
	struct custom_reader r = { .take = put_plain,
		.arg = custom_table_of(ss) };
	struct baggage_pair pair;
	const char *at = NULL;

	while (baggage_next(b, &at, &pair))
		(void)custom_table_add(&r, pair.name);
}

static const char *next(const struct custom *t, uint8_t *at)
{
	unsigned n = *at;
	const char *const name = t == NULL ? NULL : custom_next(t, &n);

	_Static_assert(CUSTOM_MAX <= UINT8_MAX, "custom_count is smaller");
	*at = (uint8_t)n;
	return name;
}

const char *custom_table_next(const struct server *s, struct custom_count *at)
{
	const char *const name = next(custom_table_of(s->ss), &at->names[0]);

	return name != NULL ? name : next(s->keep.names, &at->names[1]);
}

/* Names are compared in the form in which they are kept. */
struct search {
	const struct server *s;
	struct custom_count first;
	const char *kept;
	bool found;
};

static bool custom_table_look_behind(void *arg, const char *name)
{
	struct search *const q = arg;
	struct custom_count at = q->first;
	const char *known;

	while (!q->found && (known = custom_table_next(q->s, &at)) != NULL)
		q->found = strcmp(known, name) == 0;
	return true;
}

bool custom_table_is_behind(struct server *s, struct custom_count first,
    const char *name)
{
	struct search q = { .s = s, .first = first };
	struct custom_reader r = custom_table_reader(s);

	r.take = custom_table_look_behind;
	r.arg = &q;
	(void)custom_table_add(&r, name);
	return q.found;
}

static bool custom_table_look_at(void *arg, const char *name)
{
	struct search *const q = arg;

	q->found = q->found || strcmp(q->kept, name) == 0;
	return true;
}

bool custom_table_is_in(const struct baggage *b, const char *kept)
{
	struct search q = { .kept = kept };
	struct custom_reader r = { .take = custom_table_look_at, .arg = &q };
	struct baggage_pair pair;
	const char *at = NULL;

	if (b == NULL)
		return false;
	r.encoding = baggage_find(b, BAGGAGE_ENCODING);
	while (!q.found && baggage_next(b, &at, &pair))
		(void)custom_table_add(&r, pair.name);
	return q.found;
}

void custom_table_forget(struct server *s)
{
	if (s->keep.names != NULL)
		custom_fini(s->keep.names);
	mem_free(s->keep.names);
	s->keep.names = NULL;
	s->keep.known.names[1] = 0;
}
