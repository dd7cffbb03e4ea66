/* keep.h - settings follow the client from server to server.
 *
 * If a client may have changed its session, the server is asked for its state
 * (OWN_QUERY_PROBE). Settings then belong to the client, and the next client of
 * that server gets its own. State that cannot be moved pins the server.
 * (session_state = keep; spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef STATE_KEEP_H
#define STATE_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/pool.h"
#include "proto/msg.h"
#include "session/own_query.h"
#include "state/custom_table.h"
#include "state/trace.h"

struct baggage;
struct client;
struct custom;
struct flight;
struct keep_text;
struct server;

/*
 * Each own query begins with this. With the client's default isolation level it
 * might wait for other transactions.
 */
#define KEEP_BEGIN \
	"SET TRANSACTION ISOLATION LEVEL READ COMMITTED,NOT DEFERRABLE;"

/*
 * A custom parameter of our own. Its value is undone together with the LISTENs
 * that follow it in a transaction, so it tells whether those are in force.
 */
#define KEEP_BRING "pgsluice.brings"
#define KEEP_BRINGS \
	"SELECT '!b',pg_catalog.current_setting('" KEEP_BRING "',true)"

/* Is a server being given the settings of the client that was lent it? */
enum lending {
	LENDING_OVER,
	LENDING_UNTRIED,	/* no server has accepted these settings yet */
	LENDING_TRIED,		/* a server has accepted them before */
};

/* Do servers know the channels that their client listens to? See listener.h. */
enum brought {
	BROUGHT_NOTHING,
	BROUGHT,
	BROUGHT_INSIDE,		/* in a transaction, which may be undone */
	BROUGHT_ASKED,		/* ... and the server was asked whether it
				 * was */
};

/* Embedded in server. All zero: nothing is known. */
struct keep {
	struct baggage *has;	/* counted: the settings of the session */
	struct baggage *base;	/* counted: the settings before the first
				 * client, with the role, and with custom
				 * parameters even if they have their default */
	struct custom_count known;	/* the names that base was asked for */
	struct custom_count asked;	/* the names that the current question
					 * asks for */
	bool beyond;		/* a value has replaced one that is not in base,
				 * because nobody had asked for it */
	struct writer rows;	/* rows of the probe: names and values */
	struct writer channels;	/* rows of the probe: channels */
	uint32_t resets;	/* bits: see keep_resets.h */
	uint32_t bring;		/* the value of KEEP_BRING for the current
				 * channels */
	uint8_t brought;	/* enum brought */
	bool confirmed;		/* the probe found that value */
	bool undone;		/* a transaction was undone, perhaps with the
				 * channels */
	bool discarded;		/* the probe is about a DISCARD ALL */
	bool surplus;		/* the server listens to more channels than can
				 * be moved */
	bool leaves, marks;	/* it was sent UNLISTEN; it was sent a mark */
	uint8_t pins;		/* bits of enum pin */
	uint8_t found;		/* pins found by the current probe */
	uint8_t tries;		/* tries of the current probe */
	bool canceled;		/* the last try was canceled */
	bool accented;		/* a value contains letters that are not
				 * ASCII */
	bool unlisted;		/* custom parameters with unknown names may be
				 * set */
	bool settled, pins_first; /* the probe is complete; there were no pins
				   * before it */
	struct keep_text *text;	/* owned, or NULL; see keep_recall.h */
	struct custom *names;	/* owned, or NULL; see custom_table.h */
	uint32_t bound;		/* of the unnamed statement; see trace.binds and
				 * custom.h */
	bool excess;		/* max_pinned was exceeded by this pin */
	bool refused;		/* max_pinned: the client cannot keep it */
	bool strange;		/* it had settings of other clients when it was
				 * lent */
	bool worn;		/* other clients have had it */
	bool fresh;		/* the client was lent it just now, and has sent
				 * nothing */
	bool temporary;		/* new tables may be temporary, by
				 * search_path */
	bool tabled;		/* it has had temporary tables */
	bool drawn;		/* sequences may have returned numbers:
				 * lastval() */
	uint8_t lending;	/* enum lending */
	struct flight *flight;	/* owned; NULL: no SETs are on their way with a
				 * request */
};

void keep_fini(struct server *s);

/*
 * Do these pins count towards max_pinned? Channels do not, because they move.
 */
static inline bool keep_counts(unsigned pins)
{
	return (pins & ~(unsigned)PIN_LISTEN) != 0;
}

/* The setter of keep.pins. It counts pinned servers. */
void keep_set_pins(struct server *s, unsigned pins);
#define KEEP_PINS_MAX 80
/* The names of the pins, separated by commas. */
const char *keep_name_pins(unsigned pins, char text[KEEP_PINS_MAX]);

static inline bool keep_is_on(const struct pool *p)
{
	return p->limits.state == STATE_KEEP;
}

/*
 * Does the pool set what a client brought? In session mode it does, for the
 * session.
 */
static inline bool keep_sets(const struct pool *p)
{
	return p->limits.state != STATE_FORGET ||
	    p->limits.mode == POOL_SESSION;
}

/*
 * A transaction of c is over. May c release s now? False: s was asked for its
 * state, or is pinned.
 */
bool keep_lets_go(struct client *c, struct server *s);
void keep_ask(struct server *s, enum own_query query);
/* Takes a row of the answer. */
void keep_take_row(struct server *s, const void *row, size_t size);
/* The probe has failed. May it be sent again? */
bool keep_asks_again(struct server *s, const char *code);
/*
 * The answer is complete; c may be NULL. False: s was asked again, or closed.
 */
bool keep_answered(struct server *s, struct client *c);
/*
 * Are the values known that s had before its first client, for all names that
 * are known now and those that c brings? c may be NULL. False: s is asked, or
 * closed.
 */
bool keep_knows_base(struct server *s, struct client *c);
/* The answer to that is complete. False: s was asked again, or closed. */
bool keep_based(struct server *s);
void keep_note_path(struct server *s);
/* DISCARD ALL was the last change that a client made in s. */
void keep_discarded(struct server *s);
/* May s have settings that its pool does not take back? */
bool keep_is_strange(const struct server *s);
/* A cleaning of s is complete. */
void keep_cleaned(struct server *s);

/*
 * Returns the settings that c wants on s; counted. NULL: no memory, or the pool
 * sets nothing.
 */
struct baggage *keep_wanted(struct client *c, struct server *s);
/*
 * Writes the SQL that gives s the settings `want`; it belongs after that of
 * params.h. actor: SQL that changes the user, or NULL. Returns the number of
 * queries.
 */
int keep_write_sql(const struct server *s, const struct baggage *want,
    const char *actor, struct writer *w);

#endif
