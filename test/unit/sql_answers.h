/* sql_answers.h - what each reader of SQL says of a text.
 * SPDX-License-Identifier: ISC */
#ifndef TEST_UNIT_SQL_ANSWERS_H
#define TEST_UNIT_SQL_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/custom.h"
#include "proto/params.h"
#include "proto/recall.h"
#include "proto/sql_back.h"
#include "sql/effects.h"
#include "sql/sql.h"
#include "sql/sql_dialect.h"
#include "sql/sql_leave.h"
#include "sql/sql_schema.h"
#include "sql/sql_seen.h"
#include "sql/sql_timeless.h"

/*
 * sql ends in a NUL, which n counts. What is more than a few bits is a hash of 16
 * bits; 0: nothing.
 */
struct sql_reader {
	const char *name;
	uint32_t (*answer)(const char *sql, size_t n);
};

#define HASH_START 2166136261u

static uint32_t hash_add(uint32_t h, const void *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)at)[i]) * 16777619u;
	return h;
}

static uint32_t hash_end(uint32_t h)
{
	return h == HASH_START ? 0 : ((h ^ h >> 16) & 0xffff) | 1;
}

static uint32_t hash_name(bool found, const char *name)
{
	return !found ? 0 : hash_end(hash_add(HASH_START, name,
	    strlen(name) + 1));
}

/* --- those that tell names --- */

typedef enum sql_change next_fn(const char **at, const char *end,
    char name[SQL_PARAMETER_MAX]);

static uint32_t hash_changes(next_fn *next, const char *sql, size_t n)
{
	const char *const end = sql + n;
	char name[SQL_PARAMETER_MAX];
	uint32_t h = HASH_START;
	enum sql_change what;

	while ((what = next(&sql, end, name)) != SQL_NO_CHANGE) {
		h = hash_add(h, &what, 1);
		h = hash_add(h, name, strlen(name) + 1);
	}
	return hash_end(h);
}

static inline uint32_t of_changes(const char *sql, size_t n)
{
	return hash_changes(sql_next_change, sql, n);
}

static inline uint32_t of_calls(const char *sql, size_t n)
{
	return hash_changes(sql_next_call, sql, n);
}

static inline uint32_t of_change_at(const char *sql, size_t n)
{
	char name[SQL_PARAMETER_MAX];
	const enum sql_change what = sql_change_at(sql, sql + n, name);

	return what == SQL_NO_CHANGE ? 0 : hash_name(true, name) + what;
}

static inline uint32_t of_literals(const char *sql, size_t n)
{
	const char *at = sql, *literal;
	uint32_t h = HASH_START;
	bool follows;
	size_t len;

	while ((literal = sql_next_literal(&at, sql + n, &len, &follows)) !=
	    NULL) {
		const uint32_t place[] = { (uint32_t)(literal - sql),
			(uint32_t)len, follows };

		h = hash_add(h, place, sizeof place);
	}
	return hash_end(h);
}

static inline uint32_t of_deallocates(const char *sql, size_t n)
{
	char name[SQL_NAME_MAX];
	const bool found = sql_deallocates(sql, n, name);

	return hash_name(found, found ? name : "");
}

static inline uint32_t of_wants_alone(const char *sql, size_t n)
{
	char name[SQL_NAME_MAX];
	const bool found = sql_wants_alone(sql, n, name);

	return hash_name(found, found ? name : "");
}

static uint64_t bit_of_name(const struct sql_back *b, const char *name)
{
	(void)b;
	return name[0] == '\0' ? SQL_BACK_ALL :
	    UINT64_C(1) << (hash_name(true, name) >> 1) % 64;
}

static uint32_t of_back_read(const char *sql, size_t n, bool strict)
{
	/* three values of a Bind: a.b, NULL, true */
	static const uint8_t bound[] = "\0\0\0\3\0\0\0\3a.b\377\377\377\377"
	    "\0\0\0\4true";
	struct sql_back b = { .bit = bit_of_name, .strict = strict,
		.values = bound, .len = sizeof bound - 1 };

	sql_back_read(&b, sql, n);
	return b.back == 0 && b.set == 0 && !b.others ? 0 : hash_end(hash_add(
	    hash_add(hash_add(HASH_START, &b.back, sizeof b.back), &b.set,
	    sizeof b.set), &b.others, 1));
}

static inline uint32_t of_back(const char *sql, size_t n)
{
	return of_back_read(sql, n, false);
}

static inline uint32_t of_back_strict(const char *sql, size_t n)
{
	return of_back_read(sql, n, true);
}

static bool take_name(void *arg, const char *name)
{
	*(uint32_t *)arg = hash_add(*(uint32_t *)arg, name, strlen(name) + 1);
	return true;
}

/* Which names there are, and bound ones, and whether that is all. */
static inline uint32_t of_custom(const char *sql, size_t n)
{
	uint32_t h = HASH_START;
	struct custom_reader r = { .take = take_name, .arg = &h,
		.encoding = "UTF8" };
	const enum custom_found found = custom_read(&r, sql, n);

	if (found != CUSTOM_KNOWN || r.bound != 0) {
		h = hash_add(h, &r.bound, sizeof r.bound);
		h = hash_add(h, &found, 1);
	}
	return hash_end(h);
}

static inline uint32_t of_bound(const char *sql, size_t n)
{
	const uint32_t bound = custom_bound(sql, n);

	return bound == 0 ? 0 : hash_end(hash_add(HASH_START, &bound,
	    sizeof bound));
}

static inline uint32_t of_recall(const char *sql, size_t n)
{
	return (uint32_t)(recall_count(sql, n) + 1);
}

/* --- those of words that stand first --- */

