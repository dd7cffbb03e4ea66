/* relay_reset.c - RESET gives a client the values that it has brought along.
 *
 * The server goes back to what it was started with, which is the pool's. What
 * the client asked for when it logged in is set again: before its next request,
 * or by whatever server it gets next. (spec/pooling.md section 21)
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/sql_back.h"
#include "proto/track.h"
#include "relay/relay_parts.h"
#include "relay/relay_reset.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql.h"
#include "state/keep_resets.h"

#define ALL SQL_BACK_ALL
_Static_assert(PARAMS_MAX <= 64, "one bit for each");

static uint64_t bit(int i)
{
	return (uint64_t)1 << i;
}

/* --- on the way up --- */

bool relay_is_cut(const struct relay_up *up)
{
	/* what resets something in a longer one is read that far */
	if (up->size > SQL_TEXT_MAX)
		return up->have < SQL_TEXT_MAX && up->c->brought != NULL &&
		    up->watched;
	return up->have < up->size &&
	    (up->named || up->watched || up->c->relay.start != NULL ||
	    up->c->brought != NULL);
}

/* What does the Query at hand do to what the client has brought along? */
static struct sql_back read_query(struct relay_up *up)
{
	const struct client *c = up->c;
	const char *sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;
	struct sql_back b = { .back = 0 };

	if (c->relay.start != NULL && (relay_effects(up) & EFFECTS_BACK) != 0) {
		b.names = params_table_of(c->relay.start);
		sql_back_read(&b, sql, n);
	}
	return b;
}

/* Start-up parameters of any name, of a client that keeps its server. */
static bool are_brought(const struct client *c, const struct server *s)
{
	return c->brought != NULL && s->ps.mode == POOL_SESSION;
}

/* The Query at hand, if it may be about these; or one of no bytes. */
static struct keep_resets_text query_text(struct relay_up *up)
{
	const char *const sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;

	if (!are_brought(up->c, up->s) ||
	    (relay_effects(up) & EFFECTS_BACK) == 0)
		return (struct keep_resets_text){ .sql = "" };
	return (struct keep_resets_text){ .sql = sql, .n = n,
		.effects = relay_effects(up) };
}

bool relay_reset_waits(struct relay_up *up)
{
	const struct track *t = &up->s->track;

	if (track_is_empty(t) || track_wants_data(t) || track_is_unsure(t))
		return false;
	if (read_query(up).back != 0)
		return true;
	const struct keep_resets_text text = query_text(up);

	return text.n > 0 && keep_resets_some(up->c, up->s, &text);
}

/* It resets something, but nothing that the client has brought along. */
static void note_others(struct relay_state *r, const struct sql_back *b)
{
	if (b->others && r->resetting == RESET_NONE)
		r->resetting = RESET_READ;
}

bool relay_reset_asked(struct relay_up *up)
{
	const struct sql_back b = read_query(up);
	const struct keep_resets_text text = query_text(up);

	if (text.n > 0)
		keep_resets_note(up->c, up->s, &text);
	const bool brought = text.n > 0 && up->s->keep.resets != 0;

	if (b.back == 0 && !brought) {
		note_others(&up->c->relay, &b);
		return false;
	}
	up->c->relay.resets |= b.back;
	up->c->relay.resetting = RESET_ASKED;
	return true;
}

/* --- by Parse and Bind, or FunctionCall --- */

/* Is there anything that a RESET might give back? */
static bool has_own(const struct relay_up *up)
{
	return up->c->relay.start != NULL || are_brought(up->c, up->s);
}

/* The next request runs the text with these values. */
static enum relay_step note(struct relay_up *up, struct sql_back *b,
    struct keep_resets_text text)
{
	struct relay_state *const r = &up->c->relay;

	const bool brought = are_brought(up->c, up->s);

	text.values = b->values;
	text.values_len = b->len;
	b->names = up->c->ss->params;
	if (r->start != NULL)
		sql_back_read(b, text.sql, text.n);
	/* what ends by itself has its own changes, and is answered before */
	if (track_owes_ready(&up->s->track) && (b->back != 0 || (brought &&
	    keep_resets_some(up->c, up->s, &text))))
		return relay_wait(up);
	r->resets &= ~b->set;
	if (brought)
		keep_resets_note(up->c, up->s, &text);
	const bool asks = b->back != 0 || (brought && up->s->keep.resets != 0);

	if (!asks)
		note_others(r, b);
	/* what is due is so in a transaction that has failed: nothing runs */
	if (!asks || r->resetting == RESET_DUE)
		return RELAY_NEXT;
	r->resets |= b->back;
	if (r->resetting != RESET_DONE)
		r->resetting = RESET_ASKED;
	return RELAY_NEXT;
}

