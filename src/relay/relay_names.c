/* relay_names.c - whose names of statements are ours, and what a text may do.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_seen.h"

bool relay_translates(const struct client *c)
{
	if (c->replication != REPLICATION_NONE)
		return false;
	/* a reload must not take its names away: no server knows them */
	const int mode = c->pc.server != NULL ? c->pc.server->mode :
	    (int)c->pc.pool->limits.mode;

	return c->statements != NULL || (mode != POOL_SESSION &&
	    sessions_settings(c->ss)->max_prepared_statements > 0);
}

bool relay_is_open(const struct server *s, const char *name,
    const struct prepared *stmt)
{
	const struct track *t = &s->track;
	unsigned n;

	if (t->op_count == 0)
		return false;
	if (track_apart(t, &n) < 0)
		return true;
	for (unsigned i = 0; i < n; i++) {
		const struct prepared_op *op = track_op(t, i);

		if (op == NULL)
			continue;
		if (name != NULL && (op->changes & ~(unsigned)(PREPARED_USED |
		    PREPARED_UNUSED | PREPARED_TOLD | PREPARED_ASKED |
		    PREPARED_WAS)) != 0 &&
		    prepared_name_is(op->name, name))
			return true;
		if (stmt != NULL && op->stmt == stmt &&
		    (op->changes & (PREPARED_USED | PREPARED_UNUSED)) != 0)
			return true;
	}
	return false;
}

/* --- what a text may do --- */

uint32_t relay_effects_of(const struct relay_up *up, const char *sql, size_t n)
{
	return n > SQL_TEXT_MAX ? EFFECTS_ANY :
	    sql_seen_effects(&up->c->ss->seen, sql, n);
}

static uint32_t read_text(const struct relay_up *up)
{
	const uint8_t *const end = up->m +
	    (up->have < up->size ? up->have : up->size);
	const uint8_t *sql = up->m + MSG_HEADER;

	if (up->m[0] == FE_PARSE && sql < end) {
		sql = memchr(sql, '\0', (size_t)(end - sql));
		sql = sql == NULL ? end : sql + 1;
	}
	if (sql >= end)
		return EFFECTS_ANY;
	const size_t n = (size_t)(end - sql);

	if (up->have >= up->size && up->size <= SQL_TEXT_MAX)
		return relay_effects_of(up, (const char *)sql, n);
	return up->m[0] == FE_PARSE ? sql_effects_long((const char *)sql, n) :
	    EFFECTS_ANY;
}

uint32_t relay_effects(struct relay_up *up)
{
	if (up->read != up->m) {
		up->effects = read_text(up);
		up->read = up->m;
	}
	return up->effects;
}
