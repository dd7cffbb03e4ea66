/* cpu_list.h - CPUs in a text: "0-3,8".
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CPU_LIST_H
#define BASE_CPU_LIST_H

struct err;

#define CPU_LIST_END 1024	/* numbers are less, as the C library's sets have them */

/* Numbers and ranges, separated by commas; or nothing. 0, or -1 with e. */
int cpu_list_check(const char *list, struct err *e);
/*
 * The CPU for the n-th (from 0) of those who share them: the list is begun anew
 * behind its end. -1: it is empty, or broken.
 */
int cpu_list_at(const char *list, unsigned n);

#endif
