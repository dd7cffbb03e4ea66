/* flight.c - the SETs for a client and its first request, sent together.
 * SPDX-License-Identifier: ISC */
#include "session/flight.h"

#include <string.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql.h"

#define SETS_MAX (1 << 24)

/*
 * Can the text, which ends with NUL, be passed on without other effects? Texts
 * that affect statements, or whether the server is released, cannot.
 */
static bool is_simple(struct sql_seen *seen, const char *sql, size_t n)
{
	char name[SQL_NAME_MAX];

	return sql_seen_is_plain(seen, sql, n) ||
	    !((sql_seen_effects(seen, sql, n) & EFFECTS_HOLD) != 0 ||
	    sql_deallocates(sql, n, name));
}

/* A COPY would read the Sync after it as part of its data. */
static bool fits_query(struct sql_seen *seen, const uint8_t *m, size_t size)
{
	const char *const sql = (const char *)m + MSG_HEADER;
	const size_t n = size - MSG_HEADER;

	return n > 0 && memchr(sql, '\0', n) == sql + n - 1 &&
	    strcasestr(sql, "copy") == NULL && is_simple(seen, sql, n);
}

static bool fits_parse(struct sql_seen *seen, const uint8_t *m, size_t size)
{
	const char *const end = (const char *)m + size;
	const char *const name = (const char *)m + MSG_HEADER;
	const char *const nul = memchr(name, '\0', (size_t)(end - name));
	const char *const last = nul == NULL ? NULL :
	    memchr(nul + 1, '\0', (size_t)(end - nul - 1));

	return last != NULL && is_simple(seen, nul + 1, (size_t)(last - nul));
}

/*
 * The length of the request at m, up to its Sync, if all of it is in the n
 * bytes. 0: no.
 */
static size_t find_request(struct sql_seen *seen, const uint8_t *m, size_t n)
{
	size_t at = 0;

	while (n - at >= MSG_HEADER && at < FLIGHT_MAX) {
		const uint8_t *const next = m + at;
		const size_t size = msg_size(next, FLIGHT_MAX);

		if (size == 0 || size > n - at)
			return 0;
		if (next[0] == FE_QUERY)
			return at == 0 && fits_query(seen, next, size) ? size : 0;
		if (strchr("PBDECHS", next[0]) == NULL || next[0] == '\0' ||
		    (next[0] == FE_PARSE && !fits_parse(seen, next, size)))
			return 0;
		at += size;
		if (next[0] == FE_SYNC)
			return at;
	}
	return 0;
}

/* Is c in the middle of something that a request may depend on? */
static bool is_amid(const struct client *c)
{
	return c->listening != NULL || c->relay.execute_holds ||
	    c->relay.dealloc.name != NULL || c->relay.repeats ||
	    c->relay.resetting != RESET_NONE || c->rest.bytes > 0 ||
	    c->replication != REPLICATION_NONE;
}

struct flight *flight_new(const struct client *c, const struct server *s,
    const struct burst *ahead)
{
	const size_t len = s->ps.pool->limits.state == STATE_FORGET ||
	    is_amid(c) ? 0 :
	    find_request(&c->ss->seen, ahead->at, ahead->len);
	struct flight *const f = len == 0 ? NULL :
	    mem_alloc(sizeof *f + len);

	if (f == NULL)
		return NULL;
	*f = (struct flight){
		.had = s->keep.has == NULL ? NULL : baggage_ref(s->keep.has),
		.params = params_ref(s->params), .drawn = s->keep.drawn,
		.len = len };
	memcpy(f->bytes, ahead->at, len);
	return f;
}

void flight_free(struct flight **fp)
{
	struct flight *const f = *fp;

	*fp = NULL;
	if (f == NULL)
		return;
	baggage_unref(&f->had);
	params_unref(&f->params);
	writer_fini(&f->sets);
	mem_free(f);
}

/*
 * In the block, an error makes the transaction fail, so the SAVEPOINT fails,
 * too. The SAVEPOINT also fails if there is no block because BEGIN was
 * canceled. After COMMIT, which ends the block, the request meets no
 * transaction. The Flush tells that the request runs, so that the client can
 * cancel it.
 */
static const char end[] =
    "P\0\0\0\23\0SAVEPOINT s\0\0\0" "B\0\0\0\14\0\0\0\0\0\0\0\0"
    "E\0\0\0\11\0\0\0\0\0"
    "P\0\0\0\16\0COMMIT\0\0\0" "B\0\0\0\14\0\0\0\0\0\0\0\0"
    "E\0\0\0\11\0\0\0\0\0" "H\0\0\0\4";

int flight_load(struct flight *f, const char *sql, int n)
{
	struct writer text;

	writer_init(&text, SETS_MAX);
	writer_bytes(&text, "BEGIN ISOLATION LEVEL READ COMMITTED", 36);
	for (; n > 0; n--, sql += strlen(sql) + 1) {
		writer_u8(&text, ';');
		writer_bytes(&text, sql, strlen(sql));
	}
	writer_u8(&text, 0);
	writer_init(&f->sets, SETS_MAX);
	if (!text.failed)
		writer_query(&f->sets, (const char *)text.at);
	writer_bytes(&f->sets, end, sizeof end - 1);
	const bool failed = text.failed || f->sets.failed;

	writer_fini(&text);
	return failed ? -1 : 0;
}

bool flight_is_fresh(const struct server *s)
{
	return s->keep.flight != NULL && s->keep.flight->used == 0;
}
