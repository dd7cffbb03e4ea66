/* keep_recall.c - a SET whose effect is known from an earlier one needs no
 * probe.
 * SPDX-License-Identifier: ISC */
#include "state/keep_recall.h"

#include <string.h>

#include "base/mem.h"
#include "session/client.h"
#include "session/flight.h"
#include "session/server.h"
#include "session/sessions.h"

/*
 * Is the request that arrives, or was just counted, the first one of this
 * lending?
 */
static bool keep_recall_is_first(const struct server *s)
{
	return flight_is_fresh(s) || (s->track.status == 'I' &&
	    (s->track.count == 0 ? s->track.ready : s->track.count == 1));
}

bool keep_note_text(const struct client *c, struct server *s,
    const char *sql, size_t n)
{
	struct keep *const k = &s->keep;
	const int tags = !keep_is_on(s->ps.pool) || k->pins != 0 ||
	    c->listening != NULL || !trace_is_blank(&s->trace) ||
	    !keep_recall_is_first(s) ? -1 : recall_count(sql, n);

	if (tags < 0)
		return false;
	if (k->text == NULL)
		k->text = mem_alloc(sizeof *k->text);
	if (k->text == NULL)
		return false;
	*k->text = (struct keep_text){ .key.len = (uint32_t)n,
		.tags = (unsigned)tags };
	memcpy(k->text->key.text, sql, n);
	s->trace.lone = true;
	return true;
}

void keep_note_other(struct server *s)
{
	if (!s->trace.lone)
		return;
	s->trace.lone = false;
	s->trace.marked = true;
}

/* Was this text the only change, and did it succeed? */
static bool is_alone(const struct server *s)
{
	const struct pool_limits *const l = &s->ps.pool->limits;
	const struct trace *const t = &s->trace;

	return t->lone && t->sets == s->keep.text->tags && t->local == 0 &&
	    !t->failed && !t->marked && t->pins == 0 && !t->unlisted &&
	    !t->discarded && !t->lasting && !l->state_always &&
	    !s->keep.temporary && !s->keep.unlisted;
}

bool keep_recalls(struct client *c, struct server *s)
{
	struct keep_text *const text = s->keep.text;
	struct recall_key *const key = text == NULL ? NULL : &text->key;

	if (key == NULL)
		return false;
	text->learns = is_alone(s) && s->keep.pins == 0 &&
	    s->keep.has != NULL;
	if (!text->learns)
		return false;
	key->had = s->keep.has;
	key->brought = c->brought;
	key->silent = s->origin.silent;
	struct baggage *const has = recall_find(&c->ss->recall, key);

	if (has == NULL || !keep_takes(c, s, has))
		return false;
	text->learns = false;
	return true;
}

void keep_learns(const struct client *c, struct server *s,
    struct baggage *set)
{
	struct keep_text *const text = s->keep.text;

	if (text == NULL || !text->learns)
		return;
	text->learns = false;
	if (c != NULL && s->keep.found == 0 && !s->keep.accented &&
	    text->key.brought == c->brought && text->key.had == s->keep.has)
		recall_learn(&c->ss->recall, &text->key, set);
}
