/* dialect.c - the settings under which a server parses a text that it prepares.
 * SPDX-License-Identifier: ISC */
#include "state/dialect.h"

#include <stdio.h>
#include <string.h>

#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql_words.h"

/* A key that no parameter has: the user who acts. */
#define ACTS "!acts"

/* A key that no parameter has: a SET of search_path or the role. */
#define STEP "!set"
#define TRAIL_MAX 1000	/* bytes */

void dialect_fini(struct dialect *d)
{
	baggage_unref(&d->set);
	baggage_unref(&d->has);
	baggage_unref(&d->trailed);
	baggage_unref(&d->trail);
	baggage_unref(&d->next);
	if (d->params != NULL)
		params_unref(&d->params);
}

void dialect_clear(struct dialect *d)
{
	d->unseen = d->parsed = d->pending = d->inside = d->astray = false;
	if (!d->trails)
		return;
	d->trails = false;
	d->owed = 0;
	baggage_unref(&d->trail);
	baggage_unref(&d->next);
	if (d->trailed != NULL)
		baggage_unref(&d->set);
}

void dialect_settle(struct dialect *d, char status)
{
	struct baggage *const next = d->next;

	/* A SET has failed, or the effect of SET LOCAL is over. */
	d->astray = d->astray || status != 'T' || d->owed > 0;
	d->owed = 0;
	if (next == NULL)
		return;
	baggage_unref(&d->trail);
	d->trail = next;
	d->next = NULL;
}

/* SETs that are on their way have effects that s has not reported yet. */
static struct params *params_ahead(const struct client *c,
    const struct server *s)
{
	return s->keep.flight != NULL ? c->params : s->params;
}

/* Values are interned, so equal values are one pointer. */
static bool is_same(const struct params *a, const struct params *b)
{
	const struct params_table *const t = params_table_of(a);

	if (a == b)
		return true;
	for (int i = 0; i < params_count(t); i++)
		if (params_reads(t, i) && params_get(a, i) != params_get(b, i))
			return false;
	return true;
}

bool dialect_is_known(const struct client *c, const struct server *s)
{
	const struct params *const p = params_ahead(c, s);
	const struct params_table *const t = params_table_of(p);

	if (p == s->dialect.params)
		return true;
	for (int i = 0; i < params_count(t); i++)
		if (params_reads(t, i) && params_get(p, i) == params_unknown())
			return false;
	return true;
}

static void write_reported(const struct params *p, struct writer *w)
{
	const struct params_table *const t = params_table_of(p);

	for (int i = 0; i < params_count(t); i++) {
		const char *const value = params_reads(t, i) ?
		    params_get(p, i) : NULL;

		if (value == NULL)
			continue;
		writer_str(w, params_name(t, i));
		writer_str(w, value);
	}
}

static void write_others(const struct baggage *has, struct writer *w)
{
	struct baggage_pair pair;
	const char *at = NULL;

	while (baggage_next(has, &at, &pair)) {
		if (!sql_is_unseen(pair.name))
			continue;
		/* The SETs for the client may have the same names. */
		writer_u8(w, '=');
		writer_str(w, pair.name);
		writer_str(w, pair.value);
	}
}

/* The order matters: a SET may change what a later one means. */
static void write_trail(const struct baggage *trail, struct writer *w)
{
	struct baggage_pair pair;
	const char *at = NULL;

	while (trail != NULL && baggage_next(trail, &at, &pair)) {
		writer_str(w, pair.name);
		writer_str(w, pair.value);
	}
}

static struct baggage *make(const struct server *s, const struct params *p)
{
	struct baggage *set;
	struct writer w;

	writer_init(&w, BAGGAGE_BYTES);
	write_reported(p, &w);
	if (s->keep.has != NULL && baggage_reads(s->keep.has))
		write_others(s->keep.has, &w);
	write_trail(s->dialect.trail, &w);
	set = w.failed ? NULL : baggage_get(s->ss->baggage, w.at, w.len);
	writer_fini(&w);
	return set;
}

struct baggage *dialect_of(const struct client *c, struct server *s)
{
	struct dialect *const d = &s->dialect;
	struct params *const p = params_ahead(c, s);

