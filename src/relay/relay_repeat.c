/* relay_repeat.c - what a server did not get to run is asked once more.
 *
 * A statement of ours is gone, or has other columns or types than when it was
 * prepared: PostgreSQL says so before anything is run, and skips to the Sync.
 * Outside of a transaction block nothing else has happened either, so that the
 * client's batch may come again, when the statement is to be prepared again.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_repeat.h"

#include <string.h>

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "proto/unnamed.h"
#include "relay/relay_schema.h"
#include "session/sessions.h"

#define SHAPE_MAX 8
/* never translated; said by many functions */
#define NO_TYPE "cache lookup failed for type "

/*
 * What may be repeated; is the client told of the columns in it, and of the
 * parameters before it gives any?
 */
static const struct shape {
	const char *requests;
	bool told, asks;
} shapes[] = {
	{ "BES", false, false },
	{ "BDES", true, false },
	{ "dS", true, true },
	{ "dH", true, true },
	{ "dBES", true, false },
	{ "dBDES", true, false },
};

void relay_repeat_keep(struct relay_up *up, const struct burst *b, size_t used)
{
	struct carry *const k = &up->s->asked;
	const size_t n = (size_t)(b->at + b->len - up->first);

	if (used < b->len || up->c->rest.bytes > 0 || n > REPEAT_MAX)
		return;
	if (n > k->size) {
		(void)carry_keep(k, up->first, n);
		return;
	}
	memcpy(k->at, up->first, n);
	carry_set_len(k, n);
}

/* --- what was asked --- */

/* A letter for a message: as its type, but 'd' for Describe of a statement. */
static char letter(const uint8_t *m, size_t size)
{
	return m[0] == FE_DESCRIBE && size > MSG_HEADER &&
	    m[MSG_HEADER] == 'S' ? 'd' : (char)m[0];
}

/* The shape of what is kept, if it is all that the server owes; or NULL. */
static const struct shape *find_shape(const struct server *s)
{
	char found[SHAPE_MAX + 1];
	size_t at = 0, n = 0, flushes = 0;

	while (at < s->asked.len && n < SHAPE_MAX) {
		const uint8_t *const m = s->asked.at + at;
		const size_t size = msg_size(m, REPEAT_MAX);

		found[n++] = letter(m, size);
		flushes += m[0] == FE_FLUSH;	/* nothing answers it */
		at += size;
	}
	found[n] = '\0';
	if (at < s->asked.len || s->track.count != n - flushes)
		return NULL;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (strcmp(shapes[i].requests, found) == 0)
			return &shapes[i];
	return NULL;
}

/* The statement's name that the first request has, by that of the client. */
static struct prepared_name *find_name(const struct relay_down *d)
{
	const struct carry *const k = &d->s->asked;
	struct reader r;

	reader_init(&r, k->at + MSG_HEADER, k->len - MSG_HEADER);
	if (k->at[0] == FE_DESCRIBE)
		(void)reader_u8(&r);	/* 'S' */
	else
		(void)reader_str(&r);	/* the portal */
	const char *const name = reader_str(&r);

	return name == NULL ? NULL :
	    prepared_name_find(d->c->statements, name);
}

/* --- what the server says --- */

/* The field of the error at hand, or NULL. */
static const char *field(const struct relay_down *d, char type)
{
	struct reader r;

	reader_init(&r, d->m + MSG_HEADER, d->size - MSG_HEADER);
	for (;;) {
		const char found = (char)reader_u8(&r);
		const char *const text = reader_str(&r);

		if (found == '\0' || text == NULL)
			return NULL;
		if (found == type)
			return text;
	}
}

/*
 * Was the error raised by this function of PostgreSQL, in the name of no
 * function of a user's? (That would be told by "where".)
 */
static bool is_raised_by(const struct relay_down *d, const char *code,
    const char *routine)
{
	const char *const c = field(d, 'C'), *const r = field(d, 'R');

	return c != NULL && r != NULL && strcmp(c, code) == 0 &&
	    strcmp(r, routine) == 0 && field(d, 'W') == NULL;
}

bool relay_lacks_type(const struct relay_down *d)
{
	const char *const c = field(d, 'C'), *const m = field(d, 'M');

	return c != NULL && m != NULL && strcmp(c, "XX000") == 0 &&
	    strncmp(m, NO_TYPE, sizeof NO_TYPE - 1) == 0 &&
	    field(d, 'W') == NULL;
}

/*
 * The same text under a name that s does not have: what others have made of it
 * since may be as old there.
 */
static struct prepared *prepare_anew(struct server *s, struct prepared *old)
{
	struct prepared_table *const t = s->ss->prepared;
	const struct prepared_text text = { old->dialect, old->body,
		old->len, old->hash, old->effects };

	if (old->dialect == NULL)
		return prepared_get_apart(t, text);
	struct prepared *stmt = prepared_get(t, text);

