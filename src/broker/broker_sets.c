/* broker_sets.c - a session before its next client: settings given, leftovers
 * taken away.
 *
 * Of those that a server refuses, the value may be to blame, or what others
 * have
 * done in that session. (spec/pooling.md sections 21 and 25)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/params_sql.h"
#include "session/client.h"
#include "session/flight.h"
#include "session/server.h"
#include "session/sessions.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define REFUSALS_MAX 3	/* of servers, in a row, for one client */

bool broker_has_same(const struct client *c, const struct server *s)
{
	return c->params == s->params && c->baggage == s->keep.has &&
	    (c->baggage != NULL || c->brought == NULL);
}

/* n queries, each with its NUL. May close s. */
static void send_sets(struct server *s, const char *sql, int n)
{
	while (n-- > 0 && server_send_query(s, sql, OWN_QUERY_PARAMS) == 0)
		sql += strlen(sql) + 1;
}

/*
 * The parameters that s does not report, and that c is given. In a server that c
 * goes on with, they are as c has made them, except those that it resets. With
 * what is kept they go, too.
 */
static uint64_t silent_of(const struct client *c, const struct server *s)
{
	if (keep_is_on(s->ps.pool))
		return 0;
	return s->keep.lending != LENDING_OVER ? s->origin.silent :
	    s->origin.silent & c->relay.resets;
}

int broker_adopt_params(struct client *c, const struct server *s)
{
	const bool begins = c->relay.start == c->params;

	if (params_adopt(&c->params, s->params, s->origin.silent) < 0)
		return -1;
	c->refusals = 0;
	if (begins && c->relay.start != NULL) {
		params_unref(&c->relay.start);
		c->relay.start = params_ref(c->params);
	}
	return 0;
}

/* What the client before has drawn from sequences is not for the next one. */
static bool discards(const struct server *s)
{
	return s->keep.drawn && s->keep.lending != LENDING_OVER;
}

static int write_discard(struct server *s, struct writer *w)
{
	if (!discards(s))
		return 0;
	s->keep.drawn = false;
	if (!keep_sets(s->ps.pool))
		return 0;
	writer_str(w, "DISCARD SEQUENCES");
	return 1;
}

/* Is there anything that somebody has set? */
static bool has_of_others(const struct server *s)
{
	size_t len = 0;

	if (s->keep.has != NULL && s->keep.has != s->keep.base)
		(void)baggage_bytes(s->keep.has, &len);
	return len > 0;
}

/*
 * Who acts on s from now on. SET and RESET of session_authorization leave no
 * role, or another one than connect_query: who acted at first gets that of then.
 */
static void write_actor(const struct client *c, const struct server *s,
    const struct params_origin *o, struct writer *w)
{
	static const struct params_dialect any = { .standard = false };
	const char *const role = s->keep.base == NULL ? NULL :
	    baggage_find(s->keep.base, "role");
	const enum params_actor who = params_write_actor(c->params, s->params,
	    o, w);

	if (who == PARAMS_ACTOR_SAME)
		return;
	if (who == PARAMS_ACTOR_FIRST && role == NULL)
		writer_bytes(w, "RESET role;", 11);
	else if (who == PARAMS_ACTOR_FIRST)
		params_sql_set(w, "role", role, &any);
	writer_u8(w, 0);
}

/*
 * All that makes s as c wants it. Returns how many queries; -1: no memory. One
 * query changes how the next one is read, if it is *recoded.
 */
static int write_sets(struct client *c, struct server *s, struct writer *w,
    bool *recoded)
{
	const struct params_origin origin = { .set = s->origin.set,
		.silent = silent_of(c, s), .open = s->track.status != 'I' };
	struct baggage *want = keep_wanted(c, s);

	s->keep.strange = s->keep.has != want && has_of_others(s);

	struct writer actor;
	int n = params_write_sets(c->params, s->params, &origin, w);

	*recoded = n > 1;
	writer_init(&actor, BAGGAGE_BYTES);
	write_actor(c, s, &origin, &actor);
	n += keep_write_sql(s, want, (const char *)actor.at, w);
	n += write_discard(s, w);
	const bool failed = w->failed || actor.failed ||
	    (want == NULL && keep_sets(s->ps.pool)) ||
	    (n > 0 && params_expect(&s->params, c->params, &origin) < 0);

	baggage_put(&c->baggage, want);
	baggage_put(&s->keep.has, want);
	baggage_unref(&want);
	writer_fini(&actor);
	keep_note_path(s);
	return failed ? -1 : n;
}