	if (d->set == NULL || d->has != s->keep.has ||
	    d->trailed != d->trail || !is_same(d->params, p)) {
		baggage_unref(&d->set);
		d->set = make(s, p);
		baggage_put(&d->has, s->keep.has);
		baggage_put(&d->trailed, d->trail);
	}
	if (d->params != p) {
		if (d->params != NULL)
			params_unref(&d->params);
		d->params = params_ref(p);
	}
	return d->set;
}

/* Does s report search_path? */
static bool tells_path(const struct server *s)
{
	const int i = params_find(s->ss->params, "search_path");

	return i >= 0 && (s->origin.silent >> i & 1) == 0;
}

/* Appends the text of a SET, n bytes, to the trail. */
static struct baggage *add_to_trail(const struct server *s, const char *sql,
    size_t n)
{
	struct baggage *all = NULL;
	char name[sizeof STEP + 8];
	struct writer w;
	unsigned count = 0;
	struct baggage_pair pair;
	const char *at = NULL;

	while (s->dialect.trail != NULL &&
	    baggage_next(s->dialect.trail, &at, &pair))
		count++;
	writer_init(&w, TRAIL_MAX);
	write_trail(s->dialect.trail, &w);
	snprintf(name, sizeof name, STEP "%u", count);
	writer_str(&w, name);
	writer_bytes(&w, sql, n);
	writer_u8(&w, 0);
	if (!w.failed)
		all = baggage_get(s->ss->baggage, w.at, w.len);
	writer_fini(&w);
	return all;
}

static bool has(const struct dialect_text *t, uint32_t effect)
{
	return (t->effects & effect) != 0;
}

/*
 * Is it a SET whose effect is certain: it runs exactly once, and the status of
 * the transaction tells whether it failed?
 */
static bool is_followed(const struct dialect_text *t)
{
	return t->runs == DIALECT_RUNS && t->n <= TRAIL_MAX &&
	    has(t, EFFECT_LONE_SET);
}

/*
 * In a transaction, clients that send the same SETs under the same settings
 * have the same search_path and role. The effect of anything else that may
 * change these, or undo a change, is unknown.
 */
static void note_trail(struct server *s, const struct dialect_text *t)
{
	struct dialect *const d = &s->dialect;
	const bool path = has(t, EFFECT_PATH) && !tells_path(s);
	const bool role = has(t, EFFECT_ROLE);
	const bool followed = is_followed(t);

	d->owed += followed;
	if ((path || role) && followed && d->next == NULL) {
		d->next = add_to_trail(s, t->sql, strnlen(t->sql, t->n));
		d->trails = true;
		d->astray = d->astray || d->next == NULL;
		return;
	}
	d->astray = d->astray || path || role ||
	    (d->trails && has(t, EFFECT_ALL));
	d->trails = d->trails || path || role;
}

/*
 * After COMMIT AND CHAIN, no status tells that the transaction has ended. A
 * prepared SET that runs again is not in the trail either.
 */
void dialect_note_tag(struct server *s, const char *tag)
{
	struct dialect *const d = &s->dialect;
	const bool sets = strcmp(tag, "SET") == 0 || strcmp(tag, "RESET") == 0;

	if (!d->trails)
		return;
	if (sets && d->owed > 0)
		d->owed--;
	else if (sets || strcmp(tag, "COMMIT") == 0 ||
	    strcmp(tag, "ROLLBACK") == 0)
		d->astray = true;
}

void dialect_note(struct server *s, const struct dialect_text *t)
{
	struct dialect *const d = &s->dialect;

	d->unseen = d->unseen || has(t, EFFECT_UNSEEN) || (has(t, EFFECT_ALL) &&
	    s->keep.has != NULL && baggage_reads(s->keep.has));
	if (has(t, EFFECT_PATH | EFFECT_ROLE) || d->trails)
		note_trail(s, t);
}

/*
 * A function in the same batch has changed the parameter, or PostgreSQL has a
 * new default. The text may have been parsed under other settings than its
 * dialect says.
 */
void dialect_note_report(struct server *s, int parameter)
{
	if (s->keep.flight != NULL || !params_reads(s->ss->params, parameter))
		return;
	s->dialect.inside = true;
	if (s->dialect.parsed)
		s->ps.close_needed = true;
}
