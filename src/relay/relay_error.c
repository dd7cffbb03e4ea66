/* relay_error.c - what the server says of statements, as the client knows them.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"
#include "proto/track.h"
#include "relay/relay_columns.h"
#include "relay/relay_parts.h"
#include "relay/relay_repeat.h"
#include "relay/relay_schema.h"

/* Is this field, NUL included, in the error at hand? */
static bool has_field(const struct relay_down *d, const char *field)
{
	return memmem(d->m, d->size, field, strlen(field) + 1) != NULL;
}

/*
 * Somebody was to write, on what is, or has become, read-only: nobody else shall
 * meet with it. What the host is its next login tells.
 */
static void note_read_only(const struct relay_down *d)
{
	const enum session_attrs attrs = d->s->ps.pool->limits.attrs;

	if ((attrs == ATTRS_READ_WRITE || attrs == ATTRS_PRIMARY) &&
	    has_field(d, "C" ERRCODE_READ_ONLY_SQL_TRANSACTION))
		d->s->ps.close_needed = true;
}

/*
 * The session is that of a role that was dropped, though there may be one of
 * that name again: PostgreSQL will say so to whoever has the server next.
 */
static void note_lost_role(const struct relay_down *d)
{
	static const struct {
		const char *code, *routine;
	} says[] = {
		/* current_user, session_user: invalid role OID */
		{ "C" ERRCODE_UNDEFINED_OBJECT, "RGetUserNameFromId" },
		/* ... TO CURRENT_USER: cache lookup failed for role */
		{ "CXX000", "Rget_rolespec_tuple" },
	};

	for (size_t i = 0; i < sizeof says / sizeof *says; i++)
		if (has_field(d, says[i].code) &&
		    has_field(d, says[i].routine))
			d->s->ps.close_needed = true;
}

void relay_note_error(struct relay_down *d)
{
	note_read_only(d);
	note_lost_role(d);
}

/* The client's name that we have the server refuse, as change says; or NULL. */
static const char *refused_name(const struct relay_down *d, unsigned change)
{
	const struct prepared_op *op = track_is_empty(&d->s->track) ? NULL :
	    track_op(&d->s->track, 0);

	return op != NULL && (op->changes & change) != 0 ? op->name : NULL;
}

/* s lacks what the request that failed is about, but its client may go on. */
static void relay_error_note_lost(struct relay_down *d, const char *name)
{
	const uint32_t number = track_head_tag(&d->s->track);
	struct prepared *const stmt = number == 0 ? NULL :
	    prepared_uses_find(&d->s->prepared, number);
	struct prepared_name *const n = name == NULL ? NULL :
	    prepared_name_find(d->c->statements, name);

	if (stmt != NULL)
		prepared_uses_remove(&d->s->prepared, stmt);
	if (n != NULL)
		n->lost = true;
}

/*
 * The server has a statement that we don't count with, or lacks one, as after
 * a DEALLOCATE ALL inside of a function, or by our name, maybe of another client.
 * Nobody else shall have it.
 */
static void distrust(struct relay_down *d, const char *client_name)
{
	if (client_name == d->c->relay.dealloc.name ||
	    refused_name(d, PREPARED_UNKNOWN | PREPARED_TAKEN) != NULL ||
	    (!has_field(d, "C26000") && !has_field(d, "C42P05")))
		return;
	d->s->ps.close_needed = true;
	if (has_field(d, "C26000"))
		relay_error_note_lost(d, client_name);
}

/* The statement of ours that the request at the head is about, or NULL. */
static struct prepared *head_statement(const struct track *t,
    const struct prepared_uses *uses)
{
	const uint32_t number = track_head_tag(t);
	const struct prepared_op *const op = track_is_empty(t) ? NULL :
	    track_op(t, 0);

	return number != 0 ? prepared_uses_find(uses, number) :
	    op == NULL ? NULL : op->stmt;
}

/* Would the text perhaps not fail so if it were parsed now? */
static bool may_be_outdated(const struct relay_down *d)
{
	static const char *const codes[] = { ERRCODE_NUMERIC_OUT_OF_RANGE,
		ERRCODE_INVALID_BINARY_REPRESENTATION };
	struct report r;

	if (report_parse(&r, d->m + MSG_HEADER, d->size - MSG_HEADER) < 0)
		return false;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(r.code, codes[i]) == 0)
			return true;
	/* columns, functions, types: all of class 42 but rights */
	return strncmp(r.code, "42", 2) == 0 &&
	    strcmp(r.code, ERRCODE_INSUFFICIENT_PRIVILEGE) != 0;
}