/* As broker_same_params(); f, if not NULL, is taken. */
static bool give(struct client *c, struct server *s, struct flight *f)
{
	struct writer w;
	bool recoded;

	/* what s is to have takes the place of something: of what? */
	if (!keep_knows_base(s, c)) {
		flight_free(&f);
		stream_pause(&c->stream);
		return false;
	}
	writer_init(&w, BAGGAGE_BYTES);
	const int n = write_sets(c, s, &w, &recoded);
	const char *const sql = (const char *)w.at;

	if (n == 0) {
		/* c and s share one set from now on */
		(void)broker_adopt_params(c, s);
	} else if (n > 0 && f != NULL && !recoded &&
	    flight_load(f, sql, n) == 0) {
		s->keep.flight = f;
		f = NULL;
	} else {
		stream_pause(&c->stream);
		if (n < 0)
			server_fail(s, CLOSE_NO_MEMORY_FOR_PARAMETERS);
		else
			send_sets(s, sql, n);
	}
	const bool goes_on = n == 0 || s->keep.flight != NULL;

	flight_free(&f);
	writer_fini(&w);
	return goes_on;
}

bool broker_same_params(struct client *c, struct server *s)
{
	return (broker_has_same(c, s) && !discards(s)) || give(c, s, NULL);
}

/* --- a server is lent --- */

bool broker_sets_at_first(struct client *c, struct server *s,
    const struct burst *ahead)
{
	if (!s->keep.drawn && broker_has_same(c, s))
		return true;
	s->keep.lending = c->baggage == NULL ? LENDING_UNTRIED : LENDING_TRIED;
	const bool goes_on = give(c, s, flight_new(c, s, ahead));

	if (goes_on && s->keep.flight == NULL)
		s->keep.lending = LENDING_OVER;
	return goes_on;
}

/*
 * Is value one that temp_buffers can have, where no temporary tables were used?
 * A number of pages, of a kilobyte at least, or of bytes with their unit.
 */
static bool can_be_temp_buffers(const char *value)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	const char *const unit = value + strspn(value, " 0123456789.");
	int64_t pages;

	if (num_parse_i64(value, &pages) == 0)
		return pages >= 100 && pages <= INT32_MAX / 2;
	for (size_t i = 0; unit != value && i < COUNT(units); i++) {
		if (strcmp(unit, units[i]) == 0)
			return true;
	}
	return false;
}

/* Once a server has had temporary tables, it refuses any. */
static bool has_temp_buffers(const struct client *c)
{
	const char *const value = c->baggage == NULL ? NULL :
	    baggage_find(c->baggage, "temp_buffers");

	return value != NULL && can_be_temp_buffers(value);
}

/* Not if the server of another client, or a new one, would not have it. */
static bool is_servers_fault(const struct client *c, const struct server *s,
    const char *code)
{
	if (strcmp(code, ERRCODE_QUERY_CANCELED) == 0)
		return true;
	return s->keep.worn && (s->keep.lending == LENDING_TRIED ||
	    has_temp_buffers(c));
}

/* What s has, is known again when it is cleaned. False: it is not. */
static bool leave(struct client *c, struct server *s)
{
	if (s->origin.set == NULL)
		return false;
	params_unref(&s->params);
	s->params = params_ref(s->origin.set);
	broker_part(c);
	s->ps.stained = true;
	s->keep.lending = LENDING_OVER;
	pool_server_set(&s->ps, SERVER_TESTED);
	return true;
}

bool broker_sets_refused(struct server *s, struct close_cause why)
{
	struct client *const c = client_of(s->ps.client);
	const bool lending = s->keep.lending != LENDING_OVER;
	const bool untried = s->keep.lending == LENDING_UNTRIED;
	const bool faulty = is_servers_fault(c, s, why.code);
	/* a value of another client may be to blame, which can't be reset */
	const bool again = lending && (faulty || s->keep.strange) &&
	    ++c->refusals < REFUSALS_MAX;
	const bool stays = lending && !(again && faulty) && leave(c, s);

	if (again) {
		if (!stays)
			broker_part(c);
		if (untried)
			baggage_unref(&c->baggage);
		broker_queue(c, CLIENT_WAITING);
	} else if (stays) {
		client_fail_cause(c, why);
	}
	if (!stays)
		server_close_cause(s, why);
	return stays;
}

/*
 * By the statements that DISCARD ALL is made of, but for plans and statements
 * of the protocol, which clients share. They cost less than to ask what there
 * is. connect_query is run again, for what they have taken of its own.
 * (spec/pooling.md section 25)
 */

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
