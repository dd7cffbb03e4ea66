/* params.c - tracked parameters as immutable sets; equal sets are shared.
 * SPDX-License-Identifier: ISC */
#include "proto/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/msg.h"
#include "proto/params_names.h"
#include "proto/params_sql.h"

struct params {
	UT_hash_handle hh;
	struct params_table *table;	/* borrowed */
	unsigned refs;
	uint8_t *status;	/* owned; its ParameterStatus messages, or NULL */
	size_t status_len;
	const char *value[];		/* interned; NULL = none */
};

struct params_table {
	struct intern *strings;		/* owned: names and values */
	struct params *sets;		/* uthash by the value pointers */
	struct params *empty;		/* owned: every client begins with it */
	struct params_names names;
};

/*
 * In place of a value that somebody may have changed without a report: an
 * address that no interned value has.
 */
static const char unknown[] = "?";

static struct params *intern_set(struct params_table *t, const char **value);

struct params_table *params_table_new(const char *extra)
{
	const char *none[PARAMS_MAX] = { NULL };
	struct params_table *t = mem_zalloc(sizeof *t);

	if (t == NULL)
		return NULL;
	t->strings = intern_new();
	if (t->strings != NULL &&
	    params_names_get(&t->names, t->strings, extra) == 0)
		t->empty = intern_set(t, none);
	if (t->empty == NULL)
		params_table_free(&t);
	return t;
}

void params_table_free(struct params_table **tp)
{
	struct params_table *t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	params_unref(&t->empty);
	params_names_put(&t->names, t->strings);
	intern_free(&t->strings);
	mem_free(t);
}

struct params_table *params_table_of(const struct params *p)
{
	return p->table;
}

int params_count(const struct params_table *t)
{
	return t->names.count;
}

bool params_reads(const struct params_table *t, int i)
{
	return params_names_are(&t->names, i, PARAMS_READ);
}

const char *params_name(const struct params_table *t, int i)
{
	return t->names.name[i];
}

int params_find(const struct params_table *t, const char *name)
{
	for (int i = 0; i < t->names.count; i++)
		if (text_casecmp(t->names.name[i], name) == 0)
			return i;
	return -1;
}

static size_t set_size(const struct params_table *t)
{
	return sizeof(struct params) + (size_t)t->names.count * sizeof(char *);
}

static struct params *add_set(struct params_table *t, const char **value)
{
	const size_t bytes = (size_t)t->names.count * sizeof *value;
	struct params *p = mem_new(MEM_PARAMS, set_size(t));

	if (p == NULL)
		return NULL;
	p->table = t;
	p->refs = 1;
	p->status = NULL;
	memcpy(p->value, value, bytes);
	HASH_ADD_KEYPTR(hh, t->sets, p->value, bytes, p);
	if (p->hh.tbl == NULL) {
		mem_delete(MEM_PARAMS, p, set_size(t));
		return NULL;
	}
	for (int i = 0; i < t->names.count; i++)
		if (value[i] != NULL && value[i] != unknown)
			intern_ref(value[i]);
	return p;
}

/* The set with these values, which are of the table; NULL: no memory. */
static struct params *intern_set(struct params_table *t, const char **value)
{
	struct params *p = NULL;

	HASH_FIND(hh, t->sets, value, (size_t)t->names.count * sizeof *value, p);
	return p != NULL ? params_ref(p) : add_set(t, value);
}

struct params *params_empty(struct params_table *t)
{
	return params_ref(t->empty);
}

struct params *params_ref(struct params *p)
{
	p->refs++;
	return p;
}

void params_unref(struct params **pp)
{
	struct params *p = *pp;

	*pp = NULL;
	if (p == NULL || --p->refs > 0)
		return;
	struct params_table *t = p->table;

	HASH_DELETE(hh, t->sets, p);
	mem_free(p->status);
	for (int i = 0; i < t->names.count; i++)
		if (p->value[i] != unknown)
			intern_put(t->strings, p->value[i]);
	mem_delete(MEM_PARAMS, p, set_size(t));
}

const char *params_get(const struct params *p, int i)
{
	return p->value[i];
}

/* Many clients have the same set: its messages are written once. */
static void keep_status(struct params *p, const uint8_t *at, size_t len)
{
	p->status = mem_alloc(len);
	if (p->status == NULL)
		return;
	memcpy(p->status, at, len);
	p->status_len = len;
}

void params_write_status(struct params *p, struct writer *w)
{
	const size_t from = w->len;

	if (p->status != NULL) {
		writer_bytes(w, p->status, p->status_len);
		return;
	}
	for (int i = 0; i < p->table->names.count; i++)
		if (p->value[i] != NULL)
			writer_parameter_status(w, p->table->names.name[i],
			    p->value[i]);
	if (p->refs > 1 && !w->failed && w->len > from)
		keep_status(p, w->at + from, w->len - from);
}

