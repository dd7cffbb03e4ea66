/* prepared.c - prepared statements: texts, clients' names, servers' lists.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/num.h"
#include "proto/baggage.h"
#include "proto/custom.h"
#include "proto/prepared_op.h"
#include "proto/sql_back.h"
#include "sql/sql.h"
#include "sql/sql_leave.h"
#include "sql/sql_words.h"

#define PREFIX "PGBOUNCER_"

struct prepared_table {
	struct slots *by_text;		/* not counted */
	struct prepared *retired;	/* uthash, by name; not counted */
	struct prepared *unused;		/* DL list: in use by servers,
						 * by no client */
	uint64_t last;			/* number of the newest name */
	unsigned step;			/* from one to the next */
	size_t bytes;
};

struct prepared_table *prepared_table_new(void)
{
	struct prepared_table *const t = mem_zalloc(sizeof *t);

	if (t != NULL)
		t->step = 1;
	return t;
}

void prepared_table_divide(struct prepared_table *t, unsigned at, unsigned of)
{
	t->last = at;
	t->step = of;
}

void prepared_table_free(struct prepared_table **tp)
{
	if (*tp != NULL)
		mem_free((*tp)->by_text);
	mem_free(*tp);
	*tp = NULL;
}

size_t prepared_table_count(const struct prepared_table *t)
{
	return slots_count(t->by_text);
}

size_t prepared_table_bytes(const struct prepared_table *t)
{
	return t->bytes;
}

void prepared_table_note(struct prepared_table *t, long bytes)
{
	t->bytes += (size_t)bytes;
}

/* Long texts are not shared: nobody looks for them. */
static uint32_t body_hash(const struct prepared_text *text)
{
	return text->hash != 0 ? text->hash : hash_bytes(text->body,
	    prepared_text_is_long(text->len) ? SQL_TEXT_MAX : text->len);
}

static uint32_t text_hash(const struct prepared_text *text)
{
	return body_hash(text) ^ (uint32_t)((uintptr_t)text->dialect >> 4);
}

static struct prepared_text text_of(const struct prepared *p)
{
	return (struct prepared_text){ p->dialect, p->body, p->len, p->hash,
		p->effects };
}

/* Equal dialects are one pointer. */
static bool is_text(const void *item, const void *key)
{
	const struct prepared *const p = item;
	const struct prepared_text *const text = key;

	return p->dialect == text->dialect && p->len == text->len &&
	    memcmp(p->body, text->body, text->len) == 0;
}

struct prepared *prepared_lookup(struct prepared_table *t,
    struct prepared_text text)
{
	struct prepared *const p = slots_find(t->by_text, text_hash(&text),
	    is_text, &text);

	return p == NULL ? NULL : prepared_ref(p);
}

bool prepared_text_is_long(size_t len)
{
	return len > SQL_TEXT_MAX;
}

#define LONG_MAX_READ (1 << 18)	/* bytes of a text: some milliseconds at most */

/* A text that is too long to be read may do anything but what its words exclude. */
static uint32_t long_effects(const void *body, size_t len)
{
	uint32_t any = sql_effects_long(body, len);
	const uint32_t words = EFFECT_WORDS | EFFECT_LEAVES | EFFECT_HIDES |
	    EFFECT_MAKES | EFFECT_MAY_OPEN;
	struct sql_long l = { .what = 0 };

	/* the words that change a schema may stand behind what that has read */
	if (len > LONG_MAX_READ || sql_may_change_schema(body, len))
		any |= EFFECT_SCHEMA;
	if (len > LONG_MAX_READ)
		return any;
	sql_long_take(&l, body, len);
	sql_long_end(&l);
	return (any & ~words) | l.what;
}

uint32_t prepared_text_effects(const struct prepared_text *text)
{
	if (text->effects != 0)
		return text->effects;
	return prepared_text_is_long(text->len) ?
	    long_effects(text->body, text->len) :
	    sql_effects(text->body, text->len);
}

/* A new one, which is named after number, and in neither map yet. */
static struct prepared *make(struct prepared_table *t, uint64_t number,
    struct prepared_text text)
{
	const void *const body = text.body;
	const size_t len = text.len;
	struct prepared *p = mem_new(MEM_STATEMENT, sizeof *p + len);

