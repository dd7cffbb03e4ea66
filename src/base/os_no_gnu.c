/* os_no_gnu.c - what C libraries do in different ways: all but glibc.
 * SPDX-License-Identifier: ISC */
#include <time.h>

#include "base/os.h"

/* It is left to the heap. */
void os_trim(void)
{
}

/* If the wall clock is set meanwhile, this waits for another time. */
int os_sem_wait(sem_t *s, usec_t end)
{
	const usec_t wall = time_wall(end);
	const struct timespec at = { .tv_sec = wall / USEC,
		.tv_nsec = wall % USEC * 1000 };

	return sem_timedwait(s, &at);
}
