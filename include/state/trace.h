/* trace.h - may what a client has done have left something in the session?
 *
 * Noted from its requests and from the tags of what is completed, from the time
 * a server is lent to the time it is given back.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_TRACE_H
#define STATE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/msg.h"

/* What a session has that no other one can be given. */
enum pin {
	PIN_TEMPORARY = 1,	/* tables and others */
	PIN_CURSOR = 2,		/* WITH HOLD */
	PIN_LOCK = 4,		/* advisory */
	PIN_PREPARED = 8,	/* by SQL */
	PIN_LISTEN = 16,
	PIN_LOADED = 32,	/* a library */
	PIN_PARAMETER = 64,	/* a custom one, whose name is not known */
	PIN_FUNCTION = 128,	/* what a function has opened, and none closes */
	PIN_LAST = PIN_FUNCTION,
	/* those that no view of PostgreSQL tells, and nothing takes back but: */
	PINS_UNTOLD = PIN_LOADED | PIN_PARAMETER | PIN_FUNCTION,
	PINS_LASTING = PIN_LOADED | PIN_FUNCTION,	/* the end of it */
};

/* Embedded in server; all zero: nothing. */
struct trace {
	unsigned sets;		/* SET and RESET that were completed */
	unsigned local;		/* SET LOCAL sent: they leave nothing */
	bool failed;		/* an error came: some were not completed */
	bool marked;		/* something else may have been left */
	bool unnamed;		/* ... an unnamed statement of those that mark
				 * was prepared: it outlives a DISCARD ALL */
	uint8_t pins;		/* of PINS_UNTOLD */
	bool unlisted;		/* custom parameters of unknown names, too */
	bool discarded;		/* all was taken back before the others */
	bool waits;		/* an unnamed statement, of those that mark, is
				 * prepared, and not run yet */
	bool drawn;		/* sequences may have given numbers, and since
				 * all was discarded, if it was */
	bool draws;		/* ... by a text that was sent, and may not have
				 * run when all was discarded */
	bool calls;		/* set_config() was sent, for a transaction */
	bool listens;		/* what its client listens to may be changed */
	bool notifies;		/* its client may have told itself something */
	bool lone;		/* one request may be all that has set anything;
				 * see keep_recall.h */
	bool lasting;		/* a statement that may leave something has a
				 * name: whoever runs it is not known, so that
				 * each request marks */
	bool binds;		/* the unnamed statement sets what its Bind
				 * has the name of; see keep.bound */
	bool unread;		/* a long text was sent: which parameters it may
				 * set was not read */
};

/* The tag of a CommandComplete; last: nothing behind it was sent. */
void trace_tag(struct trace *t, const char *tag, bool last);
/* May anything be left there? */
bool trace_is_left(const struct trace *t);
/* Has a server numbers from sequences now, that had some before, or none? */
static inline bool trace_has_drawn(const struct trace *t, bool before)
{
	return t->drawn || t->draws || (before && !t->discarded);
}

/* The next one is to be lent it. */
void trace_clear(struct trace *t);

static inline bool trace_is_any(const struct trace *t)
{
	return t->sets > 0 || t->marked || t->pins != 0 || t->discarded ||
	    t->lasting;
}

/* Hot: is it all zero? What pads it may have it taken for more. */
static inline bool trace_is_blank(const struct trace *t)
{
	uint64_t word[3];

	_Static_assert(sizeof *t == sizeof word, "all of it");
	memcpy(word, t, sizeof word);
	return (word[0] | word[1] | word[2]) == 0;
}

/* What a message of a server may have to do with all that. */
enum trace_hint {
	TRACE_NOTHING,
	TRACE_SELECTS,		/* SELECT, or what may have the same tag */
	TRACE_DRAWS,		/* INSERT, COPY, and so on: see drawn */
	TRACE_TELLS,		/* its tag is for trace_tag(), or others */
};

#define TRACE_LETTER(ch) (1u << ((ch) & 31))	/* or what is none */

/* Hot: is it a message for trace_look()? */
static inline bool trace_may_tell(uint8_t type)
{
	return type == BE_COMMAND_COMPLETE || type == BE_PORTAL_SUSPENDED;
}

/* Hot: of those, has it the tag of a SELECT, or one that looks like that? */
static inline bool trace_is_select(const uint8_t *m, size_t size)
{
	return size > MSG_HEADER + sizeof "SET" && m[MSG_HEADER] == 'S' &&
	    m[MSG_HEADER + 1] == 'E';
}

/* Hot. */
static inline enum trace_hint trace_look(const uint8_t *m, size_t size)
{
	static const uint32_t tells = TRACE_LETTER('D') | TRACE_LETTER('R') |
	    TRACE_LETTER('L') | TRACE_LETTER('P') | TRACE_LETTER('A') |
	    TRACE_LETTER('G');
	static const uint32_t draws = TRACE_LETTER('I') | TRACE_LETTER('M') |
	    TRACE_LETTER('E');
	const uint8_t *const tag = m + MSG_HEADER;

	/* an INSERT ... RETURNING may be run, and have no tag yet */
	if (m[0] == BE_PORTAL_SUSPENDED)
		return TRACE_DRAWS;
	if (m[0] != BE_COMMAND_COMPLETE || size <= MSG_HEADER + 1)
		return TRACE_NOTHING;
	if (trace_is_select(m, size))
		return TRACE_SELECTS;
	const uint32_t letter = TRACE_LETTER(tag[0]);

	if (size == MSG_HEADER + sizeof "SET" || (letter & tells) != 0 ||
	    (tag[0] == 'C' && (tag[1] == 'R' || tag[1] == 'A' ||
	    size == MSG_HEADER + sizeof "COMMIT PREPARED")))
		return TRACE_TELLS;
	if ((letter & draws) != 0)
		return tag[0] == 'I' && tag[1] == 'M' ? TRACE_TELLS :
		    TRACE_DRAWS;
	return tag[0] == 'C' && tag[2] == 'P' ? TRACE_DRAWS : TRACE_NOTHING;
}

#endif
