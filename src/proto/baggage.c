/* baggage.c - settings of a session as immutable sets; equal sets are shared.
 * SPDX-License-Identifier: ISC */
#include "proto/baggage.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "sql/sql_words.h"

#define PAIRS_MAX 2000
#define COLUMNS_MAX 500		/* of a SELECT; PostgreSQL has 1664 */

struct baggage {
	UT_hash_handle hh;
	struct baggage_table *table;	/* borrowed */
	unsigned refs;
	bool expires, reads;
	size_t len;
	char bytes[];			/* sorted by name */
};

struct baggage_table {
	struct baggage *sets;		/* uthash, by their bytes */
	struct baggage *empty;		/* owned */
};

/* --- sets --- */

static bool has_unseen(const struct baggage *b)
{
	struct baggage_pair pair;
	const char *at = NULL;

	while (baggage_next(b, &at, &pair))
		if (sql_is_unseen(pair.name))
			return true;
	return false;
}

static struct baggage *baggage_add(struct baggage_table *t, const char *bytes,
    size_t len)
{
	struct baggage *const b = mem_alloc(sizeof *b + len);

	if (b == NULL)
		return NULL;
	b->table = t;
	b->refs = 1;
	b->len = len;
	if (len > 0)
		memcpy(b->bytes, bytes, len);
	const char *const limit = baggage_find(b, "idle_session_timeout");

	b->expires = limit != NULL && strcmp(limit, "0") != 0;
	b->reads = has_unseen(b);
	HASH_ADD_KEYPTR(hh, t->sets, b->bytes, (unsigned)len, b);
	if (b->hh.tbl == NULL) {
		mem_free(b);
		return NULL;
	}
	mem_note(MEM_SETTING, 1, (long)(sizeof *b + len));
	return b;
}

struct baggage_table *baggage_table_new(void)
{
	struct baggage_table *t = mem_zalloc(sizeof *t);

	if (t == NULL)
		return NULL;
	t->empty = baggage_add(t, "", 0);
	if (t->empty == NULL)
		baggage_table_free(&t);
	return t;
}

void baggage_table_free(struct baggage_table **tp)
{
	struct baggage_table *const t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	baggage_unref(&t->empty);
	mem_free(t);
}

struct baggage *baggage_empty(struct baggage_table *t)
{
	return baggage_ref(t->empty);
}

struct baggage *baggage_ref(struct baggage *b)
{
	b->refs++;
	return b;
}

void baggage_unref(struct baggage **bp)
{
	struct baggage *const b = *bp;

	*bp = NULL;
	if (b == NULL || --b->refs > 0)
		return;
	HASH_DELETE(hh, b->table->sets, b);
	mem_delete(MEM_SETTING, b, sizeof *b + b->len);
}

void baggage_put(struct baggage **to, struct baggage *b)
{
	if (b != NULL)
		baggage_ref(b);
	baggage_unref(to);
	*to = b;
}

const char *baggage_bytes(const struct baggage *b, size_t *len)
{
	*len = b->len;
	return b->bytes;
}

/* The pair at, and where the next one is; NULL: the pair has no end. */
static const char *read_pair(const char *at, const char *end,
    struct baggage_pair *out)
{
	const char *const value = memchr(at, '\0', (size_t)(end - at));
	const char *const last = value == NULL ? NULL : memchr(value + 1, '\0',
	    (size_t)(end - value - 1));

	if (last == NULL)
		return NULL;
	*out = (struct baggage_pair){ at, value + 1 };
	return last + 1;
}

bool baggage_next(const struct baggage *b, const char **at,
    struct baggage_pair *out)
{
	const char *const from = *at == NULL ? b->bytes : *at;

	if (from == b->bytes + b->len)
		return false;
	*at = read_pair(from, b->bytes + b->len, out);
	return true;
}

const char *baggage_find(const struct baggage *b, const char *name)
{
	struct baggage_pair pair;
	const char *at = NULL;

	while (baggage_next(b, &at, &pair))
		if (strcmp(pair.name, name) == 0)
			return pair.value;
	return NULL;
}

