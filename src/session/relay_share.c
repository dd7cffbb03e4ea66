/* relay_share.c - with whom a client may share the statement that it prepares.
 * SPDX-License-Identifier: ISC */
#include "session/relay_share.h"

#include <string.h>

#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/sql_dialect.h"
#include "proto/sql_schema.h"
#include "proto/track_look.h"
#include "session/flight.h"
#include "session/relay_prepared.h"
#include "session/sessions.h"

/* --- what is ahead --- */

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
		return sql_may_set(n->stmt->body, n->stmt->len);
	return name == NULL || name[0] != '\0' || !up->parsed;
}

/*
 * What the message may set. What it runs was ahead of the burst, unless that was
 * seen in it.
 */
static bool may_set(struct relay_up *up, const uint8_t *m, size_t size)
{
	const char *const end = (const char *)m + size;
	const char *const name = relay_string_at(m + MSG_HEADER,
	    size - MSG_HEADER);
	const bool unnamed = name != NULL && name[0] == '\0';

	switch (m[0]) {
	case FE_PARSE:
		up->parsed = up->parsed || unnamed;
		return sql_may_set(m + MSG_HEADER, size - MSG_HEADER);
	case FE_QUERY:
		return sql_may_set(m + MSG_HEADER, size - MSG_HEADER);
	case FE_BIND:
		up->bound = up->bound || unnamed;
		return name == NULL || may_bind_set(up, name, end);
	case FE_EXECUTE:
		return !unnamed || !up->bound;
	default:
		return m[0] == FE_FUNCTION_CALL;
	}
}

/* What came in this burst ahead of the message at hand is looked at once. */
static void look_ahead(struct relay_up *up)
{
	struct server *const s = up->s;

	if (track_is_empty(&s->track))
		return;
	while (!s->schema_changed && up->seen < up->m) {
		const size_t size = msg_size(up->seen, up->max);

		s->schema_changed = sql_may_change_schema(
		    up->seen + MSG_HEADER, size - MSG_HEADER);
		up->sets = up->sets || may_set(up, up->seen, size);
		up->seen += size;
	}
}

/* Has s told all that is in force, but for what we have sent ahead? */
static bool is_told(const struct server *s)
{
	return track_is_empty(&s->track) ? s->track.ready : flight_is_fresh(s);
}

/* --- who shares it --- */

static enum relay_step look(struct relay_up *up, bool plain,
    struct share *out)
{
	struct server *const s = up->s;

	look_ahead(up);
	*out = (struct share){ .dialect = NULL,
		.apart = s->schema_changed || s->dialect.unseen };
	if (out->apart || (plain && !dialect_is_strict(up->c, s)))
		return RELAY_NEXT;
	if (!is_told(s) && up->owed && track_awaits_ready(&s->track))
		return relay_wait(up);
	if (is_told(s) || (up->told && !up->sets))
		out->dialect = dialect_of(up->c, s);
	out->apart = out->dialect == NULL;
	return RELAY_NEXT;
}

enum relay_step relay_share_look(struct relay_up *up, const void *body,
    size_t len, struct share *out)
{
	return look(up, sql_is_plain(body, len), out);
}

enum relay_step relay_share_again(struct relay_up *up,
    const struct prepared *stmt, struct share *out)
{
	return look(up, stmt->plain, out);
}

/* What is retired, and has no dialect, is the client's own. */
bool relay_share_is(const struct share *sh, const struct prepared *stmt)
{
	return stmt->dialect == NULL && stmt->retired ? true :
	    !sh->apart && sh->dialect == stmt->dialect;
}

struct prepared *relay_share_find(const struct relay_up *up,
    const struct share *sh, const void *body, size_t len)
{
	return sh->apart ? NULL : prepared_lookup(up->c->ss->prepared,
	    (struct prepared_text){ sh->dialect, body, len });
}

struct prepared *relay_share_get(const struct relay_up *up,
    const struct share *sh, const void *body, size_t len)
{
	struct prepared_table *const t = up->c->ss->prepared;
	const bool apart = sh->apart || (sh->dialect != NULL &&
	    sql_reads_clock(body, len));

	return apart ? prepared_get_apart(t, body, len) :
	    prepared_get(t, (struct prepared_text){ sh->dialect, body, len });
}

void relay_share_note(struct relay_up *up, const struct prepared *stmt)
{
	if (stmt->dialect != NULL && !is_told(up->s))
		up->s->dialect.amid = true;
}
