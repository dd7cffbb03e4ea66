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
#include "sql/sql_leave.h"
#include "sql/sql_seen.h"
#include "sql/sql_words.h"

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

static inline uint32_t of_change_at(const char *sql, size_t n)
{
	char name[SQL_PARAMETER_MAX];
	const enum sql_change what = sql_change_at(sql, sql + n, name);

	return what == SQL_NO_CHANGE ? 0 : hash_name(true, name) + what;
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

SAYS(of_effects, sql_effects(sql, n))
SAYS(of_first, sql_is_suspect(sql[0]) | sql_is_suspect_reset(sql[0]) << 1 |
    sql_may_matter_alone(sql[0]) << 2 | sql_may_want_alone(sql[0]) << 3 |
    sql_is_suspect_draw(sql[0]) << 4)
SAYS(of_may_matter, sql_may_matter(sql, n))
SAYS(of_defines, sql_defines_function(sql, n))
SAYS(of_may_leave, sql_may_leave(sql, n))
SAYS(of_schema, sql_may_change_schema(sql, n))
SAYS(of_plain, sql_seen_is_plain(&(struct sql_seen){ 0 }, sql, n))

/* What its words say, if it comes in pieces. */
static inline uint32_t of_pieces(const char *sql, size_t n)
{
	struct sql_long l = { 0 };

	for (size_t at = 0; at < n; at += 7)
		sql_long_take(&l, sql + at, n - at < 7 ? n - at : 7);
	sql_long_end(&l);
	return l.what;
}

/* In the order of the answers in the file; those of a bit are before BITS. */
static const struct sql_reader sql_readers[] = {
	{ "sql_may_matter", of_may_matter },
	{ "sql_defines_function", of_defines },
	{ "sql_may_leave", of_may_leave },
	{ "sql_may_change_schema", of_schema },
	{ "sql_seen_is_plain", of_plain },
	/* --- */
	{ "sql_effects", of_effects },
	{ "the first byte", of_first },
	{ "sql_long_take", of_pieces },
	{ "sql_begins", of_begins },
	{ "sql_starts", of_starts },
	{ "recall_count", of_recall },
	{ "sql_next_change", of_changes },
	{ "sql_change_at", of_change_at },
	{ "sql_deallocates", of_deallocates },
	{ "sql_wants_alone", of_wants_alone },
	{ "sql_back_read", of_back },
	{ "sql_back_read, strict", of_back_strict },
	{ "custom_read", of_custom },
	{ "custom_bound", of_bound },
};
#define SQL_READERS (sizeof sql_readers / sizeof *sql_readers)
#define SQL_BITS 5

/* --- answers that need each other --- */

/* What is glanced at, or read in pieces, never tells less. NULL: so it is. */
static inline const char *sql_answers_break(const char *sql, size_t n)
{
	const uint32_t left = EFFECT_LEAVES | EFFECT_DRAWS | EFFECT_HIDES |
	    EFFECT_MAKES | EFFECT_MAY_OPEN;
	const uint32_t effects = sql_effects(sql, n), pieces = of_pieces(sql, n);

	if ((effects & EFFECT_PLAIN) == 0 && of_plain(sql, n))
		return "a glance takes it for plain";
	if ((effects & EFFECT_WORDS) != 0 && !sql_may_leave(sql, n))
		return "a glance sees no word";
	if (((effects & EFFECT_MATTERS) != 0) != sql_may_matter(sql, n))
		return "the first byte tells something else";
	if ((effects & (EFFECT_CALLS | EFFECT_WORDS)) == EFFECT_CALLS)
		return "a call has no word";
	if ((effects & EFFECT_PLAIN) != 0 && (effects & (EFFECT_NAMES |
	    EFFECT_MATTERS | EFFECT_WORDS)) != 0)
		return "what is plain does something";
	if ((effects & left & ~pieces) != 0 || ((effects & EFFECT_OPENS) != 0 &&
	    (pieces & (EFFECT_OPENS | EFFECT_MAY_OPEN)) == 0))
		return "pieces have fewer words";
	return NULL;
}

#endif
