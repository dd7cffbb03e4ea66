/* history.c - the last ten minutes in samples, for charts, and the end of the
 * log.
 * SPDX-License-Identifier: ISC */
#include "http/history.h"

#include <string.h>

#include "base/log_line.h"
#include "base/mem.h"
#include "base/text.h"
#include "console/admin.h"
#include "http/json.h"
#include "pool/catalog.h"
#include "pool/tally.h"
#include "proto/msg.h"

#define AT_ONCE 64		/* pools */

#define KIND(k) (1u << RECENT_##k)

struct history {
	struct history_sample samples[HISTORY_SAMPLES];
	uint64_t taken;			/* so far */
	struct history_sample next;	/* being counted */
	struct cursor pools;		/* ... up to here */
	const struct admin *at;		/* ... of this worker */
	bool counting;
	usec_t since;			/* begin of the period counted */
	struct history_sample before;	/* totals of the process, back then */
};

/* --- the ring --- */

void history_add(struct history *h, const struct history_sample *s)
{
	struct history_sample *const at =
	    &h->samples[h->taken++ % HISTORY_SAMPLES];

	*at = *s;
	at->number = h->taken;
}

size_t history_count(const struct history *h)
{
	return h->taken < HISTORY_SAMPLES ? (size_t)h->taken : HISTORY_SAMPLES;
}

const struct history_sample *history_at(const struct history *h, size_t i)
{
	return &h->samples[(h->taken - history_count(h) + i) %
	    HISTORY_SAMPLES];
}

/* --- a sample --- */

static void count_pool(struct history_sample *s, const struct pool *p,
    usec_t now)
{
	const unsigned *const cl = p->client_count, *const sv = p->server_count;
	const usec_t since = pool_waiting_since(p);

	s->clients_active += cl[CLIENT_ACTIVE];
	s->clients_waiting += cl[CLIENT_WAITING] + cl[CLIENT_WELCOME] +
	    cl[CLIENT_DEDICATED_WAITING];
	s->servers_active += sv[SERVER_ACTIVE];
	s->servers_idle += sv[SERVER_IDLE] + sv[SERVER_USED];
	if (since != 0 && (uint64_t)(now - since) > s->longest_wait)
		s->longest_wait = (uint64_t)(now - since);
}

static void history_look_at(struct history *h, const struct admin *a)
{
	cursor_end(&h->pools);
	h->at = a;
	cursor_begin(&h->pools, &a->ss->catalog->all_pools);
}

/* The next pool of this worker, or of those behind it. */
static const struct cursor_node *history_take(struct history *h)
{
	const struct cursor_node *n;

	while ((n = cursor_take(&h->pools)) == NULL && h->at->next != NULL)
		history_look_at(h, h->at->next);
	return n;
}

/* Returns false when all pools were counted. */
static bool count_some(struct history *h, usec_t now)
{
	for (int i = 0; i < AT_ONCE; i++) {
		const struct cursor_node *const n = history_take(h);

		if (n == NULL)
			return false;
		const struct pool *const p = (const void *)
		    ((const char *)n - offsetof(struct pool, node));

		if (!p->key.db->console)
			count_pool(&h->next, p, now);
	}
	return true;
}

static void take_recent(struct history_sample *s, struct recent *r)
{
	struct recent_summary q, w, x;

	recent_summarize(r, KIND(QUERY) | KIND(ALONE), &q);
	recent_summarize(r, KIND(XACT) | KIND(ALONE), &x);
	recent_summarize(r, KIND(WAIT), &w);
	s->queries = q.count;
	s->transactions = x.count;
	s->waits = w.count;
	s->query_p50 = q.p50;
	s->query_p95 = q.p95;
	s->query_p99 = q.p99;
	s->wait_p50 = w.p50;
	s->wait_p95 = w.p95;
	s->wait_p99 = w.p99;
	recent_clear(r);
}

static uint64_t sum(const uint64_t *counts, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += counts[i];
	return all;
}

/* Since the process began. */
static void take_totals(struct history_sample *s, const struct admin *a)
{
	for (; a != NULL; a = a->next) {
		const struct tally *const t = &a->ss->tally;

		for (size_t i = 0; i < TALLY_METHODS; i++) {
			s->logins += t->client_logins[i][TALLY_OK];
			s->failed_logins += t->client_logins[i][TALLY_FAILED];
		}
		for (size_t i = 0; i < TALLY_SOURCES; i++)
			s->errors += sum(t->errors[i], TALLY_CLASSES);
	}
}

/* Of the period: what has been added. */
static void take_tally(struct history *h, const struct admin *a)
{
	struct history_sample now = { .number = 0 };

	take_totals(&now, a);
	h->next.logins = now.logins - h->before.logins;
	h->next.failed_logins = now.failed_logins - h->before.failed_logins;
	h->next.errors = now.errors - h->before.errors;
	h->before = now;
}

static void history_begin(struct history *h, const struct admin *a)
{
	h->next = (struct history_sample){ .number = 0 };
	history_look_at(h, a);
	h->counting = true;
}

static void history_finish(struct history *h, const struct admin *a, usec_t now)
{
	struct recent *const sum = &a->ss->catalog->recent;

	history_stop(h);
	h->next.at = time_wall(now);
	h->next.length = now - h->since;
	h->since = now;
	take_tally(h, a);
	for (a = a->next; a != NULL; a = a->next)
		recent_move(sum, &a->ss->catalog->recent);
	take_recent(&h->next, sum);
	history_add(h, &h->next);
}

