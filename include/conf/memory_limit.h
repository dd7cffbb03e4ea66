/* memory_limit.h - what the setting of that name means on this machine.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_MEMORY_LIMIT_H
#define CONF_MEMORY_LIMIT_H

#include <stddef.h>

struct err;

/* A number of bytes, with or without a unit; "auto"; 0: none. 0, or -1 with e. */
int memory_limit_parse(const char *value, size_t *bytes, struct err *e);

/*
 * The least memory that the cgroups of groups (a text as /proc/self/cgroup) have,
 * whose folders stand in root (/sys/fs/cgroup). 0: they have no limit.
 */
size_t memory_limit_of_cgroup(const char *groups, const char *root);

#endif
