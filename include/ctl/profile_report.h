/* profile_report.h - what a profile says: tables, files.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PROFILE_REPORT_H
#define CTL_PROFILE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/time.h"
#include "ctl/stacks.h"

struct err;

struct profile_report {
	struct stacks stacks;	/* sorted */
	bool off_cpu;
	usec_t took;
	char title[160];	/* "pgsluice, pid 12" */
};

void profile_report_print(const struct profile_report *r, FILE *out);

/* Make the folder, if it is not there, and see that it takes files. */
int profile_report_prepare(const char *dir, struct err *e);
/* on-cpu.folded, on-cpu.svg in dir, or off-cpu. 0, or -1 with e. */
int profile_report_save(const struct profile_report *r, const char *dir,
    struct err *e);

#endif
