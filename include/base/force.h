/* force.h - what is rare happens all the time, in builds that look for errors.
 *
 * PGSLUICE_FORCE=handover: each server that is released goes to another worker.
 * PGSLUICE_FORCE=moves: each client goes to another worker after each transaction.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_FORCE_H
#define BASE_FORCE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_FORCE
static inline bool force_is_on(const char *what)
{
	const char *const env = getenv("PGSLUICE_FORCE");

	return env != NULL && strstr(env, what) != NULL;
}
#else
static inline bool force_is_on(const char *what)
{
	(void)what;
	return false;
}
#endif

#endif
