/* log_thread.h - the log is written by threads, so that the loop never waits.
 * SPDX-License-Identifier: ISC */
#ifndef IO_LOG_THREAD_H
#define IO_LOG_THREAD_H

/*
 * From now on lines are queued, and a thread for each destination writes them
 * in their order: a disk that hangs, a pipe that nobody reads or a syslog
 * daemon that is stuck holds up nobody else. A queue has an end: what finds no
 * room is counted, and one line tells. When the process crashes what is queued
 * is written first.
 *
 * Once, after the last fork.
 */
void log_thread_start(void);

#endif