	if (p == NULL)
		return NULL;
	memset(p, 0, sizeof *p);
	p->table = t;
	p->refs = 1;
	baggage_put(&p->dialect, text.dialect);
	p->len = (uint32_t)len;
	p->hash = body_hash(&text);
	memcpy(p->body, body, len);
	p->name_len = (uint8_t)(snprintf(p->name, sizeof p->name,
	    PREFIX "%" PRIu64, number) + 1);
	p->number = (uint32_t)number;
	p->effects = prepared_text_effects(&text);
	p->bound = (p->effects & EFFECT_NAMES) == 0 ? 0 :
	    custom_bound(body, len);
	t->bytes += prepared_text_bytes(len);
	return p;
}

/* p is found by its text, or its name, no more. */
static void delist(struct prepared *p)
{
	const struct prepared_text text = text_of(p);

	if (!p->retired)
		slots_remove(&p->table->by_text, text_hash(&text), p);
	else if (p->hh.tbl != NULL)
		HASH_DELETE(hh, p->table->retired, p);
}

static void destroy(struct prepared *p)
{
	p->table->bytes -= prepared_text_bytes(p->len);
	baggage_unref(&p->dialect);
	mem_delete(MEM_STATEMENT, p, sizeof *p + p->len);
}

/* Put p where it can be found. NULL: no memory, and p is freed. */
static struct prepared *enlist(struct prepared *p)
{
	struct prepared_table *const t = p->table;
	const struct prepared_text text = text_of(p);
	bool done;

	if (p->retired) {
		HASH_ADD_KEYPTR(hh, t->retired, p->name, p->name_len, p);
		done = p->hh.tbl != NULL;
	} else {
		done = slots_add(&t->by_text, text_hash(&text), p) == 0;
	}
	if (done)
		return p;
	destroy(p);
	return NULL;
}

struct prepared *prepared_get(struct prepared_table *t,
    struct prepared_text text)
{
	struct prepared *p = prepared_lookup(t, text);

	if (p != NULL)
		return p;
	p = make(t, t->last += t->step, text);
	return p == NULL ? NULL : enlist(p);
}

struct prepared *prepared_get_apart(struct prepared_table *t,
    struct prepared_text text)
{
	text.dialect = NULL;
	struct prepared *const p = make(t, t->last += t->step, text);

	if (p == NULL)
		return NULL;
	p->retired = true;
	return enlist(p);
}

uint64_t prepared_last(const struct prepared_table *t)
{
	return t->last;
}

void prepared_skip(struct prepared_table *t, uint64_t last)
{
	/* in whole steps: it gives no name of another one's */
	if (last > t->last)
		t->last += (last - t->last + t->step - 1) / t->step * t->step;
}

static void set_unused(struct prepared *p, bool unused)
{
	if (p->unused && !unused)
		DL_DELETE(p->table->unused, p);
	else if (!p->unused && unused)
		DL_APPEND(p->table->unused, p);
	p->unused = unused;
}

/* An adopted statement comes without names of clients. */
static struct prepared *adopt(struct prepared *p, bool retired)
{
	if (p == NULL)
		return NULL;
	p->retired = retired;
	if (enlist(p) == NULL)
		return NULL;
	set_unused(p, true);
	return p;
}

static struct prepared *find_retired(const struct prepared_table *t,
    const char *name)
{
	struct prepared *p = NULL;

	HASH_FIND(hh, t->retired, name, (unsigned)strlen(name) + 1, p);
	return p;
}

/* NULL: it has no name of ours. */
static struct prepared *make_called(struct prepared_table *t, const char *name,
    struct prepared_text text)
{
	const size_t prefix = sizeof PREFIX - 1;
	int64_t number;

	if (strncmp(name, PREFIX, prefix) != 0 || name[prefix] < '1' ||
	    name[prefix] > '9' || num_parse_i64(name + prefix, &number) < 0)
		return NULL;
	prepared_skip(t, (uint64_t)number);
	return make(t, (uint64_t)number, text);
}

struct prepared *prepared_adopt(struct prepared_table *t, const char *name,
    struct prepared_text text)
{
	struct prepared *const live = prepared_lookup(t, text);
	const bool known = live != NULL || find_retired(t, name) != NULL;

	prepared_unref(live);
	return known ? prepared_adopt_retired(t, name, text) :
	    adopt(make_called(t, name, text), false);
}

