/* keep_resets.c - which of a client's defaults a statement may have reset.
 * SPDX-License-Identifier: ISC */
#include "session/keep_resets.h"

#include <string.h>
#include <strings.h>

#include "proto/baggage.h"
#include "proto/sql.h"
#include "proto/sql_leave.h"
#include "session/client.h"
#include "session/server.h"

#define LAST 31		/* of the bits, for it and all that follow */

/* Of those only it can't be told; others RESET gives a value that is not theirs. */
static bool is_doubtful(const char *name)
{
	return strchr(name, '.') != NULL || strcmp(name, "role") == 0;
}

struct change {
	enum sql_change what;
	const char *name;	/* "": RESET ALL, which leaves the role, or */
	bool discards;		/* DISCARD ALL */
};

/* The role follows who acts. */
static bool concerns(const struct change *change, const char *name)
{
	const bool role = strcmp(name, "role") == 0;

	if (change->name[0] == '\0')
		return !role || change->discards;
	return strcasecmp(change->name, name) == 0 || (role &&
	    strcasecmp(change->name, "session_authorization") == 0);
}

/* All that c has come with, and that the change is of. */
static void note(const struct client *c, struct server *s,
    const struct change *change)
{
	struct baggage_pair pair;
	const char *at = NULL;

	for (unsigned i = 0; baggage_next(c->brought, &at, &pair);
	    i += i < LAST) {
		if ((!is_doubtful(pair.name) && s->ps.mode != POOL_SESSION) ||
		    !concerns(change, pair.name))
			continue;
		if (change->what == SQL_RESETS)
			s->keep.resets |= 1u << i;
		else if (i < LAST)
			s->keep.resets &= ~(1u << i);
	}
}

void keep_resets_note(const struct client *c, struct server *s, const char *sql,
    size_t n)
{
	const char *const end = sql + n, *at = sql;
	char name[SQL_PARAMETER_MAX];
	struct change change = { .name = name };

	if (c->brought == NULL)
		return;
	change.discards = sql_forgets_all(sql, n) && sql_is_single(sql, n);
	while ((change.what = sql_next_change(&at, end, name)) != SQL_NO_CHANGE)
		note(c, s, &change);
	change.discards = false;
	at = sql;
	while ((change.what = sql_next_call(&at, end, name)) != SQL_NO_CHANGE)
		note(c, s, &change);
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
