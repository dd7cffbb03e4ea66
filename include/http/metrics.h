/* metrics.h - /metrics: what can be counted, told bit by bit.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct admin;
struct httpd_source;
struct metrics;

struct metrics_order {
	const struct admin *admin;	/* the first worker's */
	const char *version;	/* as SHOW VERSION has it */
	bool open;		/* OpenMetrics, else Prometheus */
	bool bouncer;		/* pgbouncer_exporter's names, too */
	uint64_t max;		/* series; 0: no limit */
};

/* The body for metrics_source(), whose calls are for a hold. NULL: no memory. */
struct metrics *metrics_new(const struct metrics_order *o);
const struct httpd_source *metrics_source(void);

#endif
