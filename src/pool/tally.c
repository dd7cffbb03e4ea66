/* tally.c - counters: of the process, and of pools with their averages.
 * SPDX-License-Identifier: ISC */
#include "pool/tally.h"

#include <stdbool.h>
#include <string.h>

#include "conf/options.h"

void counters_add(struct counters *sum, const struct counters *c)
{
#define COUNTER(name, ...) sum->name += c->name;
#include "pool/counters.def"
#undef COUNTER
}

void counted_snapshot(struct counted *c)
{
	c->before = c->last;
	c->last = c->now;
}

static uint64_t mean(uint64_t a, uint64_t times_a, uint64_t b, uint64_t times_b)
{
	const uint64_t times = times_a + times_b;

	return times == 0 ? 0 : (a * times_a + b * times_b) / times;
}

void counters_add_average(struct counters *sum, const struct counters *avg)
{
	const struct counters was = *sum;

	counters_add(sum, avg);
	sum->xact_time = mean(was.xact_time, was.xact_count,
	    avg->xact_time, avg->xact_count);
	sum->query_time = mean(was.query_time, was.query_count,
	    avg->query_time, avg->query_count);
	sum->wait_time = mean(was.wait_time, was.server_assignment_count,
	    avg->wait_time, avg->server_assignment_count);
}

static uint64_t per_event(uint64_t time, uint64_t events)
{
	return events == 0 ? 0 : time / events;
}

void counters_average(struct counters *avg, const struct counters *now,
    const struct counters *before, usec_t elapsed)
{
	struct counters d;

#define COUNTER(name, ...) d.name = now->name - before->name;
#include "pool/counters.def"
#undef COUNTER
	const uint64_t usec = elapsed > 0 ? (uint64_t)elapsed : 1;

#define COUNTER(name, ...) avg->name = \
	(uint64_t)((unsigned __int128)d.name * (uint64_t)USEC / usec);
#include "pool/counters.def"
#undef COUNTER
	avg->xact_time = per_event(d.xact_time, d.xact_count);
	avg->query_time = per_event(d.query_time, d.query_count);
	avg->wait_time = per_event(d.wait_time, d.server_assignment_count);
}

#define LETTERS 36		/* of a SQLSTATE: 0-9, A-Z */
#define CLASS_BYTES 3

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* --- labels: what the i-th row or column of a table is called --- */

static const char *source_label(unsigned i, char *buf)
{
	static const char *const names[TALLY_SOURCES] = {
		[TALLY_OF_SERVER] = "server", [TALLY_OF_POOLER] = "pooler" };

	(void)buf;
	return names[i];
}

static const char *side_label(unsigned i, char *buf)
{
	static const char *const names[TALLY_SIDES] = {
		[TALLY_CLIENT] = "client", [TALLY_SERVER] = "server" };

	(void)buf;
	return names[i];
}

static const char *result_label(unsigned i, char *buf)
{
	static const char *const names[TALLY_RESULTS] = {
		[TALLY_OK] = "ok", [TALLY_FAILED] = "failed" };

	(void)buf;
	return names[i];
}

static const char *class_label(unsigned i, char *buf)
{
	if (i == TALLY_CLASSES - 1)
		return "other";
	buf[0] = digits[i / LETTERS];
	buf[1] = digits[i % LETTERS];
	buf[2] = '\0';
	return buf;
}

static const char *reason_label(unsigned i, char *buf)
{
	(void)buf;
	return close_reason_text((enum close_reason)i);
}

static const char *limit_label(unsigned i, char *buf)
{
	(void)buf;
	return tally_limit_name((enum tally_limit)i);
}

static const char *cache_label(unsigned i, char *buf)
{
	static const char *const names[TALLY_CACHES] = {
#define X(name) #name,
		TALLY_CACHE_NAMES(X)
#undef X
	};

	(void)buf;
	return names[i];
}

/* Those of rules have no word of auth_type. */
static const char *method_label(unsigned i, char *buf)
{
	static const char *const names[] = {
		[AUTH_ANY] = "any", [AUTH_TRUST] = "trust",
		[AUTH_PLAIN] = "plain", [AUTH_MD5] = "md5",
		[AUTH_SCRAM_SHA_256] = "scram-sha-256", [AUTH_CERT] = "cert",
		[AUTH_HBA] = "hba", [AUTH_LDAP] = "ldap", [AUTH_PAM] = "pam",
		[AUTH_PEER] = "peer", [AUTH_GSS] = "gss",
		[AUTH_REJECT] = "reject", [AUTH_OAUTH] = "oauth",
	};

	(void)buf;
	return names[i];
}