struct prepared *prepared_adopt_retired(struct prepared_table *t,
    const char *name, struct prepared_text text)
{
	struct prepared *const live = prepared_lookup(t, text);
	struct prepared *const p = find_retired(t, name);

	/* of several workers one may keep apart what another has by that name */
	if (live != NULL && strcmp(live->name, name) == 0)
		return live;
	prepared_unref(live);
	if (p != NULL)
		return is_text(p, &text) ? prepared_ref(p) : NULL;
	return adopt(make_called(t, name, text), true);
}

struct prepared *prepared_ref(struct prepared *p)
{
	p->refs++;
	return p;
}

void prepared_unref(struct prepared *p)
{
	if (p == NULL || --p->refs > 0)
		return;
	delist(p);
	set_unused(p, false);
	destroy(p);
}

void prepared_retire(struct prepared *p)
{
	if (p->retired)
		return;
	delist(p);
	p->retired = true;
	p->hh.tbl = NULL;
	/* without memory p is not found: no caller relies on finding p here */
	HASH_ADD_KEYPTR(hh, p->table->retired, p->name, p->name_len, p);
}

/* --- names --- */

static uint32_t name_hash(const char *name)
{
	return hash_bytes(name, strnlen(name, PREPARED_NAME_KEPT));
}

bool prepared_name_is(const char *kept, const char *name)
{
	return strncmp(kept, name, PREPARED_NAME_KEPT) == 0;
}

/* Keep as much of it as counts; to has room. */
static void copy_name(char *to, const char *name)
{
	const size_t n = strnlen(name, PREPARED_NAME_KEPT);

	memcpy(to, name, n);
	to[n] = '\0';
}

static bool is_called(const void *item, const void *name)
{
	return prepared_name_is(((const struct prepared_name *)item)->name,
	    name);
}

struct prepared_name *prepared_name_find(const struct slots *map,
    const char *name)
{
	return map == NULL ? NULL :
	    slots_find(map, name_hash(name), is_called, name);
}

static size_t name_size(const char *name)
{
	return sizeof(struct prepared_name) +
	    strnlen(name, PREPARED_NAME_KEPT) + 1;
}

/* A map is filled to three eighths at least, but for the smallest. */
size_t prepared_name_bytes(const char *name)
{
	return name_size(name) + sizeof(struct slot) * 8 / 3;
}

/* sign 1: the name has come, -1: goes. Names count in the table's bytes. */
static void count_name(const struct prepared_name *n, int sign)
{
	const long bytes = sign * (long)prepared_name_bytes(n->name);

	n->stmt->table->bytes += (size_t)bytes;
	mem_note(MEM_STATEMENT, 0, bytes);
}

/* Nobody can ask for p again: where it is, it is the first to go. */
static void let_go_first(struct prepared *p)
{
	struct prepared_use *use;

	DL_FOREACH2(p->uses, use, also_next) {
		DL_DELETE(use->owner->lru, use);
		DL_PREPEND(use->owner->lru, use);
	}
}

void prepared_let_go(struct prepared *p)
{
	if (p->names == 0) {
		set_unused(p, true);
		let_go_first(p);
	}
	prepared_unref(p);
}

/* stmt has one name less. */
static void leave(struct prepared *stmt)
{
	if (--stmt->names == 0) {
		set_unused(stmt, true);
		if (stmt->retired && !stmt->kept)
			let_go_first(stmt);
	}
	prepared_unref(stmt);
}

static void name_free(struct prepared_name *n)
{
	count_name(n, -1);
	leave(n->stmt);
	mem_free(n);
}

static void join(struct prepared_name *n, struct prepared *stmt)
{
	n->stmt = prepared_ref(stmt);
	stmt->names++;
	set_unused(stmt, false);
}

void prepared_name_move(struct prepared_name *n, struct prepared *to)
{
	struct prepared *const old = n->stmt;

	join(n, to);
	leave(old);
}

int prepared_name_add(struct slots **map, const char *name,
    struct prepared *stmt)
{
	struct prepared_name *n = mem_alloc(name_size(name));

	if (n == NULL)
		return -1;
	if (slots_add(map, name_hash(name), n) < 0) {
		mem_free(n);
		return -1;
	}
	n->lost = false;
	n->told = (struct prepared_shape){ 0 };
	copy_name(n->name, name);
	join(n, stmt);
	count_name(n, 1);
	return 0;
}

