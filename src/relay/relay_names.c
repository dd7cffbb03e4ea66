/* relay_names.c - whose names of statements are ours to keep apart.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track_look.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"

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
		    PREPARED_UNUSED | PREPARED_TOLD | PREPARED_ASKED)) != 0 &&
		    prepared_name_is(op->name, name))
			return true;
		if (stmt != NULL && op->stmt == stmt &&
		    (op->changes & (PREPARED_USED | PREPARED_UNUSED)) != 0)
			return true;
	}
	return false;
}
