/* time.h - microseconds and the one clock of the loop.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t usec_t; /* a duration or a monotonic point in time */

#define USEC ((usec_t)1000000) /* one second */

/* The monotonic time of this turn of the loop: what time_update() read last. */
usec_t time_now(void);

/* Read the clock for the turn that begins. Nothing when a fake clock is set. */
void time_update(void);

/* Read the clock now; for latencies. The fake clock's value when one is set. */
usec_t time_precise(void);

/* CPU time that this thread has used so far; no fake clock changes it. */
usec_t time_thread(void);

/*
 * The process was stopped, or everything stood still, for length from about
 * begin on. Only the last time counts.
 */
void time_note_lapse(usec_t begin, usec_t length);

/*
 * The age at now of something that began at since. Time in which nobody could
 * be served makes nothing older.
 */
usec_t time_age(usec_t since, usec_t now);

/* Tests only: from now on the clock shows t and stands still; t < 0 ends it. */
void time_set_fake(usec_t t);

/*
 * Wall clock time (microseconds since 1970) of the monotonic time t. With a
 * fake clock both are the same.
 */
usec_t time_wall(usec_t t);

/*
 * "YYYY-MM-DD HH:MM:SS TZ" of the monotonic time t in the local time zone
 * (SHOW columns of kind ts). Returns buf.
 */
char *time_format(usec_t t, char *buf, size_t size);

/*
 * "YYYY-MM-DD HH:MM:SS.UUUUUU+00", a timestamptz of PostgreSQL in UTC, of wall
 * clock time. Returns buf.
 */
char *time_format_utc(usec_t wall, char *buf, size_t size);

#endif