/* PostgreSQL will say so till it is prepared again. (schema changes) */
static void note_stale(struct relay_down *d)
{
	struct prepared *const stmt = head_statement(&d->s->track,
	    &d->s->prepared);

	if (stmt != NULL && may_be_outdated(d))
		prepared_outdate(stmt);
	if (stmt == NULL || !(relay_lacks_type(d) || (has_field(d, "C0A000") &&
	    has_field(d, "RRevalidateCachedQuery"))))
		return;
	prepared_retire(stmt);
	/* somebody has done that, maybe unseen */
	relay_schema_changed(d->s);
}

/* Does the error's SQLSTATE allow that it names a prepared statement? */
static bool is_about_statement(const struct relay_down *d)
{
	return has_field(d, "C08P01") || has_field(d, "C26000") ||
	    has_field(d, "C42P05");
}

/* The client's name for the statement that the server calls so, or NULL. */
static const char *client_name(const struct relay_down *d, const char *name,
    size_t len)
{
	static const char dummy[] = PREPARED_NAME_DUMMY;
	static const char unknown[] = PREPARED_NAME_UNKNOWN;

	if (len == sizeof unknown - 1 && memcmp(name, unknown, len) == 0)
		return refused_name(d, PREPARED_UNKNOWN);
	if (len == sizeof dummy - 1 && memcmp(name, dummy, len) == 0) {
		const char *const taken = refused_name(d, PREPARED_TAKEN);

		return taken != NULL ? taken : d->c->relay.dealloc.name;
	}
	/* of what it closed, or has otherwise by now, the oldest: the request
	 * that failed now is ahead of that, or is a Describe by that name */
	for (unsigned i = 0; i < d->s->track.count; i++) {
		const struct prepared_op *op = track_op(&d->s->track, i);

		if (op != NULL && (op->changes & (PREPARED_UNNAMED |
		    PREPARED_MOVED | PREPARED_WAS |
		    (i == 0 ? PREPARED_TOLD : 0))) != 0 &&
		    op->stmt != NULL && op->stmt->name_len == len + 1 &&
		    memcmp(op->stmt->name, name, len) == 0)
			return op->name;
	}
	return prepared_name_of(d->c->statements, name, len);
}

/*
 * The server complains of a statement by our name for it: the client is told
 * its own. NULL if that is not so, and the message unchanged.
 */
static const char *rename_error(struct relay_down *d)
{
	static const char ours[] = "\"PGBOUNCER_";
	const uint8_t *end = d->m + d->size;
	const uint8_t *at = memmem(d->m, d->size, ours, sizeof ours - 1);
	const uint8_t *quote = at == NULL ? NULL :
	    memchr(at + 1, '"', (size_t)(end - at - 1));
	const char *name = quote == NULL ? NULL : client_name(d,
	    (const char *)at + 1, (size_t)(quote - at - 1));
	uint8_t head[MSG_HEADER];

	if (name == NULL)
		return NULL;
	const size_t size = d->size - (size_t)(quote - at - 1) + strlen(name);

	head[0] = d->m[0];
	msg_put_u32(head + 1, (uint32_t)(size - 1));
	outbox_copy(&d->out, head, sizeof head);
	outbox_pass(&d->out, d->m + MSG_HEADER,
	    (size_t)(at + 1 - d->m) - MSG_HEADER);
	/* copied, as the reply may be what ends its life */
	outbox_copy_all(&d->out, name, strlen(name));
	outbox_pass(&d->out, quote, (size_t)(end - quote));
	return name;
}

/* Does the server say of a Parse that change is about what it was to say? */
static bool is_refusal(const struct relay_down *d, unsigned change,
    const char *code)
{
	const struct prepared_op *op = track_is_empty(&d->s->track) ? NULL :
	    track_op(&d->s->track, 0);

	return op != NULL && (op->changes & change) != 0 && has_field(d, code);
}

bool relay_reword_error(struct relay_down *d)
{
	if (is_refusal(d, PREPARED_REFUSED, "C42601")) {
		relay_send_refusal(&d->out, d->c);
		return true;
	}
	if (is_refusal(d, PREPARED_CHANGED, "C42703")) {
		relay_send_changed(&d->out, d->c);
		return true;
	}
	note_stale(d);
	const char *name = is_about_statement(d) ? rename_error(d) : NULL;

	if (name == NULL)
		return false;
	distrust(d, name);
	return true;
}
