/* relay_watch.c - what passes is watched for what it may leave in the session.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_watch.h"

#include <string.h>

#include "base/mem.h"
#include "notify/channels.h"
#include "proto/custom.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "relay/relay_own.h"
#include "relay/relay_parts.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_leave.h"
#include "state/custom_table.h"
#include "state/keep_recall.h"
#include "state/keep_resets.h"

/* What becomes of a text. */
enum text_kind {
	TEXT_RUNS,	/* a Query */
	TEXT_WAITS,	/* the unnamed statement */
	TEXT_LASTS,	/* a statement whose name only the server knows */
};

/* A long text of which a part is still to come. */
struct relay_watch_long {
	struct sql_long text;
	enum text_kind kind;
};

/* The next message, if it is whole, of this kind and about what has no name. */
static const uint8_t *skip_unnamed(const struct relay_up *up, const uint8_t *m,
    char type)
{
	const uint8_t *const end = up->m + up->have;
	const size_t names = type == FE_BIND ? 2 : type == FE_SYNC ? 0 : 1;
	const size_t kind = type == FE_DESCRIBE;
	const size_t size = m == NULL || end - m < MSG_HEADER || *m != type ? 0 :
	    msg_size(m, up->max);

	if (size < MSG_HEADER + kind + names || size > (size_t)(end - m) ||
	    (kind > 0 && m[MSG_HEADER] != 'P'))
		return NULL;
	for (size_t i = 0; i < names; i++)
		if (m[MSG_HEADER + kind + i] != '\0')
			return NULL;
	return m + size;
}

/* Is a Bind of the unnamed portal at hand, or is one next, and all of a batch? */
static enum dialect_run runs_at_once(const struct relay_up *up)
{
	const uint8_t *at = up->m;

	/* nothing is ahead of it whose end might be taken for its own */
	if (!up->told || up->m != up->start || up->s->track.status != 'T')
		return DIALECT_MAY_RUN;
	if (at[0] == FE_QUERY)
		return DIALECT_RUNS;
	if (up->have <= up->size)
		return DIALECT_MAY_RUN;
	/* the statement of a Bind at hand has a name */
	if (at[0] == FE_BIND && at[MSG_HEADER] != '\0')
		return DIALECT_MAY_RUN;
	at = at[0] == FE_BIND ? at + up->size :
	    skip_unnamed(up, at + up->size, FE_BIND);
	if (at != NULL && at < up->m + up->have && *at == FE_DESCRIBE)
		at = skip_unnamed(up, at, FE_DESCRIBE);
	at = skip_unnamed(up, at, FE_EXECUTE);
	return skip_unnamed(up, at, FE_SYNC) == NULL ? DIALECT_MAY_RUN :
	    DIALECT_RUNS;
}

/* What is longer is not read, however much of it is here. */
static bool is_read(const struct relay_up *up)
{
	return up->have >= up->size && up->size <= SQL_TEXT_MAX;
}

/*
 * The text at hand, which may set something, runs, or may be. Up to end there is
 * what is here of it.
 */
static void note_sets(struct relay_up *up, const char *sql, const uint8_t *end)
{
	const size_t n = (size_t)(end - (const uint8_t *)sql);
	const size_t head = (size_t)(sql - (const char *)up->m);
	const uint32_t effects = relay_effects(up);

	dialect_note(up->s, &(struct dialect_text){ sql, n, effects,
		runs_at_once(up) });
	if (is_read(up))
		keep_resets_note(up->c, up->s, &(struct keep_resets_text){
			.sql = sql, .n = n, .effects = effects });
	/* so much of it is here, however it has come: see relay_is_cut() */
	else if (up->c->brought != NULL && head + n >= SQL_TEXT_MAX)
		keep_resets_note(up->c, up->s, &(struct keep_resets_text){
			.sql = sql, .n = SQL_TEXT_MAX - head });
}

/* Anything may be set, under any name. */
static void note_hidden(struct server *s)
{
	s->trace.unlisted = true;
	s->dialect.unseen = true;
}

/* What only the end of the session closes may be open. */
static void note_may_open(struct server *s)
{
	s->ps.close_needed = true;
}

static void note_words(struct server *s, uint32_t effects)
{
	struct trace *const t = &s->trace;

	t->draws = t->draws || (effects & EFFECT_DRAWS) != 0;
	t->pins |= (effects & EFFECT_OPENS) != 0 ? PIN_FUNCTION : 0;
	s->keep.tabled |= (effects & EFFECT_MAKES) != 0;
	if ((effects & EFFECT_HIDES) != 0)
		note_hidden(s);
	if ((effects & EFFECT_MAY_OPEN) != 0)
		note_may_open(s);
}

