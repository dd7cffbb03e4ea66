/* relay_own.c - a client meets with its own unnamed statement, on any server.
 *
 * Drivers send a Parse and a Sync in one round trip, and the Bind in the next.
 * By then the client may have another server, or others have used this one. So
 * its last Parse is kept, and is sent again ahead of the Bind where the server
 * has another one. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "relay/relay_own.h"

#include <string.h>

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "proto/track_run.h"
#include "proto/unnamed.h"
#include "relay/relay_columns.h"
#include "relay/relay_deallocate.h"
#include "relay/relay_prepared.h"
#include "relay/relay_watch.h"
#include "session/sessions.h"
#include "state/keep.h"
#include "state/keep_recall.h"

static const uint8_t closing[] = { FE_CLOSE, 0, 0, 0, 6, 'S', 0 };
static const uint8_t describing[] = { FE_DESCRIBE, 0, 0, 0, 6, 'S', 0 };

/* --- changes --- */

/* Out of the hot path: there is more room. 0, or -1: the text is not kept. */
static __attribute__((noinline, cold)) int make_room(struct client *c,
    size_t size)
{
	struct own *const o = &c->relay.own;
	struct sessions *const ss = c->ss;
	const size_t before = own_bytes(o);
	const bool fits = unnamed_make_room(ss->unnamed, ss->prepared, size,
	    sessions_statement_memory(ss));
	const int rc = fits ? own_text_reserve(&o->text, size) : -1;

	prepared_table_note(ss->prepared,
	    (long)own_bytes(o) - (long)before);
	return rc;
}

/* The newest Parse is kept; if that cannot be, s until it is used. */
static inline void keep_text(struct client *c, struct server *s,
    const uint8_t *m, size_t size)
{
	struct own_text *const t = &c->relay.own.text;

	t->len = 0;
	t->told = (struct prepared_shape){ 0 };
	if (size > OWN_MAX || (size > t->size && make_room(c, size) < 0)) {
		s->trace.waits = true;
		return;
	}
	memcpy(t->at, m, size);
	t->len = (uint32_t)size;
}

static inline uint64_t next_serial(struct client *c, const uint8_t *m)
{
	return m[0] == FE_PARSE ? sessions_next_unnamed(c->ss) : OWN_NONE;
}

static inline void note_text(struct client *c, struct server *s,
    const uint8_t *m, size_t size)
{
	if (m[0] == FE_PARSE)
		keep_text(c, s, m, size);
	else
		own_forget_text(&c->relay.own);
}

/* Out of the hot path: what is ahead of the newest one, in its batch. */
static __attribute__((noinline)) void note_several(struct client *c,
    struct server *s, struct own_run run)
{
	const uint64_t first = own_is_sure(&s->track, run.first) ?
	    next_serial(c, run.oldest) : OWN_UNKNOWN;

	own_change_several(&c->relay.own, &s->unnamed, &(struct own_several){
	    run.count, first, next_serial(c, run.newest) });
}

/* By value: what has an address is not kept in registers. */
void relay_own_note_run(struct client *c, struct server *s,
    struct own_run run)
{
	const bool sure = own_is_sure(&s->track, run.last);

	if (run.count == 1 || sure)
		own_change(&c->relay.own, &s->unnamed,
		    next_serial(c, run.newest), sure);
	else
		note_several(c, s, run);
	note_text(c, s, run.newest, msg_size(run.newest, UINT32_MAX));
}

void relay_own_note(struct relay_up *up, unsigned place)
{
	struct own *const o = &up->c->relay.own;

	/* discarded */
	if (up->s->track.count <= place)
		return;
	track_mark(&up->s->track, OWN_CHANGE);
	own_change(o, &up->s->unnamed, next_serial(up->c, up->m),
	    own_is_sure(&up->s->track, place));
	note_text(up->c, up->s, up->m, up->size);
}

void relay_own_note_close(struct relay_up *up, unsigned place)
{
	if (up->s->track.count <= place)
		return;
	track_mark(&up->s->track, OWN_CHANGE);
	own_change(&up->c->relay.own, &up->s->unnamed, OWN_NONE,
	    own_is_sure(&up->s->track, place));
	own_forget_text(&up->c->relay.own);
}

bool relay_own_changes(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;

	switch (up->m[0]) {
	case FE_QUERY:
		return true;
	case FE_PARSE:
		return up->have > MSG_HEADER && body[0] == '\0';
	case FE_CLOSE:
		return up->have > MSG_HEADER + 1 &&
		    up->size > MSG_HEADER + 1 && body[0] == 'S' &&
		    body[1] == '\0';
	default:
		return false;
	}
}

void relay_own_replaces(const struct relay_up *up)
{
	const struct track *const t = &up->s->track;

	if (!t->aborted && own_is_sure(t, t->count))
		up->s->trace.waits = false;
}

bool relay_own_is_cut(const struct relay_up *up)
{
	return up->have < up->size && (up->have == MSG_HEADER ||
	    (up->m[MSG_HEADER] == '\0' && up->size <= OWN_MAX));
}