/* Replace *pp by the set of these values. */
static int replace(struct params **pp, const char **value)
{
	struct params *p = intern_set((*pp)->table, value);

	if (p == NULL)
		return -1;
	params_unref(pp);
	*pp = p;
	return 0;
}

int params_set(struct params **pp, int i, const char *value)
{
	const struct params *p = *pp;
	const char *v[PARAMS_MAX];
	struct intern *strings = p->table->strings;
	const char *mine = intern_get(strings, value);

	if (mine == NULL)
		return -1;
	for (int k = 0; k < p->table->names.count; k++)
		v[k] = k == i ? mine : p->value[k];
	const int rc = replace(pp, v);

	intern_put(strings, mine);
	return rc;
}

const char *params_unknown(void)
{
	return unknown;
}

struct params *params_of(struct params_table *t, const char *const *values)
{
	const char *v[PARAMS_MAX];
	struct params *p = NULL;
	int n = 0;

	for (; n < t->names.count; n++) {
		const bool own = values[n] == NULL || values[n] == unknown;

		v[n] = own ? values[n] : intern_get(t->strings, values[n]);
		if (!own && v[n] == NULL)
			break;
	}
	if (n == t->names.count)
		p = intern_set(t, v);
	while (n-- > 0)
		if (v[n] != unknown)
			intern_put(t->strings, v[n]);
	return p;
}

/* Do both mean the same? Equal strings are one; NULL is only NULL. */
static bool is_same(const struct params_table *t, int i, const char *a,
    const char *b)
{
	return a == b || (params_names_are(&t->names, i, PARAMS_FOLD) &&
	    a != NULL && b != NULL && text_casecmp(a, b) == 0);
}

int params_fill(struct params **pp, const struct params *defaults)
{
	const struct params *p = *pp;
	const struct params_table *t = p->table;
	const char *v[PARAMS_MAX], *whole = NULL;
	char datestyle[DATESTYLE_MAX];

	for (int i = 0; i < t->names.count; i++)
		v[i] = p->value[i] != NULL && !is_same(t, i, p->value[i],
		    defaults->value[i]) ? p->value[i] : defaults->value[i];
	const char *own = v[PARAMS_DATESTYLE],
	    *have = defaults->value[PARAMS_DATESTYLE];

	if (own != have && have != NULL &&
	    datestyle_complete(own, have, datestyle)) {
		whole = intern_get(t->strings, datestyle);
		if (whole == NULL)
			return -1;
		v[PARAMS_DATESTYLE] = whole;
	}
	const int rc = replace(pp, v);

	intern_put(t->strings, whole);
	return rc;
}

static uint64_t bit(int i)
{
	return (uint64_t)1 << i;
}

uint64_t params_silent(const struct params *p)
{
	uint64_t silent = 0;

	/* a server with scram_iterations (PostgreSQL 16 on) reports it */
	for (int i = 0; i < p->table->names.count; i++)
		if (p->value[i] == NULL && i != PARAMS_SCRAM_ITERATIONS)
			silent |= bit(i);
	return silent;
}

int params_adopt(struct params **want, const struct params *have,
    uint64_t silent)
{
	const struct params *p = *want;
	const char *v[PARAMS_MAX];

	if (p == have)
		return 0;
	for (int i = 0; i < p->table->names.count; i++)
		v[i] = p->value[i] != NULL && have->value[i] != NULL &&
		    (silent & bit(i)) == 0 ? have->value[i] : p->value[i];
	return replace(want, v);
}

/* Value i as the server had it at first, as far as known. */
static const char *origin_of(const struct params_origin *o, int i)
{
	return o->set == NULL ? NULL : o->set->value[i];
}

int params_forget(struct params **have, const struct params_origin *o,
    bool put_back)
{
	const struct params *p = *have;
	const char *v[PARAMS_MAX];

	for (int i = 0; i < p->table->names.count; i++) {
		const bool doubtful = p->value[i] != NULL ||
		    (put_back && origin_of(o, i) != NULL);

		v[i] = doubtful && (o->silent & bit(i)) != 0 ? unknown :
		    p->value[i];
	}
	return replace(have, v);
}

static bool is_ascii(const char *s)
{
	while (*s != '\0' && (uint8_t)*s < 0x80)
		s++;
	return *s == '\0';
}

enum change { KEEP, SET, RESET };