/* The text has a word that may leave something. May it leave more than numbers? */
static bool note_leaves(struct server *s, uint32_t effects)
{
	const uint32_t some = EFFECT_LEAVES | EFFECT_DRAWS | EFFECT_HIDES |
	    EFFECT_OPENS | EFFECT_MAKES | EFFECT_MAY_OPEN;

	note_words(s, effects);
	s->trace.calls = s->trace.calls || (effects & some) == 0;
	return (effects & EFFECT_LEAVES) != 0;
}

/* It has words that say what, of effects.h. */
static void note_words_of(struct server *s, uint32_t effects,
    enum text_kind kind)
{
	struct trace *const t = &s->trace;

	note_words(s, effects);
	if ((effects & EFFECT_LEAVES) == 0)
		return;
	t->marked = true;
	t->unnamed = t->unnamed || kind == TEXT_WAITS;
	t->lasting = t->lasting || kind == TEXT_LASTS;
}

/* It is not looked at any more. */
static void end_long(struct relay_state *r)
{
	mem_free(r->text);
	r->text = NULL;
}

void relay_watch_long(const struct relay_up *up, const void *bytes, size_t n,
    bool last)
{
	struct relay_watch_long *const l = up->c->relay.text;

	sql_long_take(&l->text, bytes, n);
	if (last)
		sql_long_end(&l->text);
	note_words_of(up->s, l->text.what, l->kind);
	if (last)
		end_long(&up->c->relay);
}

/* What is here of the message at hand, a Query or a Parse; more may come. */
static void begin_long(const struct relay_up *up, enum text_kind kind)
{
	const bool whole = up->have >= up->size;
	struct relay_watch_long *const l = mem_zalloc(sizeof *l);

	if (l == NULL) {
		note_words_of(up->s, EFFECTS_ANY, kind);
		return;
	}
	end_long(&up->c->relay);
	up->c->relay.text = l;
	l->kind = kind;
	relay_watch_long(up, up->m + MSG_HEADER, (whole ? up->size :
	    up->have) - MSG_HEADER, whole);
}

/*
 * A long text: its words are looked at as they pass, and nothing else of it. Up
 * to here it may give numbers, and be read by any settings.
 */
static void note_long(const struct relay_up *up, enum text_kind kind)
{
	struct server *const s = up->s;

	keep_note_other(s);
	s->dialect.unseen = true;
	s->trace.binds = false;
	s->trace.draws = s->trace.unread = true;
	s->trace.waits = s->trace.waits || kind == TEXT_WAITS;
	begin_long(up, kind);
	/* each transaction may run it, and none shows its text again */
	if (kind == TEXT_LASTS)
		note_words_of(s, EFFECT_LEAVES | EFFECT_HIDES, kind);
}

/* Bytes of a SET that come before its value, of a text of n bytes. */
static size_t head_of(const char *sql, size_t n)
{
	size_t i = 0;

	while (i < n && sql[i] != '=' && sql[i] != '\'')
		i++;
	return i;
}

/*
 * Does the text begin with a SET or RESET that leaves nothing which we don't
 * hear of: SET LOCAL, or one of a parameter that the server reports?
 */
static bool is_harmless(struct relay_up *up)
{
	const uint32_t effects = relay_effects(up);
	const char *sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;
	char name[SQL_PARAMETER_MAX];

	if ((effects & EFFECT_LOCAL) != 0)
		return true;
	/* not one that a string has, nor local.application_name */
	if ((effects & EFFECT_SET_FIRST) == 0 || memchr(sql, '.', head_of(sql, n)) != NULL)
		return false;
	const char *at = sql;
	const enum sql_change what = sql_next_change(&at, sql + n, name);
	const int i = what == SQL_NO_CHANGE || name[0] == '\0' ? -1 :
	    params_find(up->c->ss->params, name);

	/* that takes back the role, too */
	return i >= 0 && (up->s->origin.silent >> i & 1) == 0 &&
	    strcmp(name, "session_authorization") != 0;
}

/* What was read names all that may be set; or not. */
static void note_found(struct trace *t, enum custom_found found)
{
	t->unlisted = t->unlisted || found != CUSTOM_KNOWN;
	t->pins |= found == CUSTOM_UNKNOWN ? PIN_PARAMETER : 0;
}

