/* keep_resets.c - which values of the start-up packet a statement may have
 * reset.
 * SPDX-License-Identifier: ISC */
#include "state/keep_resets.h"

#include <string.h>
#include <strings.h>

#include "proto/baggage.h"
#include "proto/sql_back.h"
#include "session/client.h"
#include "session/server.h"
#include "sql/effects.h"

#define LAST 31		/* the last bit stands for this value and all that
			 * follow */

/*
 * Only for these a RESET looks like a SET. For others, RESET gives a value that
 * the client does not have.
 */
static bool is_doubtful(const char *name)
{
	return strchr(name, '.') != NULL || strcmp(name, "role") == 0;
}

struct asks {
	const struct client *c;
	bool discards;		/* DISCARD ALL resets the role, too */
};

/*
 * The role changes with session_authorization. RESET ALL ("") does not reset
 * it.
 */
static bool concerns(const struct asks *a, const char *change, const char *name)
{
	const bool role = strcmp(name, "role") == 0;

	if (change[0] == '\0')
		return !role || a->discards;
	return strcasecmp(change, name) == 0 || (role &&
	    strcasecmp(change, "session_authorization") == 0);
}

/*
 * A bit for each value that the client brought and that the change may reset.
 */
static uint64_t bits(const struct sql_back *b, const char *change)
{
	const struct asks *const a = b->of;
	struct baggage_pair pair;
	const char *at = NULL;
	uint64_t all = 0;

	for (unsigned i = 0; baggage_next(a->c->brought, &at, &pair);
	    i += i < LAST)
		if ((is_doubtful(pair.name) || b->strict) &&
		    concerns(a, change, pair.name))
			all |= UINT64_C(1) << i;
	return all;
}

/* In session mode no probe follows, so only certain effects are noted. */
static struct sql_back read_text(const struct client *c, const struct server *s,
    const struct keep_resets_text *t)
{
	struct asks a = { .c = c };
	struct sql_back b = { .bit = bits, .of = &a, .values = t->values,
		.len = t->values_len, .strict = s->ps.mode == POOL_SESSION };

	if (c->brought == NULL)
		return b;
	a.discards = (t->effects & EFFECT_FORGETS) != 0 &&
	    (t->effects & EFFECT_SEVERAL) == 0;
	sql_back_read(&b, t->sql, t->n);
	b.of = NULL;
	return b;
}

bool keep_resets_some(const struct client *c, const struct server *s,
    const struct keep_resets_text *t)
{
	return read_text(c, s, t).back != 0;
}

void keep_resets_note(const struct client *c, struct server *s,
    const struct keep_resets_text *t)
{
	const struct sql_back b = read_text(c, s, t);

	s->keep.resets &= ~(uint32_t)(b.set & ~(UINT64_C(1) << LAST));
	s->keep.resets |= (uint32_t)b.back;
}

void keep_resets_undo(struct server *s)
{
	s->keep.resets = 0;
}

bool keep_resets_had(const struct client *c, const struct server *s,
    const char *name)
{
	struct baggage_pair pair;
	const char *at = NULL;

	if (c->brought == NULL)
		return false;
	for (unsigned i = 0; baggage_next(c->brought, &at, &pair);
	    i += i < LAST)
		if (strcmp(pair.name, name) == 0)
			return (s->keep.resets >> i & 1) != 0;
	return false;
}

int keep_resets_bring(const struct client *c, struct server *s)
{
	const uint32_t resets = s->keep.resets;
	struct baggage_pair pair;
	const char *at = NULL;
	int rc = 0;

	s->keep.resets = 0;
	for (unsigned i = 0; c->brought != NULL && s->keep.has != NULL &&
	    baggage_next(c->brought, &at, &pair); i += i < LAST)
		if ((resets >> i & 1) != 0 &&
		    baggage_forget(&s->keep.has, pair.name) < 0)
			rc = -1;
	return rc;
}
