/* trace.h - may a client have left something in the session?
 *
 * This is noted from its requests and from command tags, while it has the
 * server.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_TRACE_H
#define STATE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/msg.h"

/* State of a session that cannot be moved to another one. */
enum pin {
	PIN_TEMPORARY = 1,	/* temporary tables and other objects */
	PIN_CURSOR = 2,		/* a cursor WITH HOLD */
	PIN_LOCK = 4,		/* a session-level advisory lock */
	PIN_PREPARED = 8,	/* PREPARE in SQL */
	PIN_LISTEN = 16,
	PIN_LOADED = 32,	/* a library */
	PIN_PARAMETER = 64,	/* a custom parameter whose name is unknown */
	PIN_FUNCTION = 128,	/* a connection or the like that a function has
				 * opened, and that nothing closes */
	PIN_LAST = PIN_FUNCTION,
	/*
	 * No view of PostgreSQL shows these. The lasting ones end only with the
	 * session.
	 */
	PINS_UNTOLD = PIN_LOADED | PIN_PARAMETER | PIN_FUNCTION,
	PINS_LASTING = PIN_LOADED | PIN_FUNCTION,
};

/* Embedded in server. All zero: nothing was left. */
struct trace {
	unsigned sets;		/* completed SETs and RESETs */
	unsigned local;		/* SET LOCALs that were sent; they leave
				 * nothing */
	bool failed;		/* an error: some of them were not completed */
	bool marked;		/* something else may have been left */
	bool unnamed;		/* an unnamed statement that may leave something
				 * was prepared; it outlives a DISCARD ALL */
	uint8_t pins;		/* bits of PINS_UNTOLD */
	bool unlisted;		/* custom parameters with unknown names may be
				 * set */
	bool discarded;		/* DISCARD ALL, before all other changes */
	bool waits;		/* an unnamed statement that may leave something
				 * is prepared and has not run yet */
	bool drawn;		/* sequences may have returned numbers, after
				 * the DISCARD ALL if there was one */
	bool draws;		/* ... by a text that may run after the DISCARD
				 * ALL */
	bool calls;		/* set_config() was sent, for the transaction
				 * only */
	bool listens;		/* the channels of the client may have
				 * changed */
	bool notifies;		/* the client may have notified itself */
	bool lone;		/* one request may be the only change; see
				 * keep_recall.h */
	bool lasting;		/* a named statement may leave something. Who
				 * runs it is unknown, so each request may */
	bool binds;		/* the Bind of the unnamed statement has the
				 * name of a parameter that it sets; see
				 * keep.bound */
	bool unread;		/* a long text was sent: the names of parameters
				 * in it are unknown */
};

/*
 * Takes the tag of a CommandComplete. last: no other statement was sent after
 * it.
 */
void trace_tag(struct trace *t, const char *tag, bool last);
/* May something have been left? */
bool trace_is_left(const struct trace *t);
/*
 * May lastval() return a number now? before: it could when the server was lent.
 */
static inline bool trace_has_drawn(const struct trace *t, bool before)
{
	return t->drawn || t->draws || (before && !t->discarded);
}

/* A new client is lent the server. */
void trace_clear(struct trace *t);

static inline bool trace_is_any(const struct trace *t)
{
	return t->sets > 0 || t->marked || t->pins != 0 || t->discarded ||
	    t->lasting;
}

/*
 * Hot: are all fields zero? Padding that is not zero only costs a closer look.
 */
static inline bool trace_is_blank(const struct trace *t)
{
	uint64_t word[3];

	_Static_assert(sizeof *t == sizeof word, "all of it");
	memcpy(word, t, sizeof word);
	return (word[0] | word[1] | word[2]) == 0;
}

/* How a message of a server may matter for the trace. */
enum trace_hint {
	TRACE_NOTHING,
	TRACE_SELECTS,		/* SELECT, or a message that may have this
				 * tag */
	TRACE_DRAWS,		/* INSERT, COPY and others that may draw from a
				 * sequence */
	TRACE_TELLS,		/* it is for trace_tag() */
};

#define TRACE_LETTER(ch) (1u << ((ch) & 31))

/* Hot: is it a message for trace_look()? */
static inline bool trace_may_tell(uint8_t type)
{
	return type == BE_COMMAND_COMPLETE || type == BE_PORTAL_SUSPENDED;
}

/* Hot: does the message have the tag of a SELECT, or a similar one? */
static inline bool trace_is_select(const uint8_t *m, size_t size)
{
	return size > MSG_HEADER + sizeof "SET" && m[MSG_HEADER] == 'S' &&
	    m[MSG_HEADER + 1] == 'E';
}

/* Hot: a glance at a message of a server. */
static inline enum trace_hint trace_look(const uint8_t *m, size_t size)
{
	static const uint32_t tells = TRACE_LETTER('D') | TRACE_LETTER('R') |
	    TRACE_LETTER('L') | TRACE_LETTER('P') | TRACE_LETTER('A') |
	    TRACE_LETTER('G');
	static const uint32_t draws = TRACE_LETTER('I') | TRACE_LETTER('M') |
	    TRACE_LETTER('E');
	const uint8_t *const tag = m + MSG_HEADER;

	/* an INSERT ... RETURNING may run without a tag yet */
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