typedef bool first_fn(const char *sql, size_t n, const char *const *words);

static uint32_t which_first(first_fn *has, const char *sql, size_t n)
{
	static const char *const words[] = { "set", "reset", "discard", "begin",
		"start", "commit", "rollback", "abort", "end", "savepoint",
		"release", "listen", "unlisten", "notify", "deallocate", "do",
		"call", "execute", "fetch", "move", "prepare", "select",
		"insert", "update", "delete", "with" };
	uint32_t which = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (has(sql, n, (const char *[]){ words[i], NULL }))
			which |= 1u << i;
	return which;
}

static inline uint32_t of_begins(const char *sql, size_t n)
{
	return which_first(sql_begins, sql, n);
}

static inline uint32_t of_starts(const char *sql, size_t n)
{
	return which_first(sql_starts, sql, n);
}

/* --- those that say yes or no --- */

#define SAYS(name, call) static inline uint32_t name(const char *sql, size_t n) \
	{ (void)n; return call; }

SAYS(of_first, sql_is_suspect(sql[0]) | sql_is_suspect_reset(sql[0]) << 1 |
    sql_may_matter_alone(sql[0]) << 2 | sql_may_want_alone(sql[0]) << 3 |
    sql_is_suspect_draw(sql[0]) << 4)
SAYS(of_forgets_all, sql_forgets_all(sql, n))
SAYS(of_resets, sql_resets(sql, n))
SAYS(of_may_matter, sql_may_matter(sql, n))
SAYS(of_defines, sql_defines_function(sql, n))
SAYS(of_momentary, sql_is_momentary(sql, n))
SAYS(of_utility, sql_is_utility(sql, n))
SAYS(of_may_set, sql_may_set(sql, n))
SAYS(of_may_end, sql_may_end(sql, n))
SAYS(of_unseen, sql_may_set_unseen(sql, n))
SAYS(of_role, sql_may_set_role(sql, n))
SAYS(of_path, sql_may_set_path(sql, n))
SAYS(of_lone_set, sql_is_lone_set(sql, n - 1))
SAYS(of_set_all, sql_may_set_all(sql, n))
SAYS(of_may_leave, sql_may_leave(sql, n))
/* As bits of the day the answers were written. */
static inline uint32_t of_what_leaves(const char *sql, size_t n)
{
	static const uint32_t effects[] = { EFFECT_LEAVES, EFFECT_DRAWS,
		EFFECT_HIDES, 0, EFFECT_OPENS, EFFECT_MAKES, EFFECT_MAY_OPEN };
	const uint32_t what = sql_what_leaves(sql, n);
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
		bits |= (what & effects[i]) != 0 ? 1u << i : 0;
	return bits;
}
SAYS(of_may_draw, sql_may_draw(sql, n))
SAYS(of_local, sql_is_local(sql, n))
SAYS(of_is_set, sql_is_set(sql, n))
SAYS(of_single, sql_is_single(sql, n))
SAYS(of_schema, sql_may_change_schema(sql, n))
SAYS(of_plain, sql_seen_is_plain(&(struct sql_seen){ 0 }, sql, n))
SAYS(of_timeless, sql_is_timeless(sql, n))
SAYS(of_begin, sql_is_begin(sql, n))
SAYS(of_custom_any, custom_is_any(sql, n))
SAYS(of_back_calls, sql_back_calls(sql, n))
SAYS(of_back_may, sql_back_may(sql, n))
SAYS(of_back_alone, sql_back_may_alone(sql, n))

/* In the order of the answers in the file; those of a bit are before BITS. */
static const struct sql_reader sql_readers[] = {
	{ "sql_forgets_all", of_forgets_all },
	{ "sql_resets", of_resets },
	{ "sql_may_matter", of_may_matter },
	{ "sql_defines_function", of_defines },
	{ "sql_is_momentary", of_momentary },
	{ "sql_is_utility", of_utility },
	{ "sql_may_set", of_may_set },
	{ "sql_may_end", of_may_end },
	{ "sql_may_set_unseen", of_unseen },
	{ "sql_may_set_role", of_role },
	{ "sql_may_set_path", of_path },
	{ "sql_is_lone_set", of_lone_set },
	{ "sql_may_set_all", of_set_all },
	{ "sql_may_leave", of_may_leave },
	{ "sql_may_draw", of_may_draw },
	{ "sql_is_local", of_local },
	{ "sql_is_set", of_is_set },
	{ "sql_is_single", of_single },
	{ "sql_may_change_schema", of_schema },
	{ "sql_seen_is_plain", of_plain },
	{ "sql_is_timeless", of_timeless },
	{ "sql_is_begin", of_begin },
	{ "custom_is_any", of_custom_any },
	{ "sql_back_calls", of_back_calls },
	{ "sql_back_may", of_back_may },
	{ "sql_back_may_alone", of_back_alone },
	/* --- */
	{ "the first byte", of_first },
	{ "sql_what_leaves", of_what_leaves },
	{ "sql_begins", of_begins },
	{ "sql_starts", of_starts },
	{ "recall_count", of_recall },
	{ "sql_next_change", of_changes },
	{ "sql_next_call", of_calls },
	{ "sql_change_at", of_change_at },
	{ "sql_next_literal", of_literals },
	{ "sql_deallocates", of_deallocates },
	{ "sql_wants_alone", of_wants_alone },
	{ "sql_back_read", of_back },
	{ "sql_back_read, strict", of_back_strict },
	{ "custom_read", of_custom },
	{ "custom_bound", of_bound },
};
#define SQL_READERS (sizeof sql_readers / sizeof *sql_readers)
#define SQL_BITS 26

#endif
