/* relay_schema.c - what a client changes of schemas, and what it prepares then.
 *
 * What is prepared behind such a change may mean something else than the same
 * text at others: a work table that hides theirs, or what is rolled back.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_schema.h"

#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "proto/msg.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"

void relay_schema_share(struct sessions *ss, struct sessions *first)
{
	ss->schemas = first == NULL ? NULL : &first->own_schemas;
}

uint64_t relay_schema_changes(const struct sessions *ss)
{
	return atomic_load_explicit(ss->schemas != NULL ?
	    &ss->schemas->changes : &ss->own_schemas.changes,
	    memory_order_acquire);
}

static struct schemas *schemas_of(const struct server *s)
{
	return s->ss->schemas != NULL ? s->ss->schemas : &s->ss->own_schemas;
}

/* Two databases that share a slot are parsed anew more often, no more. */
static unsigned slot_of(const struct server *s)
{
	const struct database *const db = s->ps.pool->key.db;
	const char *const name = db->conf != NULL && db->conf->dbname != NULL ?
	    db->conf->dbname : db->name;

	return hash_bytes(name, strlen(name)) % SCHEMA_SLOTS;
}

uint64_t relay_schema_generation(const struct server *s)
{
	return 1 + atomic_load_explicit(&schemas_of(s)->known[slot_of(s)],
	    memory_order_acquire);
}

void relay_schema_changed(struct server *s)
{
	struct schemas *const all = schemas_of(s);

	atomic_fetch_add_explicit(&all->changes, 1, memory_order_acq_rel);
	atomic_fetch_add_explicit(&all->known[slot_of(s)], 1,
	    memory_order_acq_rel);
}

void relay_schema_in_force(struct server *s)
{
	if (s->schema_open == SCHEMA_CHANGED)
		relay_schema_changed(s);
	else if (s->schema_open == SCHEMA_MAYBE)
		atomic_fetch_add_explicit(&schemas_of(s)->changes, 1,
		    memory_order_acq_rel);
}

static bool relay_schema_begins(const struct relay_down *d, const char *text)
{
	const size_t n = strlen(text);

	return d->size > MSG_HEADER + n &&
	    memcmp(d->m + MSG_HEADER, text, n) == 0;
}

void relay_schema_end(struct server *s)
{
	relay_schema_in_force(s);
	s->schema_open = SCHEMA_SAME;
}

/*
 * A CREATE TABLE AS and a SELECT INTO have the tag of a SELECT, but no columns.
 * Nor has a SELECT of no rows that was not described. That is no simple query,
 * and what is bound by name was looked at.
 */
static enum schema_open made_by_select(const struct relay_down *d)
{
	if (!relay_schema_begins(d, "SELECT ") || d->rows_end == d->m)
		return SCHEMA_SAME;
	return !relay_schema_begins(d, "SELECT 0") ||
	    d->s->schema_changed == SCHEMA_CHANGED ||
	    (!track_is_empty(&d->s->track) &&
	    track_req(&d->s->track, 0)->type == FE_QUERY) ?
	    SCHEMA_CHANGED : SCHEMA_MAYBE;
}

static void schema_open(struct server *s, enum schema_open how)
{
	if (s->schema_open < how)
		s->schema_open = how;
}

/* A SELECT of no rows, which may have made a table, says nothing of the next. */
static void schema_changed(struct server *s, enum schema_open how)
{
	if (s->schema_changed < how)
		s->schema_changed = how;
}

void relay_schema_may_change(struct server *s)
{
	schema_changed(s, SCHEMA_CHANGED);
}

void relay_schema_tag(const struct relay_down *d)
{
	/* what a body does, no tag tells; nor do rights, but for who may look */
	static const char *const others[] = { "GRANT", "REVOKE", "DO", "CALL",
		"REASSIGN", "COMMIT PREPARED" };
	struct server *const s = d->s;
	const enum schema_open made = made_by_select(d);

	if (relay_schema_begins(d, "CREATE ") ||
	    relay_schema_begins(d, "ALTER ") ||
	    relay_schema_begins(d, "DROP ") ||
	    relay_schema_begins(d, "IMPORT ")) {
		schema_changed(s, SCHEMA_CHANGED);
		schema_open(s, SCHEMA_CHANGED);
	}
	schema_changed(s, made);
	schema_open(s, made);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (relay_schema_begins(d, others[i]))
			schema_open(s, SCHEMA_CHANGED);
	/* or a COMMIT */
	relay_schema_in_force(s);
}