/* Up to a NUL, which is in the message; or NULL. */
static const uint8_t *skip_string(const struct relay_up *up, const uint8_t *at)
{
	const uint8_t *const end = up->m +
	    (up->have < up->size ? up->have : up->size);
	const uint8_t *const nul = at == NULL ? NULL :
	    memchr(at, '\0', (size_t)(end - at));

	return nul == NULL ? NULL : nul + 1;
}

enum relay_step relay_reset_parse(struct relay_up *up)
{
	struct relay_state *const r = &up->c->relay;
	const char *const name = (const char *)up->m + MSG_HEADER;
	const uint8_t *const sql = !has_own(up) ? NULL :
	    skip_string(up, up->m + MSG_HEADER);
	const uint8_t *const end = skip_string(up, sql);

	if (end == NULL)
		return RELAY_NEXT;
	const size_t n = (size_t)(end - sql);

	if ((relay_effects(up) & EFFECTS_BACK) == 0) {
		relay_state_drop_text(r, name);
		return RELAY_NEXT;
	}
	if (track_owes_ready(&up->s->track))
		return relay_wait(up);
	return relay_state_add_text(r, name, (const char *)sql, n - 1) < 0 ?
	    relay_no_memory(up) : RELAY_NEXT;
}

/* Values that are not there whole are not read, if they are that long. */
static bool take_values(const struct relay_up *up, struct sql_back *b,
    const uint8_t *values)
{
	if (up->have >= up->size) {
		b->values = values;
		b->len = (size_t)(up->m + up->size - values);
	}
	return up->have >= up->size || up->size > SQL_TEXT_MAX;
}

enum relay_step relay_reset_bind(struct relay_up *up)
{
	const struct relay_reset_text *t = up->c->relay.texts;
	const uint8_t *const name = skip_string(up, up->m + MSG_HEADER);
	const uint8_t *const values = skip_string(up, name);
	struct sql_back b = { .back = 0 };

	if (values == NULL)
		return up->have < up->size && up->size <= SQL_TEXT_MAX ?
		    RELAY_SHORT : RELAY_NEXT;
	while (t != NULL && strcmp(t->text, (const char *)name) != 0)
		t = t->next;
	if (t == NULL || !has_own(up))
		return RELAY_NEXT;
	if (!take_values(up, &b, values))
		return RELAY_SHORT;
	const char *const sql = t->text + t->name;
	const size_t n = strlen(sql);

	return note(up, &b, (struct keep_resets_text){ .sql = sql, .n = n,
		.effects = relay_effects_of(up, sql, n + 1) });
}

enum relay_step relay_reset_bind_named(struct relay_up *up,
    const struct prepared *stmt, const uint8_t *values)
{
	struct sql_back b = { .back = 0 };

	/* a Bind of a few bytes is not to cost a look at a megabyte */
	if (!has_own(up) || stmt->len > SQL_TEXT_MAX)
		return RELAY_NEXT;
	if (!take_values(up, &b, values))
		return RELAY_SHORT;
	return note(up, &b, (struct keep_resets_text){
		.sql = (const char *)stmt->body, .n = stmt->len,
		.effects = stmt->effects });
}

enum relay_step relay_reset_call(struct relay_up *up)
{
	struct sql_back b = { .back = 0 };

	if (!has_own(up))
		return RELAY_NEXT;
	if (up->have < up->size && up->have < MSG_HEADER + 4)
		return RELAY_SHORT;
	if (!relay_calls_set_config(up))
		return RELAY_NEXT;
	if (!take_values(up, &b, relay_call_values(up)))
		return RELAY_SHORT;
	return note(up, &b, (struct keep_resets_text){
		.sql = RELAY_SET_CONFIG_TEXT,
		.n = sizeof RELAY_SET_CONFIG_TEXT });
}

/* --- on the way down --- */

static bool has_tag(const struct relay_down *d, const char *tag)
{
	const size_t n = strlen(tag) + 1;

	return d->size == MSG_HEADER + n &&
	    memcmp(d->m + MSG_HEADER, tag, n) == 0;
}

