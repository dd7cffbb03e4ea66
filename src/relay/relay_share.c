/* relay_share.c - with whom a client may share the statement that it prepares.
 * SPDX-License-Identifier: ISC */
#include "relay/relay_share.h"

#include <string.h>

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/track.h"
#include "relay/relay_prepared.h"
#include "relay/relay_schema.h"
#include "session/flight.h"
#include "session/sessions.h"
#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_words.h"

/* --- what is ahead --- */

/* A text is sent, behind others that may set something (sets). */
static bool may_set_by(const struct relay_up *up, uint32_t effects, bool sets)
{
	const struct dialect *const d = &up->s->dialect;

	return (effects & EFFECT_MAY_SET) != 0 ||
	    ((effects & EFFECT_ENDS) != 0 && (sets || d->inside || d->trails));
}

/* Of a Bind: behind the name of the portal stands that of the statement. */
static bool may_bind_set(const struct relay_up *up, const char *portal,
    const char *end)
{
	const char *const at = portal + strlen(portal) + 1;
	const char *const name = relay_string_at((const uint8_t *)at,
	    (size_t)(end - at));
	const struct prepared_name *const n = name == NULL ? NULL :
	    prepared_name_find(up->c->statements, name);

	if (n != NULL)
		return may_set_by(up, n->stmt->effects, up->sets);
	return name == NULL || name[0] != '\0' || !up->parsed;
}

/* A message that was sent, and its text, if it has one. */
struct sent {
	const uint8_t *m;
	size_t size;
	const char *name;	/* of what it is about; or NULL */
	const char *sql;	/* or NULL */
	size_t n;		/* bytes of it */
	uint32_t effects;	/* ... and what it may do */
};

static struct sent read_sent(const struct relay_up *up, const uint8_t *m,
    size_t size)
{
	const char *const body = (const char *)m + MSG_HEADER;
	const char *const end = (const char *)m + size;
	struct sent out = { .m = m, .size = size,
		.name = relay_string_at(m + MSG_HEADER, size - MSG_HEADER) };

	if (m[0] == FE_QUERY)
		out.sql = body;
	else if (m[0] == FE_PARSE && out.name != NULL)
		out.sql = body + strlen(body) + 1;
	if (out.sql == NULL)
		return out;
	out.n = (size_t)(end - out.sql);
	out.effects = relay_effects_of(up, out.sql, out.n);
	return out;
}

/* A text that runs; what it calls may set something, too. */
static bool may_text_set(struct relay_up *up, const struct sent *sent)
{
	up->calls = up->calls || memchr(sent->sql, '(', strnlen(sent->sql,
	    sent->n)) != NULL;
	return may_set_by(up, sent->effects, false);
}

/*
 * What the message may set. What it runs was ahead of the burst, unless that was
 * seen in it.
 */
static bool may_set(struct relay_up *up, const struct sent *sent)
{
	const char *const name = sent->name;

	switch (sent->m[0]) {
	case FE_PARSE:
		if (name != NULL && name[0] != '\0')
			return false;	/* its Bind does */
		up->parsed = true;
		return name == NULL || may_text_set(up, sent);
	case FE_QUERY:
		return may_text_set(up, sent);
	case FE_BIND:
		up->bound = (const uint8_t *)name;
		up->calls = true;
		return name == NULL || may_bind_set(up, name,
		    (const char *)sent->m + sent->size);
	case FE_EXECUTE:
		return name == NULL || up->bound == NULL ||
		    strcmp(name, (const char *)up->bound) != 0;
	case FE_SYNC:
		/* behind an error none of that has come about */
		up->parsed = false;
		up->bound = NULL;
		return false;
	default:
		return sent->m[0] == FE_FUNCTION_CALL;
	}
}

/* A value of a Bind may be SQL that a function runs. */
static bool may_change_schema(const struct sent *sent)
{
	return sent->sql != NULL ? (sent->effects & EFFECT_SCHEMA) != 0 :
	    sql_may_change_schema(sent->m + MSG_HEADER,
	    sent->size - MSG_HEADER);
}

/* What came in this burst ahead of the message at hand is looked at once. */
static void look_ahead(struct relay_up *up)
{
	struct server *const s = up->s;

	if (track_is_empty(&s->track))
		return;
	while (up->seen < up->m) {
		const struct sent sent = read_sent(up, up->seen,
		    msg_size(up->seen, up->max));

		if (s->schema_changed != SCHEMA_CHANGED &&
		    may_change_schema(&sent))
			relay_schema_may_change(s);
		up->sets = up->sets || may_set(up, &sent);
		up->seen += sent.size;
	}
}

