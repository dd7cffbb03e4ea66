/* broker_clean.c - what clients have left in a session is taken away.
 *
 * By the statements that DISCARD ALL is made of, but for plans and statements
 * of the protocol, which clients share. They cost less than to ask what there
 * is. connect_query is run again, for what they have taken of its own.
 * (spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "proto/baggage.h"
#include "proto/reader.h"
#include "session/server.h"

/*
 * RESET first: no statement_timeout of a client may hit the rest. Names are
 * qualified, as search_path may be anybody's.
 */
#define CLEAN \
	KEEP_BEGIN "RESET ALL;RESET SESSION AUTHORIZATION;RESET ROLE;CLOSE ALL;" \
	"UNLISTEN *;SELECT pg_catalog.pg_advisory_unlock_all();" \
	"DISCARD TEMP;DISCARD SEQUENCES"
#define PREPARED \
	"SELECT name FROM pg_catalog.pg_prepared_statements WHERE from_sql"

#define DEALLOCATES_MAX (1 << 20)	/* bytes of SQL */

static const char *connect_query(const struct server *s)
{
	return s->ps.pool->key.db->conf->connect_query;
}

/* What is not kept, or can't be, as its client is gone, is to go. */
static bool is_stained(const struct server *s)
{
	const struct pool_limits *const l = &s->ps.pool->limits;
	const struct trace *const t = &s->trace;

	if (s->keep.pins != 0 || s->keep.unlisted ||
	    s->ps.mode == POOL_SESSION)
		return true;
	/* PostgreSQL might close it just when somebody is lent it */
	if (s->keep.has != NULL && s->keep.has != s->keep.base &&
	    baggage_expires(s->keep.has))
		return true;
	if (keep_is_on(s->ps.pool) && s->keep.settled)
		return false;
	return trace_is_left(t) || l->state_always || s->keep.temporary ||
	    (t->discarded && connect_query(s) != NULL);
}

static bool has_something(const struct server *s)
{
	size_t len = 0;

	if (s->keep.has != NULL)
		(void)baggage_bytes(s->keep.has, &len);
	return len > 0;
}

void broker_stain(struct server *s)
{
	if (s->ps.pool->limits.state != STATE_FORGET && is_stained(s))
		s->ps.stained = true;
	/* by a DISCARD ALL, of what its client had come with, too */
	else if (s->trace.discarded && !keep_is_on(s->ps.pool))
		keep_discarded(s);
	/* what its client had come with, for its session */
	if (s->ps.pool->limits.state == STATE_FORGET && has_something(s)) {
		s->ps.stained = true;
		s->ps.close_needed = s->ps.close_needed ||
		    !keep_sets(s->ps.pool);
	}
	/* of a pool that has kept before: nobody takes that back */
	if (s->ps.pool->limits.state == STATE_FORGET && s->keep.pins != 0)
		s->ps.close_needed = true;
	if (s->ps.stained && ((s->trace.pins | s->keep.pins) &
	    PINS_LASTING) != 0)
		s->ps.close_needed = true;
	if (s->keep.flight != NULL)
		s->ps.close_needed = true;
	s->keep.settled = false;
	/* in a session nobody has looked */
	s->keep.tabled |= s->keep.temporary || s->ps.mode == POOL_SESSION;
	/* its client may have left before that was in force */
	s->keep.brought = BROUGHT_NOTHING;
	/* hot: most transactions leave no trace */
	if (trace_is_blank(&s->trace))
		return;
	s->keep.drawn = trace_has_drawn(&s->trace, s->keep.drawn);
	trace_clear(&s->trace);
}

void broker_clean(struct server *s)
{
	writer_fini(&s->deallocates);
	writer_init(&s->deallocates, DEALLOCATES_MAX);
	if (server_send_query(s, CLEAN, OWN_QUERY_CLEAN) == 0)
		(void)server_send_query(s, PREPARED, OWN_QUERY_CLEAN);
}

/* The name of a statement; or nothing, which pg_advisory_unlock_all() gives. */
void broker_clean_row(struct server *s, const void *row, size_t size)
{
	struct writer *const w = &s->deallocates;
	struct reader r;

	reader_init(&r, row, size);
	const uint16_t columns = reader_u16(&r);
	const uint32_t len = reader_u32(&r);
	const char *const name = columns == 1 && len > 0 && len <= size ?
	    (const char *)reader_bytes(&r, len) : NULL;

	if (name == NULL || r.failed)
		return;
	writer_bytes(w, "DEALLOCATE \"", 12);
	for (uint32_t i = 0; i < len; i++) {
		if (name[i] == '"')
			writer_u8(w, '"');
		writer_u8(w, (uint8_t)name[i]);
	}
	writer_bytes(w, "\";", 2);
}

bool broker_clean_goes_on(struct server *s)
{
	struct writer *const w = &s->deallocates;
	const enum own_query query = s->own_query;

	if (query == OWN_QUERY_CLEAN && (w->len > 0 || w->failed)) {
		struct writer sql = *w;

		/* a DEALLOCATE has no rows: else there is no end to it */
		*w = (struct writer){ .cap = 0 };
		writer_u8(&sql, 0);
		if (sql.failed)
			server_close(s, CLOSE_CLEANING_FAILED);
		else
			(void)server_send_query(s, (const char *)sql.at,
			    OWN_QUERY_CLEAN);
		writer_fini(&sql);
		return true;
	}
	writer_fini(w);
	if (query == OWN_QUERY_CLEAN && connect_query(s) != NULL) {
		(void)server_send_query(s, connect_query(s), OWN_QUERY_CONNECT);
		return true;
	}
	s->ps.stained = false;
	keep_cleaned(s);
	return false;
}