int relay_reset_silent(const struct relay_down *d)
{
	struct server *s = d->s;

	if (s->origin.silent == 0 || s->own_query == OWN_QUERY_PARAMS ||
	    keep_is_on(s->ps.pool))
		return 0;
	const bool asked = d->c != NULL && s->own_query == OWN_QUERY_NONE &&
	    (d->c->relay.resetting == RESET_ASKED ||
	    d->c->relay.resetting == RESET_DONE) &&
	    (d->c->relay.resets & s->origin.silent) != 0;

	/* a ROLLBACK undoes what we have set in the transaction, too */
	if (!asked && !has_tag(d, "SET") && !has_tag(d, "RESET") &&
	    !has_tag(d, "ROLLBACK") && !has_tag(d, "DISCARD ALL"))
		return 0;
	return params_forget(&s->params, &s->origin, asked ||
	    has_tag(d, "DISCARD ALL") || has_tag(d, "RESET"));
}

void relay_reset_tag(const struct relay_down *d)
{
	struct client *c = d->c;

	if (c == NULL || d->s->own_query != OWN_QUERY_NONE ||
	    (c->relay.start == NULL && !are_brought(c, d->s)))
		return;
	const bool all = has_tag(d, "DISCARD ALL");
	const bool brought = are_brought(c, d->s);
	/* a SELECT that calls set_config(), or a block, may reset as well */
	const bool asked = c->relay.resetting == RESET_ASKED ||
	    c->relay.resetting == RESET_DONE;

	if (all && brought)
		d->s->keep.resets = UINT32_MAX;
	if (all)
		c->relay.resets = ALL;
	else if (c->relay.resetting == RESET_READ)
		return;
	else if (!asked && !has_tag(d, "RESET") && (!has_tag(d, "SET") ||
	    (c->relay.resets == 0 && (!brought || d->s->keep.resets == 0))))
		return;
	c->relay.resetting = all || asked ? RESET_DONE : RESET_GUESSED;
}

void relay_reset_called(const struct relay_down *d)
{
	if (d->c != NULL && d->s->own_query == OWN_QUERY_NONE &&
	    d->c->relay.resetting == RESET_ASKED)
		d->c->relay.resetting = RESET_DONE;
}

/* Has the server what it was started with, as far as that is known? */
static bool is_initial(const struct relay_down *d, int i)
{
	const struct server *const s = d->s;

	return s->origin.set != NULL && params_get(s->params, i) ==
	    params_get(s->origin.set, i);
}

bool relay_reset_hides(const struct relay_down *d, int i)
{
	struct client *c = d->c;

	if (c == NULL || c->relay.resetting == RESET_NONE ||
	    c->relay.start == NULL)
		return false;
	if (c->relay.resetting == RESET_GUESSED && is_initial(d, i))
		c->relay.resets |= bit(i);
	return (c->relay.resets & bit(i)) != 0;
}

void relay_reset_failed(const struct relay_down *d)
{
	struct client *c = d->c;

	if (c == NULL)
		return;
	if (are_brought(c, d->s))
		keep_resets_undo(d->s);
	if (c->relay.resetting == RESET_DONE) {
		c->relay.resetting = RESET_ASKED;
	} else if (c->relay.resetting == RESET_GUESSED) {
		c->relay.resetting = RESET_NONE;
		c->relay.resets = 0;
	}
}

/* Tell the client of value i, if that is new to it. 0 or -1: no memory. */
static int tell(struct relay_down *d, int i, const char *value)
{
	struct client *c = d->c;
	struct writer w;

	if (value == NULL || value == params_get(c->params, i))
		return 0;
	writer_init(&w, RELAY_SMALL_MAX);
	writer_parameter_status(&w, params_name(d->s->ss->params, i), value);
	const int rc = w.failed ? -1 : params_set(&c->params, i, value);

	if (rc == 0)
		outbox_copy_all(&d->out, w.at, w.len);
	writer_fini(&w);
	return rc;
}

int relay_reset_end(struct relay_down *d, bool answered)
{
	struct client *c = d->c;
	const bool done = c->relay.resetting == RESET_DONE ||
	    c->relay.resetting == RESET_GUESSED;
	const int n = c->relay.start == NULL ? 0 :
	    params_count(d->s->ss->params);
	const uint64_t told = c->relay.resets & ~d->s->origin.silent;

	if (!done && !answered)
		return 0;
	for (int i = 0; i < n; i++) {
		if ((told & bit(i)) != 0 && tell(d, i,
		    params_get(done && is_initial(d, i) ? c->relay.start :
		    d->s->params, i)) < 0)
			return -1;
	}
	if (are_brought(c, d->s) && keep_resets_bring(c, d->s) < 0)
		return -1;
	if (!done && c->relay.resetting != RESET_DUE) {
		relay_reset_over(c);
		return 0;
	}
	/* until the server has nothing else to do; what it reports, it has told */
	c->relay.resetting = RESET_DUE;
	c->relay.resets &= d->s->origin.silent;
	return 0;
}