bool baggage_reads(const struct baggage *b)
{
	return b->reads;
}

bool baggage_expires(const struct baggage *b)
{
	return b->expires;
}

/* Of equal names the first one stays in front. */
static int baggage_compare(const void *a, const void *b)
{
	const struct baggage_pair *const x = a, *const y = b;
	const int rc = strcmp(x->name, y->name);

	return rc != 0 ? rc : x->name < y->name ? -1 : 1;
}

/* How many pairs; -1: the bytes are not of such, or too many. */
static int read_pairs(const char *at, size_t len, struct baggage_pair *pairs)
{
	const char *const end = at + len;
	int n = 0;

	for (; at < end; n++) {
		if (n == PAIRS_MAX)
			return -1;
		at = read_pair(at, end, &pairs[n]);
		if (at == NULL)
			return -1;
	}
	return n;
}

/* Sorted, each name once. */
static void write_pairs(const struct baggage_pair *pairs, int n,
    struct writer *w)
{
	for (int i = 0; i < n; i++) {
		if (i > 0 && strcmp(pairs[i].name, pairs[i - 1].name) == 0)
			continue;
		writer_str(w, pairs[i].name);
		writer_str(w, pairs[i].value);
	}
}

static struct baggage *intern(struct baggage_table *t, const struct writer *w)
{
	struct baggage *b = NULL;

	if (w->failed)
		return NULL;
	if (w->len == 0)
		return baggage_empty(t);
	HASH_FIND(hh, t->sets, w->at, (unsigned)w->len, b);
	return b != NULL ? baggage_ref(b) :
	    baggage_add(t, (const char *)w->at, w->len);
}

struct baggage *baggage_get(struct baggage_table *t, const void *bytes,
    size_t len)
{
	struct baggage_pair *const pairs = len > BAGGAGE_BYTES ? NULL :
	    mem_alloc(PAIRS_MAX * sizeof *pairs);
	const int n = pairs == NULL ? -1 : read_pairs(bytes, len, pairs);
	struct baggage *b = NULL;
	struct writer w;

	if (n >= 0) {
		qsort(pairs, (size_t)n, sizeof *pairs, baggage_compare);
		writer_init(&w, BAGGAGE_BYTES);
		write_pairs(pairs, n, &w);
		b = intern(t, &w);
		writer_fini(&w);
	}
	mem_free(pairs);
	return b;
}

int baggage_forget(struct baggage **bp, const char *name)
{
	struct baggage_pair pair;
	const char *at = NULL;
	struct writer w;

	if (baggage_find(*bp, name) == NULL)
		return 0;
	writer_init(&w, BAGGAGE_BYTES);
	while (baggage_next(*bp, &at, &pair)) {
		if (strcmp(pair.name, name) == 0)
			continue;
		writer_str(&w, pair.name);
		writer_str(&w, pair.value);
	}
	struct baggage *b = intern((*bp)->table, &w);

	writer_fini(&w);
	if (b == NULL)
		return -1;
	baggage_unref(bp);
	*bp = b;
	return 0;
}

/* --- SQL --- */

