/* time.c - microseconds and the one clock of the loop.
 * SPDX-License-Identifier: ISC */
#include "base/time.h"

#include <stdio.h>
#include <time.h>

/* Time read by time_update(); 0 before that. Each loop has its own turns. */
static _Thread_local usec_t turn;
static usec_t fake = -1; /* shown instead of the clock when >= 0 */

static _Thread_local struct {
	usec_t begin, length;
} lapse; /* of the thread's loop, the last one; 0 = none */

static usec_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	/* (dividing what is small and has no sign takes two instructions) */
	return (usec_t)ts.tv_sec * USEC + (uint32_t)ts.tv_nsec / 1000;
}

usec_t time_precise(void)
{
	return fake >= 0 ? fake : read_clock(CLOCK_MONOTONIC);
}

/* Out of line: else each of many that ask for the time has a struct timespec. */
__attribute__((noinline)) void time_update(void)
{
	if (fake < 0)
		turn = read_clock(CLOCK_MONOTONIC);
}

/* (POSIX, Thread CPU-Time Clocks) */
usec_t time_thread(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

usec_t time_now(void)
{
	if (fake >= 0)
		return fake;
	if (turn == 0)
		time_update();
	return turn;
}

void time_note_lapse(usec_t begin, usec_t length)
{
	lapse.begin = begin;
	lapse.length = length;
}

usec_t time_age(usec_t since, usec_t now)
{
	return now - since - (since < lapse.begin ? lapse.length : 0);
}

void time_set_fake(usec_t t)
{
	fake = t;
	turn = 0;
}

usec_t time_wall(usec_t t)
{
	if (fake >= 0)
		return t;
	return read_clock(CLOCK_REALTIME) - (read_clock(CLOCK_MONOTONIC) - t);
}

char *time_format_utc(usec_t wall, char *buf, size_t size)
{
	const usec_t rest = (wall % USEC + USEC) % USEC;
	const time_t sec = (time_t)((wall - rest) / USEC);
	struct tm tm;
	char day[32];

	if (gmtime_r(&sec, &tm) == NULL ||
	    strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm) == 0 ||
	    snprintf(buf, size, "%s.%06d+00", day, (int)rest) >= (int)size)
		buf[0] = '\0';
	return buf;
}

char *time_format(usec_t t, char *buf, size_t size)
{
	const usec_t wall = time_wall(t);
	const time_t sec = (time_t)(wall / USEC - (wall % USEC < 0));
	struct tm tm;

	if (localtime_r(&sec, &tm) == NULL ||
	    strftime(buf, size, "%Y-%m-%d %H:%M:%S %Z", &tm) == 0)
		buf[0] = '\0';
	return buf;
}
