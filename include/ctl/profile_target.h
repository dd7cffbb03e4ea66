/* profile_target.h - which process is looked at.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_PROFILE_TARGET_H
#define CTL_PROFILE_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

struct ctl_options;
struct err;

struct profile_target {
	pid_t pid;
	char program[64];	/* file name of its program */
};

/*
 * --pid, else the process of --config's pidfile, else the only one whose
 * command line has --pattern in it, or at all. 0, or -1 with e.
 */
int profile_target_find(struct profile_target *t,
    const struct ctl_options *o, struct err *e);

bool profile_target_lives(const struct profile_target *t);

/* Is name the pooler's program, and none of its companions? */
bool profile_target_is_name(const char *name);

#endif
