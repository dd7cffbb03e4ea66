/* tally.h - counters: of the process, and of pools with their averages.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_TALLY_H
#define POOL_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "pool/close_reason.h"

/* Per-pool counters and their averages over stats_period. */

/* Plain increments: c->xact_count++. Times are microseconds. */
struct counters {
#define COUNTER(name, ...) uint64_t name;
#include "pool/counters.def"
#undef COUNTER
};

/* The counters as an array of COUNTERS values, in the order of the .def. */
#define COUNTERS (sizeof(struct counters) / sizeof(uint64_t))

/* Live numbers and the two snapshots that averages are made from. */
struct counted {
	struct counters now;
	struct counters last, before;	/* of the latest two periods' ends */
};

void counters_add(struct counters *sum, const struct counters *c);
/* The same for averages of one time: a mean counts as often as its events. */
void counters_add_average(struct counters *sum, const struct counters *avg);
/* A period ended: before = last, last = now. */
void counted_snapshot(struct counted *c);
/*
 * Averages since the snapshot before the last: counts and bytes per second,
 * times per event (transaction, query, assignment), cut to whole numbers.
 */
void counters_average(struct counters *avg, const struct counters *now,
    const struct counters *before, usec_t elapsed);

enum tally_source { TALLY_OF_SERVER, TALLY_OF_POOLER, TALLY_SOURCES };
enum tally_side { TALLY_CLIENT, TALLY_SERVER, TALLY_SIDES };
enum tally_result { TALLY_OK, TALLY_FAILED, TALLY_RESULTS };

/* Labels are the settings' names; but for the one that is none. */
#define TALLY_LIMIT_NAMES(X) \
	X(max_client_conn) \
	X(max_db_client_connections) \
	X(max_user_client_connections) \
	X(max_unauthenticated) \
	X(max_unauthenticated_per_address) \
	X(login_memory) \
	X(auth_queue) \
	X(memory_limit) \
	X(max_console_conn) \
	X(open_files)

#define X(name) TALLY_##name,
enum tally_limit { TALLY_LIMIT_NAMES(X) TALLY_LIMITS };
#undef X

/* What auth_query_cache has done for logins (spec/authentication.md section 6.1). */
#define TALLY_CACHE_NAMES(X) X(hit) X(old) X(miss) X(stale)

#define X(name) TALLY_CACHE_##name,
enum tally_cache { TALLY_CACHE_NAMES(X) TALLY_CACHES };
#undef X

#define TALLY_METHODS 16			/* as enum auth_type, or more */
#define TALLY_CLASSES (36 * 36 + 1)	/* SQLSTATE classes; at last: none */

/* Plain increments: t->tls_handshakes[TALLY_CLIENT][TALLY_OK]++. */
struct tally {
#define TALLY(name, rows, columns, ...) uint64_t name[rows][columns];
#include "pool/tally.def"
#undef TALLY
};

enum tally_table {
#define TALLY(name, ...) TALLY_TABLE_##name,
#include "pool/tally.def"
#undef TALLY
	TALLY_TABLES
};

/* How often something happened in the last minute, about. */
#define TALLY_SLICES 6
struct tally_minute {
	uint32_t of[TALLY_SLICES];	/* slices of ten seconds, as a ring */
	usec_t at;			/* the latest one's number */
};

void tally_minute_note(struct tally_minute *m, usec_t now);
uint64_t tally_minute_count(const struct tally_minute *m, usec_t now);

/* An error with this SQLSTATE was sent to a client. */
void tally_error(struct tally *t, enum tally_source from, const char *code);
const char *tally_limit_name(enum tally_limit limit);

/* Count in sum what t has counted. */
void tally_add(struct tally *sum, const struct tally *t);

const char *tally_name(enum tally_table table);
const char *tally_help(enum tally_table table);

/* One count, with a label or two: kind and value. */
struct tally_count {
	struct {
		const char *name, *value;
	} labels[2];
	size_t label_count;
	uint64_t value;
};

/* Told of each count. Returns non-zero to stop. */
typedef int tally_fn(void *arg, const struct tally_count *n);
/* All counts of a table that are to be shown. Returns what fn stopped it with. */
int tally_each(const struct tally *t, enum tally_table table, tally_fn *fn,
    void *arg);

#endif
