/* os_gnu.c - what C libraries do in different ways: glibc.
 * SPDX-License-Identifier: ISC */
#include <malloc.h>
#include <time.h>

#include "base/os.h"

void os_trim(void)
{
	(void)malloc_trim(0);
}

int os_sem_wait(sem_t *s, usec_t end)
{
	const struct timespec at = { .tv_sec = end / USEC,
		.tv_nsec = end % USEC * 1000 };

	return sem_clockwait(s, CLOCK_MONOTONIC, &at);
}
