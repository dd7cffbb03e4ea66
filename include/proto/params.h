/* params.h - tracked parameters as immutable sets; equal sets are shared.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PARAMS_H
#define PROTO_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

struct params;		/* one set: a value or NULL for each tracked name */
struct params_table;	/* the names, and every set and value alive */
struct writer;

#define PARAMS_MAX 64	/* tracked names */

/*
 * All that PostgreSQL reports and a client may set, extra_float_digits, and the
 * names of extra (a comma list, may be NULL). NULL: no memory. The table must outlive its sets.
 */
struct params_table *params_table_new(const char *extra);
void params_table_free(struct params_table **t);

/* Numbers of parameters. */
#define PARAMS_DATESTYLE 0
#define PARAMS_CLIENT_ENCODING 1
#define PARAMS_STANDARD_STRINGS 3
#define PARAMS_APPLICATION_NAME 4
#define PARAMS_SCRAM_ITERATIONS 8
#define PARAMS_SESSION_AUTHORIZATION 9
#define PARAMS_EXTRA_FLOAT_DIGITS 10
struct params_table *params_table_of(const struct params *p);
int params_count(const struct params_table *t);
const char *params_name(const struct params_table *t, int i);
/* Is it of the dialect of texts? See effects.h. */
bool params_reads(const struct params_table *t, int i);
/* Case-insensitive; -1: not tracked. */
int params_find(const struct params_table *t, const char *name);

/* The set without any value; a new reference. Never NULL. */
struct params *params_empty(struct params_table *t);
struct params *params_ref(struct params *p);
void params_unref(struct params **p);

const char *params_get(const struct params *p, int i);	/* NULL: none */
/* What stands for a value that is there, and nobody knows; in all tables. */
const char *params_unknown(void);
/* The set of these values, one for each number. NULL: no memory. */
struct params *params_of(struct params_table *t, const char *const *values);

/* Add a ParameterStatus for each value. */
void params_write_status(struct params *p, struct writer *w);

/* Replace *p by the set that differs in value i. 0, or -1: *p is kept. */
int params_set(struct params **p, int i, const char *value);
/*
 * Replace *p by the set whose missing values, or what is missing of a value,
 * and the spelling of equal ones are taken from defaults.
 */
int params_fill(struct params **p, const struct params *defaults);

/*
 * How a server was when its login was over. A server may not report all
 * parameters (search_path is reported from PostgreSQL 18 on). The values of its
 * silent parameters (one bit for each number) are known as long as nobody but
 * us sets them. An unknown value that is not among these is left alone.
 */
struct params_origin {
	struct params *set;	/* counted; fills in for missing values; silent
				 * ones only if asked for */
	uint64_t silent;
	bool open;		/* SETs are for a transaction that is open */
};

/* Which does a server that has told p not report? */
uint64_t params_silent(const struct params *p);
/*
 * Somebody may have set silent ones, or has put all back to what it was before
 * connect_query. 0, or -1: no memory, *have is kept.
 */
int params_forget(struct params **have, const struct params_origin *o,
    bool put_back);

/* Take over every value that have reports, where want has one too. */
int params_adopt(struct params **want, const struct params *have,
    uint64_t silent);

/*
 * Write "SET name=value;" for each value that both have and that differs: in
 * case only, if case is of no matter to it. A silent value that have lacks is
 * SET; one that want lacks goes back to that of o, or is RESET. The server reads a query in the
 * encoding it has: client_encoding stands in one of its own, ahead of that of
 * the others, with standard_conforming_strings where it must be on for a
 * backslash. Where session_authorization or role changes, it is RESET before
 * the others, because not everybody may set them; params_write_actor() SETs it
 * behind all others. Each query ends in NUL. Returns how many; equal sets cost
 * one comparison. (spec/pooling.md section 21)
 */
int params_write_sets(const struct params *want, const struct params *have,
    const struct params_origin *o, struct writer *w);

/* Who acts in a session? */
enum params_actor {
	PARAMS_ACTOR_SAME,	/* nothing was written */
	PARAMS_ACTOR_OTHER,
	PARAMS_ACTOR_FIRST,	/* as at first: the role of then is to follow */
};
/* SETs of session_authorization and role, without a NUL. */
enum params_actor params_write_actor(const struct params *want,
    const struct params *have, const struct params_origin *o,
    struct writer *w);
/*
 * The SETs were sent to the server that has *have: the server will have the
 * values, except those that it spells in its own way, and reports, or has in
 * other words already.
 */
int params_expect(struct params **have, const struct params *want,
    const struct params_origin *o);

/*
 * Values of parameters as bytes, for another process.
 *
 * By their names, as the other process may track others.
 */

/* set NULL: an empty list. */
void params_list_write(const struct params_table *t, const struct params *set,
    struct writer *w);

/* The list that comes next in r, which fails if that is none. */
void params_list_read(struct reader *r, struct reader *list);

struct params_pair {
	const char *name, *value;	/* value may be NULL */
};

/* The next pair of the list; false: no more pairs. */
bool params_list_next(struct reader *list, struct params_pair *out);
/* Set what of the list is tracked here. 0, or -1: no memory. */
int params_list_load(const struct params_table *t, struct reader list,
    struct params **out);
/* Which of ours stand where there has a bit? (by their place in the list) */
uint64_t params_list_bits(const struct params_table *t, struct reader list,
    uint64_t there);

#endif