	if (stmt == NULL || prepared_uses_touch(&s->prepared, stmt) == NULL)
		return stmt;
	prepared_retire(stmt);
	prepared_unref(stmt);
	return prepared_get(t, text);
}

/*
 * The statement has other columns or types: the name stands for the same text,
 * as it will be prepared now. A client that is not told of the columns might
 * take them for others: it gets the error, as from PostgreSQL.
 */
static bool renew(struct relay_down *d, struct prepared_name *n)
{
	struct prepared *const old = n->stmt;

	struct sessions *const ss = d->c->ss;
	struct prepared *stmt;

	/* somebody has changed a schema, unseen */
	relay_schema_changed(d->s);
	prepared_retire(old);
	if (n->name[0] == '\0')
		stmt = ss->unnamed == NULL ? NULL :
		    unnamed_replace(ss->unnamed, old);
	else
		stmt = prepare_anew(d->s, old);
	if (stmt == NULL)
		return false;
	if (n->name[0] == '\0')
		(void)prepared_ref(stmt);
	prepared_name_move(n, stmt);
	prepared_unref(stmt);
	return true;
}

/* As with a DEALLOCATE ALL in a function: more statements may be gone. */
static bool restore(struct relay_down *d, struct prepared_name *n)
{
	prepared_uses_remove(&d->s->prepared, n->stmt);
	d->s->ps.close_needed = true;
	return true;
}

/*
 * Is the client told of the columns before it gets rows, and does it ask for
 * them in no format for each? Such a list was made for the old columns.
 */
static bool is_told(const struct server *s, const struct shape *shape)
{
	const struct carry *const k = &s->asked;
	size_t at = 0;

	while (shape->told && at < k->len) {
		const uint8_t *const m = k->at + at;
		const size_t size = msg_size(m, REPEAT_MAX);

		if (m[0] == FE_BIND && prepared_bind_read(m + MSG_HEADER,
		    size - MSG_HEADER).formats > 1)
			return false;
		at += size;
	}
	return shape->told;
}

static bool cure(struct relay_down *d)
{
	const struct shape *const shape = find_shape(d->s);
	struct prepared_name *const n = shape == NULL ? NULL : find_name(d);

	if (n == NULL || n->stmt->number != track_head_tag(&d->s->track))
		return false;
	if (is_raised_by(d, "0A000", "RevalidateCachedQuery"))
		return is_told(d->s, shape) && renew(d, n);
	if (relay_lacks_type(d))
		return shape->asks && renew(d, n);
	return is_raised_by(d, "26000", "FetchPreparedStatement") &&
	    restore(d, n);
}

/*
 * The server skips to a Sync: that of the batch, whose reply is not told, or
 * where a Flush ended it, one of ours.
 */
static void end_skipping(struct server *s)
{
	static const uint8_t sync[] = { FE_SYNC, 0, 0, 0, 4 };

	(void)track_reply(&s->track, BE_ERROR_RESPONSE, 0);
	if (!s->track.aborted) {
		track_own(&s->track);
		return;
	}
	/* there is room: the request that failed has left it */
	(void)track_add(&s->track, FE_SYNC, TRACK_SKIP, NULL);
	(void)stream_write_bytes(&s->stream, sync, sizeof sync);
}

/*
 * Of what we have asked ourselves ahead of the client's batch: what the server has
 * is too old to be described. It is parsed again for that batch.
 */
static bool is_too_old(struct relay_down *d)
{
	struct track *const t = &d->s->track;
	const struct prepared_op *const op = track_is_empty(t) ? NULL :
	    track_op(t, 0);

	if (op == NULL || (op->changes & PREPARED_FIRST) == 0 ||
	    t->status != 'I' || t->count > 1 || d->s->stream.broken ||
	    !(is_raised_by(d, "0A000", "RevalidateCachedQuery") ||
	    relay_lacks_type(d)))
		return false;
	struct prepared_use *const use = prepared_uses_touch(&d->s->prepared,
	    op->stmt);

	if (use == NULL)
		return false;
	use->shape = prepared_shape_stale();
	use->generation = 0;
	/* somebody has changed a schema, unseen */
	relay_schema_changed(d->s);
	end_skipping(d->s);
	d->c->relay.repeats = true;
	return true;
}

bool relay_repeat(struct relay_down *d)
{
	struct server *const s = d->s;
	struct client *const c = d->c;

	if (is_too_old(d))
		return true;
	if (s->asked.len == 0 || s->track.status != 'I' ||
	    s->stream.broken || c->carry.len > 0 || c->rest.bytes > 0 ||
	    !cure(d))
		return false;
	/* without memory: the client gets the error */
	if (carry_keep(&c->carry, s->asked.at, s->asked.len) < 0)
		return false;
	log_at(LEVEL_DEBUG, &c->who, "statement is prepared again: %s",
	    field(d, 'M'));
	end_skipping(s);
	s->asked.len = 0;
	c->relay.repeats = true;
	return true;
}