static void baggage_write_text(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

/* Is s the same inside of quotes, in any encoding and whatever is set? */
static bool baggage_is_simple(const char *s)
{
	while (*s >= ' ' && *s <= '~' && *s != '\'' && *s != '\\')
		s++;
	return *s == '\0';
}

static void baggage_write_value(struct writer *w, const char *value,
    const char *encoding)
{
	static const char digits[] = "0123456789abcdef";

	if (baggage_is_simple(value)) {
		writer_u8(w, '\'');
		baggage_write_text(w, value);
		writer_u8(w, '\'');
		return;
	}
	baggage_write_text(w, "pg_catalog.convert_from(pg_catalog.decode('");
	for (const char *s = value; *s != '\0'; s++) {
		writer_u8(w, (uint8_t)digits[(uint8_t)*s >> 4]);
		writer_u8(w, (uint8_t)digits[(uint8_t)*s & 15]);
	}
	baggage_write_text(w, "','hex'),'");
	baggage_write_text(w, encoding != NULL &&
	    baggage_is_simple(encoding) ? encoding : "SQL_ASCII");
	baggage_write_text(w, "')");
}

/* One SELECT after the other, of as many columns as there can be. */
struct selects {
	struct writer *w;
	const char *encoding, *before;	/* of what is wanted, and there */
	unsigned columns;
};

static void begin_column(struct selects *s)
{
	struct writer *const w = s->w;

	if (s->columns == COLUMNS_MAX)
		s->columns = 0;
	if (s->columns == 0 && w->len > 0 && w->at[w->len - 1] != ';')
		writer_u8(w, ';');
	baggage_write_text(w, s->columns++ == 0 ? "SELECT " : ",");
	baggage_write_text(w, "pg_catalog.set_config(");
}

/* value NULL: RESET. */
static void write_set(struct selects *s, const char *name, const char *value)
{
	struct writer *const w = s->w;

	begin_column(s);
	baggage_write_value(w, name, value == NULL ? s->before : s->encoding);
	writer_u8(w, ',');
	if (value == NULL)
		baggage_write_text(w, "NULL");
	else
		baggage_write_value(w, value, s->encoding);
	baggage_write_text(w, ",false)");
}

/* How default_text_search_config is written depends on it, when that is set. */
#define QUOTES "quote_all_identifiers"

/* Is name no setting, or one that has its own place? */
static bool is_apart(const char *name)
{
	return name[0] == '\0' || strcmp(name, "role") == 0 ||
	    strcmp(name, QUOTES) == 0;
}

static bool baggage_same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_custom(const char *name)
{
	return strchr(name, '.') != NULL;
}

/* What a session has of name, where a set lacks it; NULL: what RESET gives. */
static const char *find_base(const struct baggage_change *g, const char *name)
{
	return g->base == NULL || !(is_custom(name) ||
	    strcmp(name, "role") == 0) ? NULL : baggage_find(g->base, name);
}

/* What want lacks. A custom parameter is never unset again, only empty. */
static void write_lacking(struct selects *s, const struct baggage_change *g,
    const struct baggage_pair *have)
{
	const char *const base = find_base(g, have->name);
	const char *const encoding = s->encoding;

	if (base == NULL) {
		if (!g->whole || !is_custom(have->name) ||
		    have->value[0] != '\0')
			write_set(s, have->name, NULL);
		return;
	}
	if (baggage_same(base, have->value) && baggage_is_simple(base))
		return;
	s->encoding = baggage_find(g->base, BAGGAGE_ENCODING);
	write_set(s, have->name, base);
	s->encoding = encoding;
}

/* A name in another encoding is the same one, maybe, as a name that is wanted. */
static void write_recoded(struct selects *s, const struct baggage *have)
{
	struct baggage_pair b;
	const char *at = NULL;

	while (baggage_next(have, &at, &b))
		if (!is_apart(b.name) && !baggage_is_simple(b.name))
			write_set(s, b.name, NULL);
}

/* want and have are sorted. */
static void baggage_write_others(struct selects *s,
    const struct baggage_change *g)
{
	const char *at[2] = { NULL, NULL };
	struct baggage_pair a, b;
	bool is_a = baggage_next(g->want, &at[0], &a);
	bool is_b = baggage_next(g->have, &at[1], &b);
	const bool recoded = !baggage_same(s->encoding, s->before);

	if (recoded)
		write_recoded(s, g->have);
	while (is_a || is_b) {
		const int order = !is_a ? 1 : !is_b ? -1 :
		    strcmp(a.name, b.name);
		const char *const had = order > 0 ? NULL : order == 0 ?
		    b.value : find_base(g, a.name);

		if (order <= 0 && !is_apart(a.name) &&
		    (!baggage_same(a.value, had) ||
			((recoded || order < 0) &&
			    !(baggage_is_simple(a.value) &&
				baggage_is_simple(a.name)))))
			write_set(s, a.name, a.value);
		if (order > 0 && !is_apart(b.name) &&
		    !(recoded && !baggage_is_simple(b.name)))
			write_lacking(s, g, &b);
		if (order <= 0)
			is_a = baggage_next(g->want, &at[0], &a);
		if (order >= 0)
			is_b = baggage_next(g->have, &at[1], &b);
	}
}

/* The role of a set; NULL: what RESET gives. */
static const char *role_of(const struct baggage_change *g,
    const struct baggage *b)
{
	const char *const own = baggage_find(b, "role");

	return own != NULL ? own : find_base(g, "role");
}

/* PostgreSQL asks nobody for the right to RESET it. */
static void write_role(struct selects *s, const struct baggage_change *g,
    const char *role)
{
	const bool resets = role == NULL || (g->pristine &&
	    baggage_same(role, find_base(g, "role")));

	write_set(s, "role", resets ? NULL : role);
}

#define ASIDE "'pgsluice.role'"

/*
 * No role, in a transaction that is open: only the server knows the one to give
 * back. For the rest of it both are local, so its end leaves what its client set.
 */
static void put_role_aside(struct selects *s)
{
	begin_column(s);
	baggage_write_text(s->w, ASIDE ",pg_catalog.current_setting('role'),"
	    "true)");
	begin_column(s);
	baggage_write_text(s->w, "'role','none',true)");
}

static void give_role_back(struct selects *s)
{
	begin_column(s);
	baggage_write_text(s->w, "'role',pg_catalog.current_setting(" ASIDE
	    "),true)");
}

/* Its client goes on: what guards the SETs is not for the rest of a transaction. */
static void write_guards(struct selects *s, const struct baggage_change *g,
    bool stays)
{
	struct writer *const w = s->w;

	/* a time-out of whoever was there last is not for these */
	if (!g->open && baggage_find(g->have, "statement_timeout") != NULL)
		baggage_write_text(w, "SET LOCAL statement_timeout=0");
	if (stays && g->open)
		put_role_aside(s);
	else if (stays)
		baggage_write_text(w, w->len > 0 ? ";SET LOCAL ROLE NONE" :
		    "SET LOCAL ROLE NONE");
}

void baggage_write_sql(const struct baggage_change *g, struct writer *w)
{
	/* who acts has got the role of the base, if that is his */
	const char *const own_role = baggage_find(g->want, "role");
	const char *const role = role_of(g, g->want);
	const char *before = role_of(g, g->have);
	struct writer own;
	struct selects s = { &own, baggage_find(g->want, BAGGAGE_ENCODING),
		baggage_find(g->have, BAGGAGE_ENCODING), 0 };

	if (g->want == g->have && g->actor == NULL)
		return;
	writer_init(&own, w->cap);
	const bool stays = g->actor == NULL && g->goes_on &&
	    baggage_same(role, before);
	const bool acts = g->actor == NULL && before != NULL &&
	    !baggage_same(before, "none");

	write_guards(&s, g, stays);
	const size_t guard = own.len;

	/* whoever departed has no role any more: see params.h */
	if (acts && !stays) {
		write_set(&s, "role", "none");
		before = "none";
	}
	const char *const quotes = baggage_find(g->want, QUOTES);

	if (baggage_find(g->have, QUOTES) != NULL)
		write_set(&s, QUOTES, NULL);
	baggage_write_others(&s, g);
	if (quotes != NULL)
		write_set(&s, QUOTES, quotes);
	if (g->actor != NULL) {
		if (own.len > 0)
			writer_u8(&own, ';');
		baggage_write_text(&own, g->actor);
		s.columns = COLUMNS_MAX;
	}
	if (g->actor == NULL ? !baggage_same(role, before) : own_role != NULL)
		write_role(&s, g, role);
	if (own.len > guard && stays && g->open)
		give_role_back(&s);
	if (own.len > guard || own.failed) {
		writer_bytes(w, own.at, own.len);
		writer_u8(w, 0);
		w->failed = w->failed || own.failed;
	}
	writer_fini(&own);
}