/*
 * Names of custom parameters are learned, up to a NUL. Returns which parameters of
 * the text are such names.
 */
static uint32_t learn(const struct relay_up *up,
    const struct dialect_text *text)
{
	const char *const sql = text->sql;
	const size_t max = text->n;

	const char *const nul = memchr(sql, '\0', max);
	const size_t n = nul == NULL ? max : (size_t)(nul - sql) + 1;
	struct custom_reader r;

	if (!keep_is_on(up->s->ps.pool) || (text->effects & EFFECT_NAMES) == 0)
		return 0;
	r = custom_table_reader(up->s);
	/* what is ahead may be about the encoding */
	if (up->s->dialect.pending || !up->told)
		r.encoding = NULL;
	note_found(&up->s->trace, custom_read(&r, sql, n));
	return r.bound;
}

/* A FunctionCall, of a function that is no part of PostgreSQL, or opens. */
static bool calls_to_open(const struct relay_up *up)
{
	/* pg_create_ and pg_copy_..._replication_slot(), and that of origins */
	static const uint32_t opening[] = { 3779, 3786, 4220, 4221, 4222, 4223,
		4224, 6006 };
	const uint32_t first_of_users = 16384;	/* FirstNormalObjectId */

	if (up->have < MSG_HEADER + 4 || up->size < MSG_HEADER + 4)
		return true;
	const uint32_t oid = msg_u32(up->m + MSG_HEADER);

	for (size_t i = 0; i < sizeof opening / sizeof *opening; i++)
		if (oid == opening[i])
			return true;
	return oid >= first_of_users;
}

/*
 * Values of a Bind behind both names, or of a FunctionCall; those are names of
 * parameters.
 */
static void learn_bind(const struct relay_up *up, const uint8_t *at,
    uint32_t bound)
{
	const uint8_t *const end = up->m + up->size;
	struct custom_reader r = custom_table_reader(up->s);

	if (!keep_is_on(up->s->ps.pool))
		return;
	r.bound = bound;
	note_found(&up->s->trace, !is_read(up) ? CUSTOM_UNKNOWN :
	    custom_read_bind(&r, at, (size_t)(end - at)));
}

/* The FunctionCall at hand. */
static void note_set_config(const struct relay_up *up)
{
	const uint8_t *const values = relay_call_values(up);

	learn_bind(up, values, 1);
	keep_resets_note(up->c, up->s, &(struct keep_resets_text){
		.sql = RELAY_SET_CONFIG_TEXT, .n = sizeof RELAY_SET_CONFIG_TEXT,
		.values = is_read(up) ? values : NULL, .values_len =
		    is_read(up) ? (size_t)(up->m + up->size - values) : 0 });
}

void relay_watch_call(struct relay_up *up)
{
	struct trace *const t = &up->s->trace;
	const char *const sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;
	const size_t here = up->have < up->size ? up->have : up->size;

	if (up->m[0] == FE_FUNCTION_CALL) {
		t->marked = true;
		up->s->dialect.unseen = true;
		if (calls_to_open(up))
			note_may_open(up->s);
		if (relay_calls_set_config(up))
			note_set_config(up);
		else
			t->unlisted = true;
		return;
	}
	if (!is_read(up)) {
		note_sets(up, sql, up->m + here);
		note_long(up, TEXT_RUNS);
		return;
	}
	const uint32_t effects = relay_effects(up);
	const bool leaves = (effects & EFFECT_WORDS) != 0;

	if ((effects & (EFFECT_WORDS | EFFECT_MATTERS)) != 0)
		note_sets(up, sql, up->m + here);
	t->draws = t->draws || (effects & EFFECT_ADDS) != 0;
	keep_note_other(up->s);
	if (!leaves && is_harmless(up)) {
		t->local++;
		if ((effects & EFFECT_SEVERAL) == 0)
			return;
	} else if (keep_note_text(up->c, up->s, sql, n)) {
		return;
	}
	if (leaves && note_leaves(up->s, effects))
		t->marked = true;
	t->binds = false;
	if (learn(up, &(struct dialect_text){ sql, n, effects, 0 }) != 0)
		note_found(t, CUSTOM_UNKNOWN);	/* EXECUTE ... USING */
}

/* Of an unnamed Parse, whose name ends at nul; or NULL. */
static void note_text(const struct relay_up *up, const uint8_t *nul)
{
	const uint8_t *const end = up->m + up->size;
	const uint8_t *const last = nul != up->m + MSG_HEADER || !up->named ?
	    NULL :
	    memchr(nul + 1, '\0', (size_t)(end - nul - 1));

	if (last != NULL)
		(void)keep_note_text(up->c, up->s, (const char *)nul + 1,
		    (size_t)(last - nul));
}