bool history_is_due(const struct history *h, usec_t now)
{
	return h->counting || now - h->since >= HISTORY_INTERVAL;
}

bool history_tick(struct history *h, const struct admin *a, usec_t now)
{
	if (!h->counting && history_is_due(h, now))
		history_begin(h, a);
	if (h->counting && !count_some(h, now))
		history_finish(h, a, now);
	return h->counting;
}

void history_stop(struct history *h)
{
	cursor_end(&h->pools);
	h->counting = false;
}

struct history *history_new(const struct admin *a, usec_t now)
{
	struct history *const h = mem_zalloc(sizeof *h);

	if (h == NULL)
		return NULL;
	take_totals(&h->before, a);
	for (; a != NULL; a = a->next)
		recent_clear(&a->ss->catalog->recent);
	h->since = now;
	return h;
}

void history_free(struct history **h)
{
	if (*h != NULL)
		history_stop(*h);
	mem_free(*h);
	*h = NULL;
}

/* --- as JSON --- */

static const struct {
	const char *name;
	size_t place;
} columns[] = {
#define COLUMN(name) { #name, offsetof(struct history_sample, name) }
	COLUMN(number), COLUMN(at), COLUMN(length),
	COLUMN(transactions), COLUMN(queries), COLUMN(waits),
	COLUMN(query_p50), COLUMN(query_p95), COLUMN(query_p99),
	COLUMN(wait_p50), COLUMN(wait_p95), COLUMN(wait_p99),
	COLUMN(longest_wait), COLUMN(clients_active), COLUMN(clients_waiting),
	COLUMN(servers_active), COLUMN(servers_idle),
	COLUMN(logins), COLUMN(failed_logins), COLUMN(errors),
#undef COLUMN
};

#define COLUMNS (sizeof columns / sizeof columns[0])

static void put_sample(struct writer *w, const struct history_sample *s)
{
	for (size_t i = 0; i < COLUMNS; i++) {
		json_put_raw(w, i == 0 ? "[" : ",");
		json_put_unsigned(w, *(const uint64_t *)(const void *)
		    ((const char *)s + columns[i].place));
	}
	json_put_raw(w, "]");
}

void history_write(const struct history *h, uint64_t since, struct writer *w)
{
	const char *between = "";

	json_put_raw(w, "{\"interval\":");
	json_put_number(w, HISTORY_INTERVAL);
	json_put_raw(w, ",\"samples\":");
	json_put_number(w, HISTORY_SAMPLES);
	json_put_raw(w, ",\"last\":");
	json_put_unsigned(w, h->taken);
	json_put_raw(w, ",\"columns\":[");
	for (size_t i = 0; i < COLUMNS; i++) {
		json_put_raw(w, i == 0 ? "" : ",");
		json_put_string(w, columns[i].name);
	}
	json_put_raw(w, "],\n\"rows\":[");
	for (size_t i = 0; i < history_count(h); i++) {
		if (history_at(h, i)->number <= since)
			continue;
		json_put_raw(w, between);
		put_sample(w, history_at(h, i));
		between = ",\n";
	}
	json_put_raw(w, "]}\n");
}

struct line {
	enum log_level level;
	struct timespec when;
	char text[LOG_RING_TEXT + 4];	/* and three dots */
};

struct log_ring {
	uint64_t taken;		/* so far: the number of the last */
	size_t size;
	struct line lines[];
};

struct log_ring *log_ring_new(size_t lines)
{
	struct log_ring *const r = mem_zalloc(sizeof *r +
	    lines * sizeof r->lines[0]);

	if (r != NULL)
		r->size = lines;
	return r;
}

void log_ring_free(struct log_ring **r)
{
	mem_free(*r);
	*r = NULL;
}

size_t log_ring_size(const struct log_ring *r)
{
	return r->size;
}

/* Whole characters only. */
static void copy_cut(struct text *out, const char *s)
{
	while (*s != '\0') {
		const size_t n = text_character(s), step = n > 0 ? n : 1;

		if (out->len + step > LOG_RING_TEXT) {
			text_add(out, "...");
			return;
		}
		text_add_bytes(out, s, step);
		s += step;
	}
}

void log_ring_put(void *arg, const struct log_line *l)
{
	struct log_ring *const r = arg;
	struct text out;

	if (l->level > LEVEL_INFO || r->size == 0)
		return;
	struct line *const at = &r->lines[r->taken++ % r->size];

	at->level = l->level;
	at->when = l->when;
	text_init(&out, at->text, sizeof at->text);
	copy_cut(&out, l->cooked);
}

static void put_line(struct writer *w, const struct log_ring *r, uint64_t i)
{
	const struct line *const l = &r->lines[i % r->size];
	char stamp[64];

	json_put_raw(w, "{\"number\":");
	json_put_unsigned(w, i + 1);
	json_put_raw(w, ",\"time\":");
	json_put_string(w, log_line_time(&l->when, true, stamp, sizeof stamp));
	json_put_raw(w, ",\"level\":");
	json_put_string(w, log_line_level(l->level));
	json_put_raw(w, ",\"text\":");
	json_put_string(w, l->text);
	json_put_raw(w, "}");
}

void log_ring_write(const struct log_ring *r, uint64_t since,
    struct writer *w)
{
	const uint64_t oldest = r->taken < r->size ? 0 : r->taken - r->size;
	const char *between = "[\n";

	for (uint64_t i = since > oldest ? since : oldest; i < r->taken; i++) {
		json_put_raw(w, between);
		put_line(w, r, i);
		between = ",\n";
	}
	json_put_raw(w, between[0] == '[' ? "[]\n" : "\n]\n");
}
