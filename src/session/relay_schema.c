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

static bool begins(const struct relay_down *d, const char *text)
{
	const size_t n = strlen(text);

	return d->size > MSG_HEADER + n &&
	    memcmp(d->m + MSG_HEADER, text, n) == 0;
}

void relay_schema_tag(const struct relay_down *d)
{
	if (begins(d, "CREATE ") || begins(d, "ALTER ") || begins(d, "DROP "))
		d->s->schema_changed = true;
}