/* The name of a Parse ends at nul; or NULL. */
static void learn_parse(struct relay_up *up, const uint8_t *nul)
{
	struct server *const s = up->s;
	const bool named = nul != up->m + MSG_HEADER;

	if (nul == NULL) {
		s->trace.unlisted = true;
		return;
	}
	const uint32_t bound = learn(up, &(struct dialect_text){ nul + 1,
		(size_t)(up->m + up->size - nul - 1), relay_effects(up), 0 });

	if (!named) {
		s->keep.bound = bound;
		s->trace.binds = bound != 0;
	} else if (!up->named && bound != 0) {
		/* of what only the server knows no Bind is read */
		note_found(&s->trace, CUSTOM_UNKNOWN);
	}
}

/* What has a name of ours is looked at when it is whole; see prepared.c. */
static void watch_long_parse(struct relay_up *up, const uint8_t *nul)
{
	const bool unnamed = nul == up->m + MSG_HEADER;

	keep_note_other(up->s);
	if (nul == NULL || !up->named || unnamed) {
		if (nul != NULL)
			note_sets(up, (const char *)nul + 1, up->m +
			    (up->have < up->size ? up->have : up->size));
		note_long(up, unnamed ? TEXT_WAITS : TEXT_LASTS);
	}
	if (unnamed)
		up->s->keep.bound = 0;
}

void relay_watch_parse(struct relay_up *up)
{
	const size_t here = up->have < up->size ? up->have : up->size;
	const uint8_t *const body = up->m + MSG_HEADER;
	const uint8_t *const nul = !up->watched || here <= MSG_HEADER ? NULL :
	    memchr(body, '\0', here - MSG_HEADER);

	if (!up->watched)
		return;
	if (!is_read(up)) {
		watch_long_parse(up, nul);
		return;
	}
	const bool named = nul != body;

	learn_parse(up, nul);
	keep_note_other(up->s);
	const uint32_t effects = relay_effects(up);
	const bool leaves = (effects & EFFECT_WORDS) != 0;

	/* what has a name of ours is noted when it is bound */
	if ((!named || !up->named) && nul != NULL &&
	    (effects & (EFFECT_WORDS | EFFECT_MATTERS)) != 0)
		note_sets(up, (const char *)nul + 1, up->m + here);
	const bool draws = (!named || !up->named) &&
	    (effects & EFFECT_ADDS) != 0;

	up->s->trace.draws = up->s->trace.draws || draws;
	if (!leaves) {
		/* what takes the numbers away would drop the statement */
		up->s->trace.waits = up->s->trace.waits || (draws && !named);
		note_text(up, nul);
		return;
	}
	/* a named statement may be executed later, by a client that is known */
	if ((!up->named || !named) && note_leaves(up->s, effects))
		up->s->trace.marked = true;
	up->s->trace.waits = up->s->trace.waits || !named;
	up->s->trace.unnamed = up->s->trace.unnamed || !named;
	/* ... or is not */
	if (!up->named && named)
		up->s->trace.lasting = true;
}

bool relay_watch_is_cut(const struct relay_up *up, uint32_t bound)
{
	return up->watched && bound != 0 && up->have < up->size &&
	    up->size <= SQL_TEXT_MAX;
}

enum relay_step relay_watch_unnamed_bind(const struct relay_up *up)
{
	const uint8_t *const body = up->m + MSG_HEADER;
	const uint8_t *const end = up->m +
	    (up->have < up->size ? up->have : up->size);
	const uint8_t *const portal = end <= body ? NULL :
	    memchr(body, '\0', (size_t)(end - body));

	if (relay_watch_is_cut(up, up->s->keep.bound))
		return RELAY_SHORT;
	if (portal == NULL || portal + 1 == end)
		note_found(&up->s->trace, CUSTOM_UNKNOWN);
	else if (portal[1] == '\0')
		learn_bind(up, portal + 2, up->s->keep.bound);
	return RELAY_NEXT;
}

/* Is a Bind at hand that names its statement? Of a part, maybe. */
static bool binds_other(const struct relay_up *up)
{
	const uint8_t *const portal = up->m + MSG_HEADER;
	const size_t n = (up->have < up->size ? up->have : up->size) -
	    MSG_HEADER;
	const uint8_t *const nul = memchr(portal, '\0', n);

	return nul == NULL || nul + 1 == portal + n || nul[1] != '\0';
}

