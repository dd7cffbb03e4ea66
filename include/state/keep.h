/* keep.h - settings follow the client from server to server.
 *
 * Once a client may have changed something, its server is asked what there is
 * (OWN_QUERY_PROBE): settings are the client's from then on, and whoever is lent
 * that server next has it set to its own. What can't be moved pins the server.
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
 * Ahead of queries of our own: with the client's defaults they might wait until
 * others have ended their transactions.
 */
#define KEEP_BEGIN \
	"SET TRANSACTION ISOLATION LEVEL READ COMMITTED,NOT DEFERRABLE;"

/*
 * A parameter of ours, whose value is undone with all that follows it in a
 * transaction: what tells that.
 */
#define KEEP_BRING "pgsluice.brings"
#define KEEP_BRINGS \
	"SELECT '!b',pg_catalog.current_setting('" KEEP_BRING "',true)"

/* Is a server being given the settings of a client that it is lent to? */
enum lending {
	LENDING_OVER,
	LENDING_UNTRIED,	/* no server has had them */
	LENDING_TRIED,		/* PostgreSQL has taken them before */
};

/* Do servers know what their client listens to? See listener.h. */
enum brought {
	BROUGHT_NOTHING,
	BROUGHT,
	BROUGHT_INSIDE,		/* in a transaction: it may be undone */
	BROUGHT_ASKED,		/* ... and the server was asked for that */
};

/* Embedded in server; all zero: nothing is known. */
struct keep {
	struct baggage *has;	/* counted; what is set in it */
	struct baggage *base;	/* counted; the same before anybody had it, with
				 * its role, and custom parameters in each case */
	struct custom_count known;	/* names that base was asked for */
	struct custom_count asked;	/* the same, with the question under way */
	bool beyond;		/* a value has taken the place of one that is not
				 * in base, as nobody has asked for it */
	struct writer rows;	/* of a probe: names and values */
	struct writer channels;	/* of a probe: names */
	uint32_t resets;	/* by bits; see keep_resets.h */
	uint32_t bring;		/* by which the server knows what was brought */
	uint8_t brought;	/* enum brought */
	bool confirmed;		/* that was not undone */
	bool undone;		/* it may have been */
	bool discarded;		/* all was, in what the probe is about */
	bool surplus;		/* it listens to more than can be moved */
	bool leaves, marks;	/* it was told to listen no more; to a mark */
	uint8_t pins;		/* of enum pin */
	uint8_t found;		/* the same, by the probe under way */
	uint8_t tries;		/* of one probe */
	bool canceled;		/* the last one was */
	bool accented;		/* a value is not all ASCII */
	bool unlisted;		/* custom parameters may have unknown names */
	bool settled, pins_first; /* all of that is of now; it had none before */
	struct keep_text *text;	/* owned; see keep_recall.h; or NULL */
	struct custom *names;	/* owned; see custom_table.h; or NULL */
	uint32_t bound;		/* of the unnamed statement; see trace.binds
				 * and custom.h */
	bool excess;		/* max_pinned had been reached before it */
	bool refused;		/* max_pinned: its client can't have it */
	bool strange;		/* it had what others have set before that */
	bool worn;		/* others have had it before its client */
	bool fresh;		/* its client was lent it, and has asked nothing */
	bool temporary;		/* new tables may be temporary ones */
	bool tabled;		/* it has had some since it was opened */
	bool drawn;		/* sequences may have given it numbers */
	uint8_t lending;	/* enum lending */
	struct flight *flight;	/* owned; NULL: no SETs go with a request */
};

void keep_fini(struct server *s);

/* Do they count towards max_pinned? What is listened to moves. */
static inline bool keep_counts(unsigned pins)
{
	return (pins & ~(unsigned)PIN_LISTEN) != 0;
}

/* The setter of keep.pins. */
void keep_set_pins(struct server *s, unsigned pins);
#define KEEP_PINS_MAX 80
/* Their names, by commas. */
const char *keep_name_pins(unsigned pins, char text[KEEP_PINS_MAX]);

static inline bool keep_is_on(const struct pool *p)
{
	return p->limits.state == STATE_KEEP;
}

/* Is a client given what it has come with? In session mode, for the session. */
static inline bool keep_sets(const struct pool *p)
{
	return p->limits.state != STATE_FORGET ||
	    p->limits.mode == POOL_SESSION;
}

/*
 * A transaction of c is over, and c would give s back. Returns false when it
 * does not yet, or not at all: s was asked what there is, or is pinned.
 */
bool keep_lets_go(struct client *c, struct server *s);
void keep_ask(struct server *s, enum own_query query);
/* A row of the answer. */
void keep_take_row(struct server *s, const void *row, size_t size);
/* An error is: may it be asked again? */
bool keep_asks_again(struct server *s, const char *code);
/* The answer is complete; c may be NULL. False: s was asked again, or closed. */
bool keep_answered(struct server *s, struct client *c);
/*
 * Is known what s had before clients had it, of all names that are known now,
 * and of those that c, which may be NULL, brings? False: it is asked, or closed.
 */
bool keep_knows_base(struct server *s, struct client *c);
/* That answer is complete. False: it was asked again, or closed. */
bool keep_based(struct server *s);
void keep_note_path(struct server *s);
/* DISCARD ALL was the last of what its client has left in s. */
void keep_discarded(struct server *s);
/* May s, which clients have had, have what its pool does not take back? */
bool keep_is_strange(const struct server *s);
/* s was cleaned. */
void keep_cleaned(struct server *s);

/*
 * What c is to have on s. NULL: no memory, or there is none, as the pool sets
 * nothing; then neither has any.
 */
struct baggage *keep_wanted(struct client *c, struct server *s);
/*
 * The SQL that makes s so, behind that of params.h; how many queries. actor: SQL
 * by which another user acts; or NULL.
 */
int keep_write_sql(const struct server *s, const struct baggage *want,
    const char *actor, struct writer *w);

#endif