const char *prepared_name_of(const struct slots *map, const char *server_name,
    size_t len)
{
	const struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(map, &at)) != NULL) {
		if (n->stmt->name_len == len + 1 &&
		    memcmp(n->stmt->name, server_name, len) == 0)
			return n->name;
	}
	return NULL;
}

void prepared_name_remove(struct slots **map, const char *name)
{
	struct prepared_name *const n = prepared_name_find(*map, name);

	if (n == NULL)
		return;
	slots_remove(map, name_hash(name), n);
	name_free(n);
}

void prepared_name_clear(struct slots **map)
{
	struct prepared_name *n;
	unsigned at = 0;

	while ((n = slots_next(*map, &at)) != NULL)
		name_free(n);
	mem_free(*map);
	*map = NULL;
}

/* --- what servers have --- */

static bool is_of(const void *item, const void *stmt)
{
	return ((const struct prepared_use *)item)->stmt == stmt;
}

static struct prepared_use *find_use(const struct prepared_uses *u,
    const struct prepared *stmt)
{
	return slots_find(u->by_stmt, stmt->number, is_of, stmt);
}

struct prepared_use *prepared_uses_touch(struct prepared_uses *u,
    struct prepared *stmt)
{
	if (u->lru != NULL && u->lru->prev->stmt == stmt)
		return u->lru->prev;	/* newest already */
	struct prepared_use *const use = find_use(u, stmt);

	if (use == NULL)
		return NULL;
	DL_DELETE(u->lru, use);
	DL_APPEND(u->lru, use);
	return use;
}

int prepared_uses_add(struct prepared_uses *u, struct prepared *stmt)
{
	struct prepared_use *use = mem_new(MEM_STATEMENT_USE, sizeof *use);

	if (use == NULL)
		return -1;
	if (slots_add(&u->by_stmt, stmt->number, use) < 0) {
		mem_delete(MEM_STATEMENT_USE, use, sizeof *use);
		return -1;
	}
	use->stmt = prepared_ref(stmt);
	use->world = NULL;
	use->shape = (struct prepared_shape){ 0 };
	use->generation = 0;
	DL_APPEND(u->lru, use);
	use->owner = u;
	DL_APPEND2(stmt->uses, use, also_prev, also_next);
	stmt->use_count++;
	u->count++;
	return 0;
}

void prepared_outdate(struct prepared *p)
{
	struct prepared_use *use;

	DL_FOREACH2(p->uses, use, also_next)
		use->generation = 0;
}

static void use_free(struct prepared_uses *u, struct prepared_use *use)
{
	slots_remove(&u->by_stmt, use->stmt->number, use);
	DL_DELETE(u->lru, use);
	DL_DELETE2(use->stmt->uses, use, also_prev, also_next);
	use->stmt->use_count--;
	u->count--;
	prepared_world_free(&use->world);
	prepared_unref(use->stmt);
	mem_delete(MEM_STATEMENT_USE, use, sizeof *use);
}

void prepared_uses_remove(struct prepared_uses *u, struct prepared *stmt)
{
	struct prepared_use *const use = find_use(u, stmt);

	if (use != NULL)
		use_free(u, use);
}

struct prepared *prepared_uses_find(const struct prepared_uses *u,
    uint32_t number)
{
	for (struct prepared_use *use = u->lru; use != NULL; use = use->next)
		if (use->stmt->number == number)
			return use->stmt;
	return NULL;
}

void prepared_uses_clear(struct prepared_uses *u)
{
	while (u->lru != NULL)
		use_free(u, u->lru);
	u->forgotten = 0;
}

/* The last use that goes takes p along. */
static void forget(struct prepared *p)
{
	for (unsigned n = p->use_count; n > 0; n--) {
		p->uses->owner->forgotten++;
		use_free(p->uses->owner, p->uses);
	}
}

size_t prepared_text_bytes(size_t len)
{
	return sizeof(struct prepared) + len;
}

bool prepared_table_make_room(struct prepared_table *t, size_t bytes,
    size_t limit)
{
	struct prepared *p = t->unused, *next;

	if (limit == 0)
		return true;
	for (; p != NULL && t->bytes + bytes > limit; p = next) {
		next = p->next;
		/* a request in flight may still need it */
		if (p->refs == p->use_count)
			forget(p);
	}
	return t->bytes + bytes <= limit;
}
