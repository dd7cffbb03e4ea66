/* perf_script.h - what "perf script -F tid,time,ip,sym,dso" prints, as stacks.
 *
 * A sample is a line with a thread and a time, a line per frame from the
 * innermost on, and an empty line. Names come from any program: nothing is
 * taken for granted of them.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PERF_SCRIPT_H
#define CTL_PERF_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/time.h"

struct stacks;

#define PERF_FIELDS "tid,time,ip,sym,dso"
#define PERF_FRAMES_MAX 127	/* as the kernel's usual limit */
#define PERF_NAME_BYTES 160
#define PERF_STACK_BYTES (PERF_FRAMES_MAX * 64)

/* All zero at first but for these three. */
struct perf_script {
	struct stacks *stacks;	/* borrowed */
	const char *program;	/* file name, not put in stacks */
	/*
	 * 0: each sample counts one. Else the samples are changes of threads:
	 * counted is the time from the change away from this thread to the next
	 * change to it.
	 */
	pid_t away;

	/* private */
	bool open, failed;	/* in a sample; no memory */
	pid_t thread;
	usec_t at, left;	/* time of the sample; of the one left at, or 0 */
	unsigned frames;
	char names[PERF_FRAMES_MAX][PERF_NAME_BYTES];	/* innermost first */
	char stack[PERF_STACK_BYTES];	/* stack where the thread left */
};

/* One line, with or without its line end. */
void perf_script_line(struct perf_script *p, const char *line);
/* Returns 0, or -1: not enough memory for all samples. */
int perf_script_end(struct perf_script *p);

#endif
