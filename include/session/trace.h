/* trace.h - may what a client has done have left something in the session?
 *
 * Noted from its requests and from the tags of what is completed, from the time
 * a server is lent to the time it is given back.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_TRACE_H
#define SESSION_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

/* Embedded in server; all zero: nothing. */
struct trace {
	unsigned sets;		/* SET and RESET that were completed */
	unsigned local;		/* SET LOCAL sent: they leave nothing */
	bool failed;		/* an error came: some were not completed */
	bool marked;		/* something else may have been left */
	bool prepared;		/* a statement, by SQL, among it */
	bool loaded;		/* a library: nothing takes that back */
	bool unlisted;		/* custom parameters of unknown names, too */
	bool discarded;		/* all was taken back before the others */
	bool drawn;		/* sequences may have given numbers */
	bool lasting;		/* a statement that may leave something has a
				 * name: whoever runs it is not known */
};

/* The tag of a CommandComplete; last: nothing behind it was sent. */
void trace_tag(struct trace *t, const char *tag, bool last);
/* May anything be left there? */
bool trace_is_left(const struct trace *t);
/* The next one is to be lent it. */
void trace_clear(struct trace *t);

static inline bool trace_is_any(const struct trace *t)
{
	return t->sets > 0 || t->marked || t->loaded || t->discarded ||
	    t->lasting;
}

/* Hot: is this message of a server one with a tag for trace_tag()? */
static inline bool trace_may_tell(const uint8_t *m, size_t size)
{
	/* a bit for each letter; what is none may well be taken for one */
	static const uint32_t first = 1u << ('D' & 31) | 1u << ('R' & 31) |
	    1u << ('L' & 31) | 1u << ('P' & 31);
	const uint8_t *const tag = m + MSG_HEADER;

	return m[0] == BE_COMMAND_COMPLETE && size > MSG_HEADER + 1 &&
	    (first >> (tag[0] & 31) & 1 || (tag[0] == 'C' && tag[1] == 'R') ||
	    size == MSG_HEADER + sizeof "SET");
}

#endif