bool relay_watch_waits(const struct relay_up *up)
{
	struct trace *const t = &up->s->trace;

	/* a Bind may be of another one, or has to wait itself */
	t->waits = up->m[0] != FE_QUERY && up->m[0] != FE_FUNCTION_CALL &&
	    (up->m[0] != FE_BIND || binds_other(up) ||
	    !relay_own_is_there(up->c, up->s));
	return t->waits;
}

void relay_watch_bind(const struct relay_up *up, const struct prepared *stmt,
    const uint8_t *values)
{
	struct trace *const t = &up->s->trace;

	keep_note_other(up->s);
	const uint32_t effects = stmt->effects;

	if ((effects & PREPARED_TELLS) == 0)
		return;
	note_words(up->s, effects);
	t->marked = t->marked || (effects & EFFECT_LEAVES) != 0;
	t->draws = t->draws || (effects & EFFECT_ADDS) != 0;
	t->calls = t->calls ||
	    (effects & (EFFECT_NAMES | EFFECT_LEAVES)) == EFFECT_NAMES;
	const struct dialect_text text = { stmt->body, stmt->len, effects,
		runs_at_once(up) };

	dialect_note(up->s, &text);
	/* a Bind of a few bytes is not to cost a look at a megabyte */
	if (prepared_text_is_long(stmt->len)) {
		t->unread = true;
		if (up->c->brought != NULL && (effects & EFFECT_RESETS) != 0)
			keep_resets_note(up->c, up->s,
			    &(struct keep_resets_text){ .sql = text.sql,
				.n = SQL_TEXT_MAX });
		return;
	}
	keep_resets_note(up->c, up->s, &(struct keep_resets_text){
		.sql = text.sql, .n = text.n, .effects = effects,
		.values = is_read(up) ? values : NULL, .values_len =
		    is_read(up) ? (size_t)(up->m + up->size - values) : 0 });
	/* by whomever, and wherever, it was prepared */
	(void)learn(up, &text);
	if (stmt->bound != 0)
		learn_bind(up, values, stmt->bound);
}

void relay_watch_untold(const struct relay_down *d)
{
	struct trace *const t = &d->s->trace;

	if (d->s->own_query != OWN_QUERY_NONE || !relay_watches(d->s->ps.pool))
		return;
	t->drawn = true;
	/* a DO that has failed may have committed anything before */
	if (d->m[0] == BE_ERROR_RESPONSE)
		t->unlisted = t->unlisted || t->marked;
}

/* Of a client that is pinned: may it have what pins it no more? */
static bool unpins(const char *tag)
{
	static const char *const first[] = { "CLOSE", "DEALLOCATE", "UNLISTEN",
		"DROP", "DISCARD", "ROLLBACK" };

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (strncmp(tag, first[i], strlen(first[i])) == 0)
			return true;
	return false;
}

/* What may concern the channels of a client that listens. */
static void watch_channels(const struct relay_down *d, const char *tag)
{
	static const char *const tags[] = { "LISTEN", "UNLISTEN",
		"DISCARD ALL" };
	struct keep *const k = &d->s->keep;

	if (d->c == NULL || d->c->listening == NULL ||
	    !keep_is_on(d->s->ps.pool))
		return;
	if (strcmp(tag, "UNLISTEN") == 0)
		d->s->trace.marked = true;
	for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
		if (strcmp(tag, tags[i]) == 0)
			d->s->trace.listens = true;
	if (k->brought == BROUGHT_INSIDE && strcmp(tag, "ROLLBACK") == 0)
		k->undone = true;
}

void relay_watch_tag(const struct relay_down *d)
{
	const struct track *const t = &d->s->track;
	const char *const tag = (const char *)d->m + MSG_HEADER;
	const unsigned left = t->count;

	if (d->s->own_query != OWN_QUERY_NONE ||
	    !relay_watches(d->s->ps.pool) ||
	    d->m[d->size - 1] != '\0')
		return;
	dialect_note_tag(d->s, tag);
	if (strcmp(tag, "ROLLBACK") == 0)
		keep_resets_undo(d->s);
	watch_channels(d, tag);
	if (d->s->keep.pins != 0 && unpins(tag))
		d->s->trace.marked = true;
	trace_tag(&d->s->trace, tag, left == 1 ||
	    (left == 2 && track_req(t, 1)->type == FE_SYNC));
}
