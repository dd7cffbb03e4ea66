/* log_line.h - the form of a line of the log: text or JSON.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_LOG_LINE_H
#define BASE_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/log.h"

struct log_facts;

#define LOG_MESSAGE_SIZE 2048	/* prefix and message are cut at 2047 */
#define LOG_COOKED_SIZE (2 * LOG_MESSAGE_SIZE)	/* all newlines */
/* each byte may be six in JSON; the other members need some hundred */
#define LOG_LINE_SIZE (6 * LOG_MESSAGE_SIZE + 2048)

struct log_line {
	enum log_level level;
	struct timespec when;	/* by the wall clock */
	const struct log_facts *who;	/* NULL: nobody */
	const char *raw;	/* without prefix, any bytes */
	const char *cooked;	/* with prefix, of printable lines */
};

/* As the line has it. */
const char *log_line_level(enum log_level level);
/* The priority of syslog and the journal. */
int log_line_priority(enum log_level level);

/*
 * The n bytes of message (a NUL behind them) as text: newlines are followed by
 * a TAB, other control characters, also raw C1 bytes, are "?" (section 2).
 */
void log_line_cook(const char *message, size_t n, char *buf, size_t size);

/* The whole line with its newline; returns its length. */
size_t log_line_write(const struct log_line *l, bool json, char *buf,
    size_t size);

/* "2026-01-31 09:05:00.123 UTC", or RFC 3339: "2026-01-31T09:05:00.123+00:00" */
const char *log_line_time(const struct timespec *when, bool rfc3339,
    char *buf, size_t size);
struct timespec log_line_now(void);

/* A line of the log as a JSON object. */

struct log_event {
	const char *time;	/* RFC 3339 */
	const char *level;
	const struct log_facts *who;	/* NULL: nobody */
	const char *message;	/* any bytes */
};

/*
 * One object and a newline, at most size bytes, into buf. Keys: time, pid,
 * level; side, ptr, database, user, address (or peer, address), traceparent;
 * message.
 * Returns its length; 0: no memory, or no room.
 */
size_t log_json_write(const struct log_event *ev, char *buf, size_t size);

#endif