/* A server, what it is to have, and what it will be told. */
struct reconciling {
	const struct params *want, *have;
	const struct params_origin *origin;
	bool recoded;		/* client_encoding changes */
	bool acting;		/* the acting user changes */
	bool strings;		/* standard_conforming_strings is on for a while */
	struct params_dialect dialect;
	uint8_t change[PARAMS_MAX];	/* enum change */
};

static bool is_silent(const struct reconciling *r, int i)
{
	return (r->origin->silent & bit(i)) != 0;
}

/*
 * The value that the server is to have. A client without a value, as the pool's
 * first server did not report it, is not given the value of the client before.
 */
static const char *aim(const struct reconciling *r, int i)
{
	const char *const own = r->want->value[i];

	return own != NULL ? own : origin_of(r->origin, i);
}

/*
 * What is to be done about value i? Where the encoding changes, bytes that are
 * not ASCII meant something else up to now. A silent value is not reported: it
 * is the value set last, or unknown, or never set.
 */
static enum change change_of(const struct reconciling *r, int i)
{
	const char *a = aim(r, i), *b = r->have->value[i];

	if (b == NULL)
		return is_silent(r, i) && r->want->value[i] != NULL ? SET :
		    KEEP;
	if (a == NULL)
		return is_silent(r, i) ? RESET : KEEP;
	if (b == unknown)
		return is_silent(r, i) ? SET : KEEP;
	return !is_same(r->want->table, i, a, b) ||
	    (r->recoded && !is_ascii(a)) ? SET : KEEP;
}

static void reconcile(struct reconciling *r)
{
	const struct params *const want = r->want;
	const char *const strings = r->have->value[PARAMS_STANDARD_STRINGS];
	const bool known = strings != NULL && strings != unknown;
	const bool on = known && text_casecmp(strings, "on") == 0;
	bool escapes = false;

	r->recoded = r->acting = false;
	r->recoded = change_of(r, PARAMS_CLIENT_ENCODING) == SET;
	for (int i = 0; i < want->table->names.count; i++) {
		const enum change what = change_of(r, i);

		r->change[i] = (uint8_t)what;
		r->acting = r->acting || (what != KEEP &&
		    params_names_are(&want->table->names, i, PARAMS_ACT));
		escapes = escapes || (what == SET &&
		    strchr(aim(r, i), '\\') != NULL);
	}
	r->strings = escapes && known && !on;
	r->dialect = (struct params_dialect){
		.standard = on || r->strings,
		.encoding = aim(r, PARAMS_CLIENT_ENCODING),
		.open = r->origin->open,
	};
}

static void write_reset(struct writer *w, const char *name)
{
	writer_bytes(w, "RESET ", 6);
	writer_bytes(w, name, strlen(name));
	writer_u8(w, ';');
}

/* Values to be set before the server reads others. Returns queries. */
static int write_first(const struct reconciling *r, struct writer *w)
{
	const char *const *const name = r->want->table->names.name;
	/* as a whole it is read before they are on */
	const struct params_dialect dialect = {
		.standard = r->dialect.standard && !r->strings,
	};

	if (r->recoded)
		params_sql_set(w, name[PARAMS_CLIENT_ENCODING],
		    aim(r, PARAMS_CLIENT_ENCODING), &dialect);
	if (r->strings)
		params_sql_set(w, name[PARAMS_STANDARD_STRINGS], "on",
		    &dialect);
	if (!r->recoded && !r->strings)
		return 0;
	writer_u8(w, 0);
	return 1;
}

/*
 * The server becomes its login user again, who may set all that follows, and not
 * the role that this one has by default: RESET gives it, from 15.9 on.
 */
static void write_departure(const struct reconciling *r, struct writer *w)
{
	for (int i = r->want->table->names.count - 1; i >= 0; i--)
		if (params_names_are(&r->want->table->names, i, PARAMS_ACT))
			write_reset(w, r->want->table->names.name[i]);
	writer_bytes(w, "SET role=none;", 14);
}

static void write_value(const struct reconciling *r, int i, struct writer *w)
{
	const uint8_t what = r->change[i];
	const char *const name = r->want->table->names.name[i];
	const char *value = aim(r, i);
	const bool back = i == PARAMS_STANDARD_STRINGS && r->strings;

	if (back && value == NULL)
		value = r->have->value[i];
	if (what == RESET)
		write_reset(w, name);
	else if (what == SET || back)
		params_sql_set(w, name, value, &r->dialect);
}

/*
 * All values but the acting user. The name of that one is read by the same
 * standard_conforming_strings, which therefore change behind it. Returns whether
 * there was any.
 */
static bool write_values(const struct reconciling *r, struct writer *w)
{
	const struct params_table *const t = r->want->table;
	const size_t before = w->len;

	for (int i = 0; i < t->names.count; i++)
		if (i != PARAMS_CLIENT_ENCODING &&
		    !params_names_are(&t->names, i, PARAMS_ACT) &&
		    (i != PARAMS_STANDARD_STRINGS || !r->acting))
			write_value(r, i, w);
	return w->len > before;
}

