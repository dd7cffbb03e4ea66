/* relay_schema.c - what a client changes of schemas, and what it prepares then.
 *
 * What is prepared behind such a change may mean something else than the same
 * text at others: a work table that hides theirs, or what is rolled back.
 * (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#include "session/relay_schema.h"

#include <stdbool.h>
#include <string.h>

#include "proto/msg.h"
#include "session/relay_parts.h"
#include "session/sessions.h"

void relay_schema_share(struct sessions *ss, struct sessions *first)
{
	ss->schemas = first == NULL ? NULL : &first->own_schemas;
}

uint64_t relay_schema_changes(const struct sessions *ss)
{
	return atomic_load_explicit(ss->schemas != NULL ?
	    &ss->schemas->changes : &ss->own_schemas.changes,
	    memory_order_acquire);
}

void relay_schema_changed(struct server *s)
{
	struct sessions *const ss = s->ss;

	atomic_fetch_add_explicit(ss->schemas != NULL ?
	    &ss->schemas->changes : &ss->own_schemas.changes, 1,
	    memory_order_acq_rel);
}

static bool begins(const struct relay_down *d, const char *text)
{
	const size_t n = strlen(text);

	return d->size > MSG_HEADER + n &&
	    memcmp(d->m + MSG_HEADER, text, n) == 0;
}

void relay_schema_end(struct server *s)
{
	if (s->schema_open)
		relay_schema_changed(s);
	s->schema_open = false;
}

void relay_schema_tag(const struct relay_down *d)
{
	/* what a body does, no tag tells; nor do rights, but for who may look */
	static const char *const others[] = { "GRANT", "REVOKE", "DO", "CALL",
		"REASSIGN" };
	struct server *const s = d->s;

	/* a CREATE TABLE AS and a SELECT INTO have no columns */
	if (begins(d, "CREATE ") || begins(d, "ALTER ") || begins(d, "DROP ") ||
	    begins(d, "IMPORT ") ||
	    (begins(d, "SELECT ") && d->rows_end != d->m))
		s->schema_changed = s->schema_open = true;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		s->schema_open = s->schema_open || begins(d, others[i]);
	/* or a COMMIT */
	if (s->schema_open)
		relay_schema_changed(s);
}