/* Has s told all that is in force, but for what we have sent ahead? */
static bool is_told(const struct server *s)
{
	return track_is_empty(&s->track) ? s->track.ready :
	    track_is_answered(&s->track) || flight_is_fresh(s);
}

/* --- who shares it --- */

/*
 * May s read it in another dialect than is known, by what is ahead? A Parse does
 * for sure: what calls a function is taken for one that sets. A Bind may.
 */
static bool is_open(const struct relay_up *up, bool parses)
{
	const struct dialect *const d = &up->s->dialect;

	if (up->told)
		return up->sets || (parses && up->calls);
	return parses || up->sets || d->pending || d->inside;
}

/* In which dialect, if it parses, or may? NULL: nobody knows. */
static enum relay_step find_dialect(struct relay_up *up, bool parses,
    struct baggage **out)
{
	struct server *const s = up->s;

	*out = NULL;
	if (s->dialect.unseen || s->dialect.astray || s->dialect.next != NULL)
		return RELAY_NEXT;
	if (!is_told(s)) {
		look_ahead(up);
		if (is_open(up, parses))
			return up->owed && track_awaits_ready(&s->track) ?
			    relay_wait(up) : RELAY_NEXT;
	}
	if (!dialect_is_known(up->c, s))
		return RELAY_NEXT;
	*out = dialect_of(up->c, s);
	return *out == NULL ? relay_no_memory(up) : RELAY_NEXT;
}

static struct prepared *look_up(const struct relay_up *up,
    const struct share *sh)
{
	if (sh->text.dialect == NULL)
		return NULL;
	if (sh->now != NULL && sh->now->dialect == sh->text.dialect)
		return prepared_ref(sh->now);
	return prepared_lookup(up->c->ss->prepared, sh->text);
}

/* Need the server read nothing? Behind a change of schemas it may not. */
static bool is_there(const struct relay_up *up, const struct share *sh)
{
	return prepared_uses_touch(&up->s->prepared, sh->stmt) != NULL &&
	    (sh->stmt == sh->now || up->s->schema_changed == SCHEMA_SAME);
}

enum relay_step relay_share_find(struct relay_up *up, struct share *sh)
{
	enum relay_step step;

	sh->stmt = NULL;
	sh->own = false;
	if (sh->now == NULL) {
		look_ahead(up);
		sh->own = up->s->schema_changed != SCHEMA_SAME;
	}
	if (sh->own)
		return RELAY_NEXT;
	step = find_dialect(up, false, &sh->text.dialect);
	if (step != RELAY_NEXT)
		return step;
	sh->stmt = look_up(up, sh);
	if (sh->stmt != NULL && is_there(up, sh))
		return RELAY_NEXT;
	prepared_unref(sh->stmt);
	sh->stmt = NULL;
	/* what is prepared now may be read by tables that others have not */
	sh->text.dialect = NULL;
	step = up->s->schema_changed != SCHEMA_SAME ? RELAY_NEXT :
	    find_dialect(up, true, &sh->text.dialect);
	if (step == RELAY_NEXT)
		sh->stmt = look_up(up, sh);
	return step;
}

struct prepared *relay_share_get(struct relay_up *up, struct share *sh)
{
	struct prepared_table *const t = up->c->ss->prepared;
	struct prepared_text *const text = &sh->text;

	if (sh->stmt != NULL)
		return sh->stmt;

	/* the words of a long one are read when it is kept */
	text->effects = sh->now != NULL ? sh->now->effects :
	    prepared_text_is_long(text->len) ? 0 :
	    up->size > SQL_TEXT_MAX ? prepared_text_effects(text) :
	    relay_effects(up);
	const bool momentary = prepared_text_is_long(text->len) ||
	    (text->effects & EFFECT_MOMENTARY) != 0;

	if (!sh->own && text->dialect != NULL && !momentary)
		return prepared_get(t, *text);
	struct prepared *const stmt = prepared_get_apart(t, *text);

	if (stmt != NULL)
		stmt->unsure = !sh->own && !momentary;
	return stmt;
}

/* Of a SET it is known what it does. */
void relay_share_note(struct relay_up *up, const struct prepared *stmt)
{
	if (stmt->dialect != NULL && (stmt->effects & EFFECT_MAY_SET) == 0)
		up->s->dialect.parsed = true;
}