void relay_own_drop(struct client *c)
{
	struct own *const o = &c->relay.own;

	o->serial = OWN_NONE;
	own_forget_text(o);
}

/* --- what is met with --- */

/* The kept Parse is sent, and all is noted as if the client had sent it. */
static enum relay_step send_text(struct relay_up *up)
{
	const struct own_text *const t = &up->c->relay.own.text;
	const uint8_t *const m = up->m;
	const size_t size = up->size, have = up->have;
	enum relay_step step = RELAY_NEXT;

	up->m = t->at;
	up->read = NULL;
	up->size = up->have = t->len;
	if (!up->named || !relay_dealloc_again(up, &step)) {
		relay_note_unnamed(up);
		outbox_copy_all(&up->out, t->at, t->len);
		if (track_add(&up->s->track, FE_PARSE, TRACK_SKIP, NULL) < 0)
			step = relay_no_memory(up);
	}
	up->m = m;
	up->read = NULL;
	up->size = size;
	up->have = have;
	up->c->pc.pool->counted.now.server_parse_count++;
	return step;
}

/* There is none: PostgreSQL says so itself. */
static enum relay_step send_close(struct relay_up *up)
{
	relay_own_drop(up->c);
	outbox_pass(&up->out, closing, sizeof closing);
	return track_add(&up->s->track, FE_CLOSE, TRACK_SKIP, NULL) < 0 ?
	    relay_no_memory(up) : RELAY_NEXT;
}

/* What the client was told of its statement may be what that had elsewhere. */
static bool is_told(const struct client *c)
{
	const struct own_text *const t = &c->relay.own.text;

	return t->len > 0 && (t->told.params != 0 || t->told.columns != 0) &&
	    c->relay.dealloc.name == NULL;
}

/* The Bind waits for what the server has. */
static enum relay_step ask(struct relay_up *up)
{
	up->c->relay.own.has = (struct prepared_shape){ 0 };
	outbox_pass(&up->out, describing, sizeof describing);
	if (track_add(&up->s->track, FE_DESCRIBE, TRACK_SKIP, NULL) < 0)
		return relay_no_memory(up);
	track_mark(&up->s->track, OWN_ASKED);
	return relay_wait(up);
}

static enum relay_step send_again(struct relay_up *up)
{
	struct own *const o = &up->c->relay.own;
	const enum relay_step step = o->text.len > 0 ? send_text(up) :
	    send_close(up);

	if (step != RELAY_NEXT)
		return step;
	track_mark(&up->s->track, OWN_AGAIN);
	own_again(o, &up->s->unnamed);
	/* what it may set was noted */
	up->s->trace.waits = false;
	keep_note_other(up->s);
	up->c->relay.batch = BATCH_UNSURE;
	if (up->m[0] != FE_BIND)
		return RELAY_NEXT;
	if (is_told(up->c))
		return ask(up);
	return up->s->trace.binds ? relay_watch_unnamed_bind(up) : RELAY_NEXT;
}

static enum relay_step reach(struct relay_up *up)
{
	const struct track *const t = &up->s->track;

	/* the message is discarded, or ends a COPY */
	if (relay_own_is_there(up->c, up->s) || t->aborted ||
	    track_wants_data(t))
		return RELAY_NEXT;
	switch (own_reach(&up->c->relay.own, &up->s->unnamed, t)) {
	case OWN_REACHED:
		return RELAY_NEXT;
	case OWN_WAITS:
		return relay_wait(up);
	case OWN_AWAY:
		break;
	}
	return send_again(up);
}

enum relay_step relay_own_reach(struct relay_up *up)
{
	const enum relay_step step = reach(up);

	/* it is used now: nobody waits for that */
	if (step == RELAY_NEXT && up->m[0] == FE_BIND)
		up->s->trace.waits = false;
	return step;
}

/* The server has the client's statement, which has another shape there. */
static bool meets_other(struct relay_up *up, enum relay_step *step)
{
	struct own *const o = &up->c->relay.own;
	const enum columns how = relay_columns_relies(up, &o->text.told,
	    &o->has, false);

	*step = RELAY_SHORT;
	if (how == COLUMNS_MORE)
		return false;
	/* the next Bind has the statement sent again, and is looked at likewise */
	o->other = false;
	*step = how == COLUMNS_PASS ? RELAY_NEXT : relay_refuse_bind(up);
	/* a Describe of the portal, which nobody reads, may tell other columns */
	if (o->text.told.columns != 0 && how == COLUMNS_PASS)
		o->text.told.columns = prepared_shape_stale().columns;
	return how == COLUMNS_PASS;
}

bool relay_own_meets(struct relay_up *up, enum relay_step *step)
{
	if (up->c->relay.own.other)
		return meets_other(up, step);
	*step = relay_own_reach(up);
	return *step == RELAY_NEXT;
}

enum relay_step relay_own_tell(struct relay_up *up)
{
	const enum relay_step step = relay_request(up);

	if (step == RELAY_NEXT)
		track_mark(&up->s->track, OWN_TOLD);
	return step;
}

/* --- what a description tells --- */

