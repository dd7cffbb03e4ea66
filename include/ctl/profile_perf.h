/* profile_perf.h - perf(1), run for a while on one process.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PROFILE_PERF_H
#define CTL_PROFILE_PERF_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/time.h"

struct err;
struct perf_script;

#define PROFILE_HZ 997		/* not in step with what comes by the clock */

struct profile_perf {
	const char *dir;	/* for its files; see profile_perf_open() */
	pid_t pid;
	bool off_cpu;
	usec_t time;

	/* results */
	usec_t took;
	bool interrupted;	/* by a signal: Ctrl-C */
};

/*
 * Record. Signals end it early, which is no failure; neither is the end of the
 * process. 0, or -1 with e: what is missing, and what to do about it.
 */
int profile_perf_record(struct profile_perf *p, struct err *e);

/* Read what was recorded, line by line. 0, or -1 with e. */
int profile_perf_read(const struct profile_perf *p, struct perf_script *to,
    struct err *e);

/* A folder of our own in TMPDIR, and its end. 0, or -1 with e. */
int profile_perf_open(char *dir, size_t size, struct err *e);
void profile_perf_close(const char *dir);

#endif
