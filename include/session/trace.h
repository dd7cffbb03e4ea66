/* trace.h - may what a client has done have left something in the session?
 *
 * Noted from its requests and from the tags of what is completed, from the time
 * a server is lent to the time it is given back.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_TRACE_H
#define SESSION_TRACE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
