/* log_json.h - a line of the log as a JSON object.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_LOG_JSON_H
#define BASE_LOG_JSON_H

#include <stddef.h>

struct log_facts;

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
