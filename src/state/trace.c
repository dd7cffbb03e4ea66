/* trace.c - may a client have left something in the session?
 * SPDX-License-Identifier: ISC */
#include "state/trace.h"

#include <string.h>

enum { SETS = 1, MARKS = 2, LOADS = 4, DISCARDS = 8, HIDES = 16, DRAWS = 32 };

/* What a command tag may mean. A DO may do anything. */
static const struct {
	const char *tag;
	unsigned does;
} tags[] = {
	{ "SET", SETS },
	{ "RESET", SETS },
	{ "LISTEN", MARKS },
	{ "DECLARE CURSOR", MARKS },
	{ "PREPARE", MARKS },
	{ "DO", MARKS | HIDES },
	{ "LOAD", MARKS | LOADS },
	{ "DISCARD ALL", DISCARDS },
};

/*
 * Tags that are recognized by their beginning. A new table may be temporary,
 * because search_path may begin with pg_temp.
 */
static const struct {
	const char *begins;
	unsigned does;
} families[] = {
	{ "CREATE ", MARKS }, { "INSERT ", DRAWS }, { "COPY ", DRAWS },
	{ "MERGE ", DRAWS }, { "ALTER ", DRAWS }, { "EXPLAIN", DRAWS },
	{ "REFRESH ", DRAWS },
};

static unsigned trace_find(const char *tag)
{
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		if (strncmp(tag, families[i].begins,
		    strlen(families[i].begins)) == 0)
			return families[i].does;
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
		if (strcmp(tags[i].tag, tag) == 0)
			return tags[i].does;
	return 0;
}

void trace_tag(struct trace *t, const char *tag, bool last)
{
	const unsigned does = trace_find(tag);

	t->drawn = t->drawn || (does & DRAWS) != 0;
	t->sets += (does & SETS) != 0;
	t->marked = t->marked || (does & MARKS) != 0;
	t->pins |= (does & LOADS) != 0 ? PIN_LOADED : 0;
	/* the new object may set parameters whose names no reader has seen */
	t->unlisted = t->unlisted || (does & HIDES) != 0 ||
	    ((does & (SETS | MARKS)) != 0 && t->unread);
	if ((does & DISCARDS) == 0)
		return;
	/*
	 * The statement is not part of a transaction that can still be undone.
	 */
	if (last && !t->failed)
		*t = (struct trace){ .marked = t->unnamed,
		    .unnamed = t->unnamed, .pins = t->pins & PINS_LASTING,
		    .binds = t->binds,
		    .unlisted = t->unlisted, .lasting = t->lasting,
		    .draws = t->unnamed && t->draws,
		    .listens = t->listens, .notifies = t->notifies };
	/* tags come in the order of execution */
	t->drawn = false;
	t->discarded = true;
}

/*
 * Which of the SET LOCALs were completed is unknown. If there was no error, all
 * of them were.
 */
bool trace_is_left(const struct trace *t)
{
	return t->marked || t->pins != 0 || t->sets > t->local ||
	    (t->failed && (t->sets > 0 || t->discarded));
}

void trace_clear(struct trace *t)
{
	*t = (struct trace){ .lasting = t->lasting,
	    .unlisted = t->lasting && t->unlisted };
}
