/* wall.c - for LD_PRELOAD: a wall clock that somebody sets. It is as many
 * seconds ahead as the file $WALL has bytes, or behind if it is not to be
 * written (mode 0444). The monotonic clock goes on as ever.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

static time_t ahead(void)
{
	const char *const path = getenv("WALL");
	struct stat st;

	if (path == NULL || stat(path, &st) != 0)
		return 0;
	return (st.st_mode & S_IWUSR) != 0 ? st.st_size : -st.st_size;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*const real)(clockid_t, struct timespec *) =
	    (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT,
	    "clock_gettime");
	const int rc = real(clock, now);

	if (rc == 0 && (clock == CLOCK_REALTIME ||
	    clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += ahead();
	return rc;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec t;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &t) != 0)
		return -1;
	now->tv_sec = t.tv_sec;
	now->tv_usec = t.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec t;

	if (clock_gettime(CLOCK_REALTIME, &t) != 0)
		return -1;
	if (out != NULL)
		*out = t.tv_sec;
	return t.tv_sec;
}
