/* metrics_workers.c - what each worker has, as SHOW WORKERS.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "http/metrics_parts.h"

enum { CLIENTS, SERVERS, LOAD, TURN, VALUES };

/* In millionths, where there are any. */
static void put_worker(struct metrics *m, const struct admin *a, unsigned what)
{
	const struct sessions *const ss = a->ss;
	const int64_t values[VALUES] = {
		[CLIENTS] = ss->catalog->clients,
		[SERVERS] = ss->servers,
		[LOAD] = a->load.percent * 10000,
		[TURN] = a->load.longest,
	};
	const bool measured = what >= LOAD;
	char number[16];
	struct text t;

	text_init(&t, number, sizeof number);
	text_addf(&t, "%u", ss->worker);
	exposition_put(&m->x, &(struct sample){
		.labels = (const struct label[]){ { "worker", number } },
		.label_count = 1, .value = values[what], .micro = measured,
		.none = measured && !a->load.known,
	});
}

static void put_workers(struct metrics *m, const struct family *f,
    const void *item)
{
	(void)item;
	for (const struct admin *a = m->first; a != NULL; a = a->next)
		put_worker(m, a, f->what);
}

#define WORKER(name, value, unit, help) \
	{ { "pgsluice_worker_" name, METRIC_GAUGE, unit, help }, \
	    OVER_PROCESS, value, put_workers, NULL }

struct family_group metrics_workers(void)
{
	static const struct family families[] = {
		WORKER("clients", CLIENTS, NULL, "Client connections."),
		WORKER("servers", SERVERS, NULL, "Server connections."),
		WORKER("load_ratio", LOAD, "ratio",
		    "Share of the last period that the loop did not wait."),
		WORKER("longest_turn_seconds", TURN, "seconds",
		    "The longest turn of the loop in the last period."),
	};

	return FAMILY_GROUP(families, false);
}
