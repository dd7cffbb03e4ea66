/* keep_resets.c - which of a client's defaults a statement may have reset.
 * SPDX-License-Identifier: ISC */
#include "session/keep_resets.h"

#include <string.h>
#include <strings.h>

#include "proto/baggage.h"
#include "proto/sql_leave.h"
#include "session/client.h"
#include "session/server.h"

#define LAST 31		/* of the bits, for it and all that follow */

static bool is_inner(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
	    (ch >= '0' && ch <= '9') || ch == '_' || ch == '$' ||
	    (uint8_t)ch >= 0x80;
}

/* A word, in any case, anywhere in n bytes; not nullif, default_x. */
static bool has(const char *sql, size_t n, const char *word)
{
	const size_t size = strlen(word);

	for (size_t i = 0; i + size <= n; i++)
		if (strncasecmp(sql + i, word, size) == 0 &&
		    (i == 0 || !is_inner(sql[i - 1])) &&
		    (i + size == n || !is_inner(sql[i + size])))
			return true;
	return false;
}

static bool has_one(const char *sql, size_t n, const char *const *words)
{
	while (*words != NULL && !has(sql, n, *words))
		words++;
	return *words != NULL;
}

/* The last part, as "a"."b" is a.b, too. RESET ALL leaves the role. */
static bool names(const char *sql, size_t n, const char *name)
{
	static const char *const of_role[] = { "role", "authorization",
		"discard", NULL };
	const char *const dot = strrchr(name, '.');

	return dot == NULL ? has_one(sql, n, of_role) :
	    has(sql, n, dot + 1) || has(sql, n, "all");
}

/* Of those only it can't be told; others RESET gives a value that is not theirs. */
static bool is_doubtful(const char *name)
{
	return strchr(name, '.') != NULL || strcmp(name, "role") == 0;
}

/* SET x TO DEFAULT and set_config(..., NULL) reset, too; but not SET LOCAL. */
void keep_resets_note(const struct client *c, struct server *s, const char *sql,
    size_t n)
{
	static const char *const words[] = { "reset", "default", "null",
		"discard", NULL };
	struct baggage_pair pair;
	const char *at = NULL;

	if (c->brought == NULL || (sql_is_local(sql, n) &&
	    sql_is_single(sql, n)))
		return;
	for (unsigned i = 0; baggage_next(c->brought, &at, &pair);
	    i += i < LAST)
		if (is_doubtful(pair.name) && names(sql, n, pair.name) &&
		    has_one(sql, n, words))
			s->keep.resets |= 1u << i;
}

void keep_resets_note_any(struct server *s)
{
	s->keep.resets = UINT32_MAX;
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
