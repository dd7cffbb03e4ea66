/* unnamed.c - texts that are prepared without a name, again and again.
 *
 * Which texts come again is told by a hash of each: programs that put values
 * into their texts are to push nobody out.
 * SPDX-License-Identifier: ISC */
#include "proto/unnamed.h"

#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"

#define SEEN 4096	/* hashes; a power of two */

struct text {
	struct prepared *stmt;		/* counted */
	UT_hash_handle hh;		/* by its body; the oldest first */
};

struct unnamed {
	struct text *texts;
	uint32_t seen[SEEN];
};

struct unnamed *unnamed_new(void)
{
	return mem_zalloc(sizeof(struct unnamed));
}

static void drop(struct unnamed *u, struct text *t)
{
	HASH_DELETE(hh, u->texts, t);
	t->stmt->kept = false;
	prepared_let_go(t->stmt);
	mem_free(t);
}

bool unnamed_clear(struct unnamed *u)
{
	const bool any = u != NULL && u->texts != NULL;

	while (any && u->texts != NULL)
		drop(u, u->texts);
	return any;
}

bool unnamed_make_room(struct unnamed *u, struct prepared_table *t,
    size_t bytes, size_t limit)
{
	return prepared_table_make_room(t, bytes, limit) ||
	    (unnamed_clear(u) && prepared_table_make_room(t, bytes, limit));
}

void unnamed_free(struct unnamed **up)
{
	(void)unnamed_clear(*up);
	mem_free(*up);
	*up = NULL;
}

static struct text *find(const struct unnamed *u, const void *body, size_t len)
{
	struct text *t = NULL;

	HASH_FIND(hh, u->texts, body, (unsigned)len, t);
	return t;
}

struct prepared *unnamed_find(const struct unnamed *u, const void *body,
    size_t len)
{
	const struct text *const t = find(u, body, len);

	return t == NULL ? NULL : t->stmt;
}

bool unnamed_is_again(struct unnamed *u, const void *body, size_t len)
{
	const uint32_t hash = hash_bytes(body, len) | 1;
	uint32_t *const at = &u->seen[(hash >> 8) & (SEEN - 1)];
	const bool again = *at == hash;

	*at = hash;
	return again;
}

struct prepared *unnamed_add(struct unnamed *u, struct prepared_table *t,
    const void *body, size_t len)
{
	struct text *const new = mem_zalloc(sizeof *new);

	if (new == NULL)
		return NULL;
	new->stmt = prepared_get_apart(t, prepared_plain(body, len));
	if (new->stmt != NULL)
		HASH_ADD_KEYPTR(hh, u->texts, new->stmt->body, new->stmt->len,
		    new);
	if (new->stmt == NULL || new->hh.tbl == NULL) {
		prepared_unref(new->stmt);
		mem_free(new);
		return NULL;
	}
	new->stmt->kept = true;
	if (HASH_COUNT(u->texts) > UNNAMED_TEXTS)
		drop(u, u->texts);
	return new->stmt;
}

struct prepared *unnamed_replace(struct unnamed *u, struct prepared *old)
{
	struct text *const t = find(u, old->body, old->len);
	struct prepared_table *const table = old->table;

	prepared_ref(old);
	if (t != NULL && t->stmt == old)
		drop(u, t);
	struct prepared *const now = find(u, old->body, old->len) != NULL ?
	    unnamed_find(u, old->body, old->len) :
	    unnamed_add(u, table, old->body, old->len);

	prepared_unref(old);
	return now;
}

size_t unnamed_count(const struct unnamed *u)
{
	return HASH_COUNT(u->texts);
}
