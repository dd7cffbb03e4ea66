/* check.h - --check: is a configuration file free of problems?
 * SPDX-License-Identifier: ISC */
#ifndef APP_CHECK_H
#define APP_CHECK_H

/* Print every problem, and how many there are, to stdout. The exit code. */
int check_run(const char *path);

#endif
