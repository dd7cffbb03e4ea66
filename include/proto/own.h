/* own.h - the unnamed statement of a client, and which server has it.
 *
 * PostgreSQL keeps one for each session: until the next Parse without a name,
 * a Close, or a Query. A session of ours has many servers. So the last Parse is
 * kept, with a number that no other one has, and a server has the number of
 * the Parse whose statement it has. (spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_OWN_H
#define PROTO_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/prepared_shape.h"

struct track;

#define OWN_MAX 8192		/* bytes of a Parse that is kept */
#define OWN_NONE 0u		/* there is no unnamed statement */
#define OWN_UNKNOWN UINT64_MAX	/* of a server: any, or none */

/* What a request that is owed does to the unnamed statement. */
enum own_mark {
	OWN_NOTHING,
	OWN_CHANGE,	/* of the client: the statement is another one, or none */
	OWN_AGAIN,	/* of ours: the server is to have what its client has */
	/* these do nothing to it: */
	OWN_TOLD,	/* the client is told the shape of its statement */
	OWN_ASKED,	/* we are: behind an OWN_AGAIN */
};

/* May a request that is owed be skipped, so that something is undone? */
enum own_state {
	OWN_SETTLED,	/* no */
	OWN_REPEATED,	/* an OWN_AGAIN may be: the server has another one then */
	OWN_OPEN,	/* changes may be */
};

/* A Parse, header first. */
struct own_text {
	uint8_t *at;		/* owned */
	uint32_t len, size;	/* len 0: not known, or none */
	struct prepared_shape told;	/* of it, to the client */
};

/* Embedded in relay_state; all zero: none. */
struct own {
	uint64_t serial;	/* of the newest change; OWN_NONE */
	struct own_text text;	/* of that */
	uint8_t state;		/* enum own_state */
	bool doubt;	/* *server is OWN_UNKNOWN, but has the newest one, if
			 * nothing is skipped */
	unsigned since;	/* OWN_OPEN: changes since the old one, which are owed,
			 * or have happened; and what there is if none has: */
	uint64_t old_serial, old_server;
	struct own_text old;
	struct prepared_shape has;	/* the server that was asked */
	bool other;	/* ... and that is not what the client was told; *server
			 * is OWN_UNKNOWN, but has the newest one */
};

/*
 * A change comes, with this serial (OWN_NONE: no statement is left). sure: it
 * will not be skipped. Its text is to be put into o->text.
 */
void own_change(struct own *o, uint64_t *server, uint64_t serial, bool sure);
/*
 * Several have come in one batch, and this is the last one. What the first one
 * leaves, if it will not be skipped, is first; else first is OWN_UNKNOWN.
 */
struct own_several {
	unsigned count;
	uint64_t first, last;
};
void own_change_several(struct own *o, uint64_t *server,
    const struct own_several *several);
/* The server is sent an OWN_AGAIN. */
void own_again(struct own *o, uint64_t *server);
/* All that was owed is answered. */
void own_settle(struct own *o, uint64_t *server);
/*
 * The oldest request that is owed has failed; call ahead of track_reply(). fresh
 * is a serial for a statement whose text is not known. True: a change was undone,
 * or has failed.
 */
bool own_failed(struct own *o, uint64_t *server, const struct track *t,
    uint64_t fresh);

/* May the request that is at this place in t be skipped? False: not. */
bool own_is_sure(const struct track *t, unsigned at);
enum own_reach {
	OWN_REACHED,	/* what is added now meets with the client's statement */
	OWN_WAITS,	/* not known before all is answered */
	OWN_AWAY,	/* the server has another one */
};
/* Where *server is not o->serial: what would a request meet with? */
enum own_reach own_reach(struct own *o, uint64_t *server,
    const struct track *t);

/*
 * The oldest request that is owed, an OWN_TOLD, is answered: the client knows that
 * shape by now.
 */
void own_tell(struct own *o, const struct track *t,
    const struct prepared_shape *shape);
/* An OWN_ASKED is: o->has is set. */
void own_compare(struct own *o, uint64_t *server);

/* The text is not known. */
static inline void own_forget_text(struct own *o)
{
	o->text.len = 0;
}
/* Bytes that it has taken. */
static inline size_t own_bytes(const struct own *o)
{
	return (size_t)o->text.size + o->old.size;
}
/* Room for n bytes. 0, or -1: no memory, and the text is not known. */
int own_text_reserve(struct own_text *t, size_t n);
void own_fini(struct own *o);

#endif
