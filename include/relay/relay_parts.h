/* relay_parts.h - what the files of the relay share; for relay*.c only.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_PARTS_H
#define RELAY_RELAY_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool/close_reason.h"
#include "proto/msg.h"
#include "proto/track.h"
#include "relay/relay.h"
#include "session/carry.h"
#include "session/client.h"
#include "session/server.h"

/* What follows after a message was looked at. */
enum relay_step {
	RELAY_NEXT,	/* go on with the next one */
	RELAY_SHORT,	/* the rest of it must be here first */
	RELAY_STOP,	/* the connection waits, or was closed */
};

/* A burst from a client, on its way to its server. */
struct relay_up {
	struct client *c;
	struct server *s;	/* NULL: none is linked yet */
	uint32_t max;		/* max_packet_size */
	bool named, caches, watched;	/* see relay_up_burst() */
	struct outbox out;	/* to s */
	size_t injected;	/* bytes of texts in out; see has_room() */
	const uint8_t *m;	/* the message at hand, header first */
	size_t size;		/* of the whole message */
	size_t have;		/* bytes of it (and behind it) in the burst */
	size_t used;		/* set by the handler: bytes done with */
	bool owed, told;	/* when it came, by s: all in force */
	const uint8_t *start, *first;	/* of it; see relay_repeat.h, or NULL */
	const uint8_t *seen, *bound;	/* see relay_share.c; and these: */
	bool sets, calls, parsed;
	const uint8_t *read;	/* the message whose text was read last; or NULL */
	uint32_t effects;	/* ... and what it may do */
	bool late;		/* the turn is over: the rest is carried */
	struct {
		struct prepared_name *of;	/* or NULL: none */
		const char *portal;
	} learns;			/* see relay_columns_bound() */
};

/* One burst from a server, on its way to its client. */
struct relay_down {
	struct server *s;
	struct client *c;	/* NULL: none is linked */
	struct outbox out;	/* to c */
	const uint8_t *m;
	size_t size, have, used;
	uint32_t max;		/* max_packet_size */
	const uint8_t *rows_end;	/* behind rows or their columns; or NULL */
	bool late;		/* as in relay_up */
};

/*
 * All of b that can go goes to up->s, up to where c has to wait; the rest is
 * carried. up->c, s and max are set. Returns false when c was closed.
 */
bool relay_up_burst(struct relay_up *up, const struct burst *b);
/* The same from a server; d->c, s and max are set. False: s was closed. */
bool relay_down_burst(struct relay_down *d, const struct burst *b);


/* Must c wait? Not while it is the client that the server waits for. */
static inline bool relay_must_hold(const struct client *c,
    const struct server *s)
{
	return c->relay.hold && c->rest.bytes == 0 &&
	    !track_is_empty(&s->track) && !track_wants_data(&s->track) &&
	    !track_is_unsure(&s->track);
}

#define RELAY_SET_CONFIG 2078	/* the number of pg_catalog.set_config() */
#define RELAY_SET_CONFIG_TEXT "SELECT set_config($1, $2, $3)"
/* Is the message a FunctionCall of set_config()? */
static inline bool relay_calls_set_config(const struct relay_up *up)
{
	return up->m[0] == FE_FUNCTION_CALL && up->size >= MSG_HEADER + 4 &&
	    up->have >= MSG_HEADER + 4 &&
	    msg_u32(up->m + MSG_HEADER) == RELAY_SET_CONFIG;
}
/* Behind the number all is as in a Bind behind its names. */
static inline const uint8_t *relay_call_values(const struct relay_up *up)
{
	return up->m + MSG_HEADER + 4;
}

/*
 * Hot: bytes of whole messages that come next (the first one is for a server),
 * pass as they are, and are noted as owed and no more; 0: none.
 */
size_t relay_run_up(struct relay_up *up);
/* The same from a server: they change nothing but what is owed. */
size_t relay_run_down(struct relay_down *d);

/* As bulk_move(), where that may be; what is not linked is NULL. */
ssize_t relay_read_up(struct client *c, struct server *s, struct burst *b,
    size_t max);
ssize_t relay_read_down(struct server *s, struct client *c, struct burst *b,
    size_t max);

/*
 * What c was not told is known: it is told now, unless it is not in force yet.
 * False: then, or when c is closed.
 */
bool relay_knows_end(struct client *c);

/* A query of the client is answered in full; status is that it ended with. */
void relay_note_end(struct client *c, char status);
/* The same of one of a pipeline: the next one goes on, or begins a transaction. */
void relay_note_next(struct client *c, char status);

/* A whole error: is something else, in the outbox, told in its place? */
bool relay_reword_error(struct relay_down *d);
/* A whole error: does it say that nobody else shall have the server? */
void relay_note_error(struct relay_down *d);

#define RELAY_NAMES_MAX 65536	/* bytes in which a message must tell its names */
#define RELAY_SMALL_MAX (1 << 20)	/* bytes of what must be whole to be read */

/*
 * What the text of the Query or Parse at hand may do, of effects.h; it is read once.
 * One that is long, or not whole, is not read.
 */
uint32_t relay_effects(struct relay_up *up);
/* The same of a text of the same client, of another message. */
uint32_t relay_effects_of(const struct relay_up *up, const char *sql, size_t n);

/* No request is open that this message could belong to: drop it. */
enum relay_step relay_drop(struct relay_up *up);
/*
 * A message of a batch that was given up before it had a server. Like the
 * server, drop all up to the Sync, and answer that.
 */
enum relay_step relay_discard(struct relay_up *up);
/* Forward what is here of the message; the rest follows as it comes. */
void relay_pass(struct relay_up *up);
/* The same, and remember that a reply is owed. */
enum relay_step relay_request(struct relay_up *up);
/* A reply of our own to the client; in order with the server's. */
enum relay_step relay_fake(struct relay_up *up, char type, void *op);
/* The reply to a Parse or Close that the server never saw. */
void relay_send_fake(struct outbox *to_client, char type);
/* What comes next, or this if the step is returned, waits for all answers. */
enum relay_step relay_wait(struct relay_up *up);
/* Close the client with an error; send first what came before. */
enum relay_step relay_fail(struct relay_up *up, enum close_reason reason);
enum relay_step relay_fail_cause(struct relay_up *up, struct close_cause why);
/* The same of want of memory; what came before may be lost. */
enum relay_step relay_no_memory(struct relay_up *up);

/*
 * track.uncertain of c's server: may c go on? Asks the server, when that is
 * needed and can be done; that may fail as any write. Returns false when both
 * were closed.
 */
bool relay_probe(struct client *c);

/* Is the text at hand one that must be known, being short, and not whole yet? */
bool relay_is_cut(const struct relay_up *up);

/* There is no room for the text of a Parse: it shall fail. */
enum relay_step relay_refuse_parse(struct relay_up *up);
/* The Parse has failed: tell the client why. */
void relay_send_refusal(struct outbox *to_client, const struct client *c);

/*
 * Is it open what has become of the name (NULL: no matter) or of stmt (NULL:
 * likewise)? An earlier pipeline may still fail, and what it changed is then
 * undone, but not what this one does.
 */
bool relay_is_open(const struct server *s, const char *name,
    const struct prepared *stmt);

#endif