struct kind {
	const char *name;
	const char *(*label)(unsigned i, char *buf);
};

static const struct kind SOURCE = { "source", source_label },
    SIDE = { "side", side_label }, RESULT = { "result", result_label },
    CLASS = { "sqlstate_class", class_label },
    REASON = { "reason", reason_label }, LIMIT = { "limit", limit_label },
    METHOD = { "method", method_label }, USE = { "use", cache_label },
    NONE = { NULL, NULL };

/* --- tables --- */

static const struct table {
	const char *name, *help;
	const struct kind *row, *column;
	size_t offset;
	unsigned rows, columns;
	bool all;
} tables[TALLY_TABLES] = {
#define TALLY(n, r, c, rk, ck, a, h) [TALLY_TABLE_##n] = { .name = #n, \
	.help = h, .row = &(rk), .column = &(ck), \
	.offset = offsetof(struct tally, n), .rows = r, .columns = c, .all = a },
#include "pool/tally.def"
#undef TALLY
};

_Static_assert(AUTH_OAUTH < TALLY_METHODS, "a method has no place");

const char *tally_name(enum tally_table table)
{
	return tables[table].name;
}

const char *tally_help(enum tally_table table)
{
	return tables[table].help;
}

const char *tally_limit_name(enum tally_limit limit)
{
	static const char *const names[TALLY_LIMITS] = {
#define X(name) #name,
		TALLY_LIMIT_NAMES(X)
#undef X
	};

	return names[limit];
}

/* LETTERS: it is none. */
static unsigned tally_digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	return c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10 : LETTERS;
}

void tally_error(struct tally *t, enum tally_source from, const char *code)
{
	const unsigned high = tally_digit(code[0]);
	const unsigned low = high < LETTERS ? tally_digit(code[1]) : LETTERS;

	t->errors[from][low < LETTERS ? high * LETTERS + low :
	    TALLY_CLASSES - 1]++;
}

/* What the i-th count of a table is called; bufs: where labels are made. */
static void name(struct tally_count *n, const struct table *of, unsigned i,
    char bufs[2][CLASS_BYTES])
{
	const struct kind *const kinds[2] = { of->row, of->column };
	const unsigned at[2] = { i / of->columns, i % of->columns };

	n->label_count = 0;
	for (size_t k = 0; k < 2 && kinds[k]->label != NULL; k++) {
		n->labels[k].name = kinds[k]->name;
		n->labels[k].value = kinds[k]->label(at[k], bufs[k]);
		n->label_count++;
	}
}

/* A tally is made of tables of counts, and of nothing else. */
static uint64_t *counts_of(struct tally *t)
{
	return (uint64_t *)(void *)t;
}

void tally_add(struct tally *sum, const struct tally *t)
{
	const uint64_t *const from = counts_of((struct tally *)(uintptr_t)t);
	uint64_t *const to = counts_of(sum);

	for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
		to[i] += from[i];
}

int tally_each(const struct tally *t, enum tally_table table, tally_fn *fn,
    void *arg)
{
	const struct table *const of = &tables[table];
	const uint64_t *const at = (const uint64_t *)(const void *)
	    ((const char *)t + of->offset);
	int rc = 0;

	for (unsigned i = 0; i < of->rows * of->columns && rc == 0; i++) {
		char bufs[2][CLASS_BYTES];
		struct tally_count n = { .value = at[i] };

		if (n.value == 0 && !of->all)
			continue;
		name(&n, of, i, bufs);
		rc = fn(arg, &n);
	}
	return rc;
}

/* --- the last minute --- */

#define SLICE (60 * USEC / TALLY_SLICES)

void tally_minute_note(struct tally_minute *m, usec_t now)
{
	const usec_t slice = now / SLICE;

	for (int i = 0; i < TALLY_SLICES && m->at < slice - i; i++)
		m->of[(slice - i) % TALLY_SLICES] = 0;
	m->at = slice;
	m->of[slice % TALLY_SLICES]++;
}

uint64_t tally_minute_count(const struct tally_minute *m, usec_t now)
{
	const usec_t oldest = now / SLICE - TALLY_SLICES;
	uint64_t n = 0;

	for (usec_t i = m->at; i > oldest && i > m->at - TALLY_SLICES; i--)
		n += m->of[(i + TALLY_SLICES) % TALLY_SLICES];
	return n;
}