static uint8_t head_mark(const struct relay_down *d)
{
	const struct track *const t = &d->s->track;

	return d->c == NULL || track_is_empty(t) ? OWN_NOTHING :
	    track_req(t, 0)->own;
}

/* Hash of the columns that m tells. */
static uint32_t columns_of(const uint8_t *m, size_t size)
{
	return m[0] == BE_NO_DATA ? PREPARED_SHAPE_NONE :
	    prepared_shape_columns(m + MSG_HEADER, size - MSG_HEADER);
}

/*
 * The columns come next. They are looked at here, because their message is passed
 * on without a look, as those of portals.
 */
static bool note_told(const struct relay_down *d, uint32_t params)
{
	const uint8_t *const next = d->m + d->size;
	const size_t have = d->have - d->size;
	const size_t size = have < MSG_HEADER ? 0 : msg_size(next, d->max);

	if (have < MSG_HEADER)
		return false;
	/* or else an error */
	if ((next[0] != BE_ROW_DESCRIPTION && next[0] != BE_NO_DATA) ||
	    size == 0 || size > RELAY_SMALL_MAX)
		return true;
	if (have < size)
		return false;
	own_tell(&d->c->relay.own, &d->s->track, &(struct prepared_shape){
	    params, columns_of(next, size), 0 });
	return true;
}

bool relay_own_note_params(const struct relay_down *d)
{
	const uint8_t mark = head_mark(d);

	if ((mark != OWN_TOLD && mark != OWN_ASKED) ||
	    d->size > RELAY_SMALL_MAX)
		return true;
	if (d->have < d->size)
		return false;
	const uint32_t params = prepared_shape_params(d->m + MSG_HEADER,
	    d->size - MSG_HEADER);

	if (mark == OWN_TOLD)
		return note_told(d, params);
	d->c->relay.own.has.params = params;
	return true;
}

bool relay_own_note_columns(const struct relay_down *d)
{
	if (head_mark(d) != OWN_ASKED)
		return true;
	if (d->size <= RELAY_SMALL_MAX) {
		if (d->have < d->size)
			return false;
		d->c->relay.own.has.columns = columns_of(d->m, d->size);
	}
	own_compare(&d->c->relay.own, &d->s->unnamed);
	return true;
}

/* --- where names are no business of ours --- */

/* The string at *at; *at is behind it. NULL: its end is not here. */
static const char *next_string(const uint8_t **at, const uint8_t *end)
{
	const char *const s = relay_string_at(*at, (size_t)(end - *at));

	if (s != NULL)
		*at += strlen(s) + 1;
	return s;
}

enum relay_step relay_own_bind(struct relay_up *up)
{
	const size_t here = up->have < up->size ? up->have : up->size;
	const uint8_t *at = up->m + MSG_HEADER;
	const uint8_t *const end = up->m + here;

	if (relay_own_is_there(up->c, up->s))
		return relay_request(up);
	const char *const portal = next_string(&at, end);
	const char *const name = portal == NULL ? NULL : next_string(&at, end);

	/* what has no end the server refuses */
	if (name == NULL && here < up->size && here < RELAY_NAMES_MAX)
		return RELAY_SHORT;
	enum relay_step step;

	return name == NULL || name[0] != '\0' || relay_own_meets(up, &step) ?
	    relay_request(up) : step;
}

/* "S" and an empty name; a few bytes. */
static bool is_about_unnamed(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;

	return up->size == MSG_HEADER + 2 && up->have >= up->size &&
	    body[0] == 'S' && body[1] == '\0';
}

enum relay_step relay_own_describe(struct relay_up *up)
{
	if (up->have < up->size && up->size <= RELAY_NAMES_MAX)
		return RELAY_SHORT;
	if (!is_about_unnamed(up))
		return relay_request(up);
	const enum relay_step step = relay_own_reach(up);

	return step == RELAY_NEXT ? relay_own_tell(up) : step;
}

enum relay_step relay_own_close(struct relay_up *up)
{
	if (up->have < up->size && up->size <= RELAY_NAMES_MAX)
		return RELAY_SHORT;
	if (relay_own_changes(up))
		relay_own_replaces(up);
	return relay_request(up);
}

/* --- what fails, and what ends --- */

void relay_own_failed(struct client *c, struct server *s)
{
	if (!own_failed(&c->relay.own, &s->unnamed, &s->track,
	    sessions_next_unnamed(c->ss)) ||
	    c->relay.dealloc.name == NULL)
		return;
	/* that was of the statement before, or is of no one: it is told anew */
	relay_dealloc_clear(&c->relay);
	if (c->relay.own.serial != OWN_NONE)
		s->unnamed = OWN_UNKNOWN;
}

void relay_own_came(struct client *c)
{
	prepared_table_note(c->ss->prepared, (long)own_bytes(&c->relay.own));
	sessions_skip_unnamed(c->ss, c->relay.own.serial);
}

void relay_own_fini(struct client *c)
{
	const size_t bytes = own_bytes(&c->relay.own);

	if (bytes > 0)
		prepared_table_note(c->ss->prepared, -(long)bytes);
	own_fini(&c->relay.own);
}
