/* metrics_parts.h - what the files of the metrics share; for metrics*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_METRICS_PARTS_H
#define HTTP_METRICS_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cursor.h"
#include "console/admin.h"
#include "console/view_merge.h"
#include "http/exposition.h"
#include "http/httpd.h"
#include "pool/catalog.h"
#include "pool/latencies.h"
#include "session/sessions.h"

/* Limit for the samples of one item; a chunk has room for several. */
#define METRICS_ITEM_BYTES (HTTPD_CHUNK_BYTES / 2)

struct metrics {
	struct exposition x;
	const struct admin *first;	/* borrowed */
	const struct admin *at;		/* the worker whose items these are */
	const struct sessions *ss;	/* ... its sessions */
	const char *version;		/* borrowed: static */
	bool bouncer;
	size_t group, family;		/* the next family */
	bool begun, told;		/* the family's head; the only item */
	struct cursor cursor;		/* the family's items */
	size_t strangers;		/* users met without configuration */
	struct histogram sums[LATENCIES];
	struct view_fold fold;
};

/* The subject of samples: the process, or each of its ..., worker by worker. */
enum metrics_over { OVER_PROCESS, OVER_DATABASES, OVER_USERS, OVER_POOLS };

struct family {
	struct metric metric;
	enum metrics_over over;
	unsigned what;		/* for put: which of several values */
	/* Put the samples of an item, in METRICS_ITEM_BYTES at most. */
	void (*put)(struct metrics *m, const struct family *f,
	    const void *item);
	/* There are no more items; or NULL. */
	void (*end)(struct metrics *m, const struct family *f);
};

struct family_group {
	const struct family *families;
	size_t count;
	bool bouncer;		/* names of pgbouncer_exporter */
};

#define FAMILY_GROUP(array, is_bouncer) ((struct family_group){ \
	(array), sizeof(array) / sizeof((array)[0]), (is_bouncer) })

struct family_group metrics_process(void);		/* metrics_process.c */
struct family_group metrics_process_bouncer(void);
struct family_group metrics_workers(void);		/* metrics_process.c */
struct family_group metrics_counters(void);		/* metrics_process.c */
struct family_group metrics_catalog(void);		/* metrics_catalog.c */
struct family_group metrics_catalog_bouncer(void);
struct family_group metrics_pools(void);		/* metrics_pools.c */
struct family_group metrics_pools_bouncer(void);
struct family_group metrics_stats_bouncer(void);	/* metrics_pools.c */
struct family_group metrics_stats(void);
struct family_group metrics_latencies(void);		/* metrics_pools.c */
struct family_group metrics_clients_bouncer(void);	/* metrics_catalog.c */

/* A sample with these labels. */
static inline void metrics_put(struct metrics *m, const struct label *labels,
    size_t count, int64_t value)
{
	exposition_put(&m->x, &(struct sample){
		.labels = labels, .label_count = count, .value = value });
}

/* Did a worker before this one know the user? */
static inline bool metrics_is_told(const struct metrics *m,
    const struct user *u)
{
	for (const struct admin *a = m->first; a != m->at; a = a->next) {
		if (catalog_find_user(a->ss->catalog, u->name) != NULL)
			return true;
	}
	return false;
}

#define METRICS_POOL_LABELS(p) \
	{ "database", (p)->key.db->name }, { "user", (p)->key.user->name }

#endif
