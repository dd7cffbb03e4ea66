/* metrics.c - /metrics: all metrics, written bit by bit.
 *
 * The text has all samples of a name together, so each name is a walk of its
 * own over the pools (databases, users), which may come and go meanwhile.
 * SPDX-License-Identifier: ISC */
#include "http/metrics.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/metrics_parts.h"

/* In the order of the text: when it is cut, what is first counts most. */
static struct family_group (*const groups[])(void) = {
	metrics_process,
	metrics_process_bouncer,
	metrics_workers,
	metrics_counters,
	metrics_catalog,
	metrics_catalog_bouncer,
	metrics_stats_bouncer,
	metrics_pools,
	metrics_pools_bouncer,
	metrics_stats,
	metrics_latencies,
	metrics_clients_bouncer,
};

#define GROUPS (sizeof groups / sizeof groups[0])

/* The family at m's place; NULL: behind the last. */
static const struct family *family_at(struct metrics *m)
{
	for (; m->group < GROUPS; m->group++, m->family = 0) {
		const struct family_group g = groups[m->group]();

		if (m->family < g.count && (m->bouncer || !g.bouncer))
			return &g.families[m->family];
	}
	return NULL;
}

static void metrics_look_at(struct metrics *m, const struct admin *a)
{
	cursor_end(&m->cursor);
	m->at = a;
	m->ss = a->ss;
}

static void begin_list(struct metrics *m, const struct family *f)
{
	struct catalog *const c = m->ss->catalog;
	struct cursor_list *const lists[] = {
		[OVER_DATABASES] = &c->all_databases,
		[OVER_USERS] = &c->all_users,
		[OVER_POOLS] = &c->all_pools,
	};

	if (f->over != OVER_PROCESS)
		cursor_begin(&m->cursor, lists[f->over]);
}

static void begin_family(struct metrics *m, const struct family *f)
{
	exposition_begin(&m->x, &f->metric);
	m->begun = true;
	m->told = false;
	begin_list(m, f);
}

static void end_family(struct metrics *m, const struct family *f)
{
	metrics_look_at(m, m->first);
	if (f->end != NULL)
		f->end(m, f);
	m->begun = false;
	m->family++;
}

static const void *object_of(enum metrics_over over, struct cursor_node *n)
{
	static const size_t offsets[] = {
		[OVER_DATABASES] = offsetof(struct database, node),
		[OVER_USERS] = offsetof(struct user, node),
		[OVER_POOLS] = offsetof(struct pool, node),
	};

	return n == NULL ? NULL : (char *)n - offsets[over];
}

/* The next item of this worker, or of those behind it. */
static const void *metrics_take(struct metrics *m, const struct family *f)
{
	const void *item;

	while ((item = object_of(f->over, cursor_take(&m->cursor))) == NULL &&
	    m->at->next != NULL) {
		metrics_look_at(m, m->at->next);
		begin_list(m, f);
	}
	return item;
}

/* As one with its parts; NULL: it is one. */
static const void *fold(struct metrics *m, const struct family *f,
    const void *item)
{
	switch (f->over) {
	case OVER_DATABASES:
		return view_fold_database(&m->fold, m->first, item);
	case OVER_POOLS:
		return view_fold_pool(&m->fold, m->first, item);
	case OVER_USERS:
	case OVER_PROCESS:
		break;
	}
	return item;
}

/* One item. Returns false when there is none left. */
static bool put_next(struct metrics *m, const struct family *f)
{
	const void *item = NULL;

	if (f->over == OVER_PROCESS && m->told)
		return false;
	m->told = true;
	if (f->over != OVER_PROCESS)
		item = metrics_take(m, f);
	if (f->over != OVER_PROCESS && item == NULL)
		return false;
	/* who adds up has the parts one by one */
	const void *const whole = f->end != NULL ? item : fold(m, f, item);

	if (f->over == OVER_PROCESS || whole != NULL)
		f->put(m, f, whole);
	return true;
}

static void metrics_put_end(struct metrics *m)
{
	static const struct metric left_out = {
		"pgsluice_http_left_out_series", METRIC_GAUGE, NULL,
		"Series that http_max_series kept out of this scrape." };

	exposition_begin(&m->x, &left_out);
	metrics_put(m, NULL, 0, (int64_t)m->x.left_out);
	exposition_end(&m->x);
	if (m->x.left_out > 0)
		log_warning("http_max_series: %llu series left out of a "
		    "scrape", (unsigned long long)m->x.left_out);
}

static enum httpd_more metrics_more(void *body, struct text *t)
{
	struct metrics *const m = body;
	const usec_t begin = time_precise();
	const struct family *f;

	m->x.t = t;
	while ((f = family_at(m)) != NULL) {
		if (!m->begun)
			begin_family(m, f);
		if (!put_next(m, f))
			end_family(m, f);
		if (t->size - t->len < METRICS_ITEM_BYTES ||
		    time_precise() - begin >= HTTPD_SLICE)
			return HTTPD_MORE;
	}
	metrics_put_end(m);
	return HTTPD_LAST;
}

static void metrics_free(void *body)
{
	struct metrics *const m = body;

	cursor_end(&m->cursor);
	view_fold_fini(&m->fold);
	for (size_t i = 0; i < LATENCIES; i++)
		histogram_fini(&m->sums[i]);
	mem_free(m);
}

struct metrics *metrics_new(const struct metrics_order *o)
{
	struct metrics *const m = mem_zalloc(sizeof *m);

	if (m == NULL)
		return NULL;
	m->first = o->admin;
	metrics_look_at(m, m->first);
	m->version = o->version;
	m->bouncer = o->bouncer;
	m->x.open = o->open;
	m->x.max = o->max;
	return m;
}

const struct httpd_source *metrics_source(void)
{
	static const struct httpd_source source = {
		.more = metrics_more, .free = metrics_free };

	return &source;
}