int params_write_sets(const struct params *want, const struct params *have,
    const struct params_origin *o, struct writer *w)
{
	if (want == have)
		return 0;
	struct reconciling r = { .want = want, .have = have, .origin = o };

	reconcile(&r);
	const int first = write_first(&r, w);

	if (r.acting)
		write_departure(&r, w);
	if (!write_values(&r, w) && !r.acting)
		return first;
	writer_u8(w, 0);
	return first + 1;
}

/* Does the server become who it was at first, whose role nobody else tells? */
static bool is_first_actor(const struct reconciling *r)
{
	const struct params_table *const t = r->want->table;
	const int i = PARAMS_SESSION_AUTHORIZATION;
	const char *const who = aim(r, i), *const first = origin_of(r->origin, i);
	const int role = params_find(t, "role");

	return (role < 0 || aim(r, role) == NULL) && (who == NULL ||
	    (first != NULL && strcmp(who, first) == 0));
}

enum params_actor params_write_actor(const struct params *want,
    const struct params *have, const struct params_origin *o,
    struct writer *w)
{
	const struct params_table *const t = want->table;
	struct reconciling r = { .want = want, .have = have, .origin = o };

	if (want == have)
		return PARAMS_ACTOR_SAME;
	reconcile(&r);
	if (!r.acting)
		return PARAMS_ACTOR_SAME;
	for (int i = 0; i < t->names.count; i++)
		if (params_names_are(&t->names, i, PARAMS_ACT) && aim(&r, i) != NULL)
			params_sql_set(w, t->names.name[i], aim(&r, i), &r.dialect);
	write_value(&r, PARAMS_STANDARD_STRINGS, w);
	return is_first_actor(&r) ? PARAMS_ACTOR_FIRST : PARAMS_ACTOR_OTHER;
}

int params_expect(struct params **have, const struct params *want,
    const struct params_origin *o)
{
	const struct params *p = *have;
	struct reconciling r = { .want = want, .have = p, .origin = o };
	const char *v[PARAMS_MAX];

	reconcile(&r);

	for (int i = 0; i < p->table->names.count; i++) {
		if (r.change[i] == KEEP)
			v[i] = p->value[i];
		else if (is_silent(&r, i))
			v[i] = want->value[i];
		else
			v[i] = params_names_are(&p->table->names, i,
			    PARAMS_FOLD) ? p->value[i] : aim(&r, i);
	}
	return replace(have, v);
}

void params_list_write(const struct params_table *t, const struct params *set,
    struct writer *w)
{
	struct writer list;

	/* the list is made apart, as its length stands in front */
	writer_init(&list, w->cap);
	for (int i = 0; set != NULL && i < params_count(t); i++) {
		const char *const value = params_get(set, i);

		writer_str(&list, params_name(t, i));
		writer_u8(&list, value != NULL);
		if (value != NULL)
			writer_str(&list, value);
	}
	writer_u32(w, (uint32_t)list.len);
	writer_bytes(w, list.at, list.len);
	w->failed = w->failed || list.failed;
	writer_fini(&list);
}

void params_list_read(struct reader *r, struct reader *list)
{
	const uint32_t len = reader_u32(r);
	const uint8_t *const at = reader_bytes(r, len);
	struct params_pair pair;

	reader_init(list, at, at == NULL ? 0 : len);
	struct reader walk = *list;

	while (params_list_next(&walk, &pair))
		continue;
	r->failed = r->failed || walk.failed;
}

bool params_list_next(struct reader *list, struct params_pair *out)
{
	if (reader_left(list) == 0)
		return false;
	out->name = reader_str(list);
	out->value = reader_u8(list) == 0 ? NULL : reader_str(list);
	return !list->failed;
}

int params_list_load(const struct params_table *t, struct reader list,
    struct params **out)
{
	struct params_pair pair;

	while (params_list_next(&list, &pair)) {
		const int i = params_find(t, pair.name);

		if (i >= 0 && pair.value != NULL &&
		    params_set(out, i, pair.value) < 0)
			return -1;
	}
	return 0;
}

uint64_t params_list_bits(const struct params_table *t, struct reader list,
    uint64_t there)
{
	struct params_pair pair;
	uint64_t here = 0;

	for (unsigned n = 0; n < 64 && params_list_next(&list, &pair); n++) {
		const int i = params_find(t, pair.name);

		if (i >= 0 && (there >> n & 1) != 0)
			here |= (uint64_t)1 << i;
	}
	return here;
}
