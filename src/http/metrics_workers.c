/* metrics_workers.c - what each worker has, as SHOW WORKERS.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"
#include "http/metrics_parts.h"

enum { CLIENTS, SERVERS, IN, OUT, CLIENTS_IN, CLIENTS_OUT, SLOW, LOAD, TURN,
	VALUES };

/* In millionths, where there are any. */
static void put_worker(struct metrics *m, const struct admin *a, unsigned what)
{
	const struct sessions *const ss = a->ss;
	const int64_t values[VALUES] = {
		[CLIENTS] = ss->catalog->clients,
		[SERVERS] = ss->servers,
		[IN] = (int64_t)ss->servers_in,
		[OUT] = (int64_t)ss->servers_out,
		[CLIENTS_IN] = (int64_t)ss->clients_in,
		[CLIENTS_OUT] = (int64_t)ss->clients_out,
		[SLOW] = (int64_t)a->slow.count,
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

#define FAMILY(name, type, value, unit, help) \
	{ { "pgsluice_worker_" name, type, unit, help }, \
	    OVER_PROCESS, value, put_workers, NULL }
#define WORKER(name, value, unit, help) \
	FAMILY(name, METRIC_GAUGE, value, unit, help)

struct family_group metrics_workers(void)
{
	static const struct family families[] = {
		WORKER("clients", CLIENTS, NULL, "Client connections."),
		WORKER("servers", SERVERS, NULL, "Server connections."),
		FAMILY("servers_in", METRIC_COUNTER, IN, NULL,
		    "Server connections that other workers have handed over."),
		FAMILY("servers_out", METRIC_COUNTER, OUT, NULL,
		    "Server connections handed over to other workers."),
		FAMILY("clients_in", METRIC_COUNTER, CLIENTS_IN, NULL,
		    "Clients that have moved here from other workers."),
		FAMILY("clients_out", METRIC_COUNTER, CLIENTS_OUT, NULL,
		    "Clients that have moved to other workers."),
		FAMILY("slow_turns", METRIC_COUNTER, SLOW, NULL,
		    "Turns of the loop that lasted longer than slow_turn."),
		WORKER("load_ratio", LOAD, "ratio",
		    "Share of the last period that the loop did not wait."),
		WORKER("longest_turn_seconds", TURN, "seconds",
		    "The longest turn of the loop in the last period."),
	};

	return FAMILY_GROUP(families, false);
}
