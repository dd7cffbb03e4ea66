/* prepared.h - prepared statements: one table of texts, names per client, a
 * list of the most recently used per server.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_H
#define PROTO_PREPARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "proto/prepared_shape.h"
#include "proto/prepared_text.h"
#include "sql/effects.h"

#define PREPARED_NAME_MAX 32	/* "PGBOUNCER_<n>", NUL included */
/* Bytes that tell one name from another: PostgreSQL's NAMEDATALEN, less NUL. */
#define PREPARED_NAME_KEPT 63
/* Names of ours that stand for no text; the first that does is 1. */
#define PREPARED_NAME_TRIED "PGBOUNCER_0"
#define PREPARED_NAME_DUMMY "PGBOUNCER_NONE"
#define PREPARED_NAME_UNKNOWN "PGBOUNCER_UNKNOWN"	/* never prepared */
struct prepared_table;
struct prepared_world;

/* A statement text with its parameter types; counted. */
struct prepared {
	/* all that a Bind needs comes first */
	char name[PREPARED_NAME_MAX];	/* on the servers */
	uint8_t name_len;		/* NUL included */
	uint32_t effects;		/* of effects.h */
	bool retired;			/* not handed out */
	bool unused, kept;		/* in the list of those; see unnamed.h */
	bool unsure;			/* apart, for want of a dialect */
	uint32_t bound;			/* by bits: parameters of it that are
					 * names of what it sets */
	struct baggage *dialect;	/* counted; NULL: nobody else's */
	uint32_t number;		/* of the name, its low bits */
	unsigned refs;
	unsigned names;			/* of clients that stand for it */
	unsigned use_count;
	uint32_t len, hash;		/* of the body */
	struct prepared_use *uses;	/* DL list: servers that have it */
	struct prepared_table *table;	/* borrowed */
	struct prepared *prev, *next;	/* unused */
	UT_hash_handle hh;		/* of retired ones */
	uint8_t body[];		/* of Parse, behind the name: query, types */
};

/* Effects that a Bind is looked at for, wherever it is ... */
#define PREPARED_ACTS (EFFECTS_HOLD | EFFECT_SCHEMA | EFFECTS_BACK)
/* ... and where what a session is left with matters. */
#define PREPARED_TELLS (EFFECT_LEAVES | EFFECT_DRAWS | EFFECT_ADDS | \
    EFFECT_NAMES | EFFECT_UNSEEN | EFFECT_ROLE | EFFECT_ALL | EFFECT_PATH | \
    EFFECT_ENDS | EFFECTS_HOLD)

struct prepared_table *prepared_table_new(void);
/* One of several, of which no two give the same name. Before the first name. */
void prepared_table_divide(struct prepared_table *t, unsigned at, unsigned of);
void prepared_table_free(struct prepared_table **t);
/* For tests: how many texts are kept; bytes of texts and names. */
size_t prepared_table_count(const struct prepared_table *t);
size_t prepared_table_bytes(const struct prepared_table *t);
/* Bytes of other texts of clients have come, or gone. */
void prepared_table_note(struct prepared_table *t, long bytes);
/* A new reference. NULL: not in the table. */
struct prepared *prepared_lookup(struct prepared_table *t,
    struct prepared_text text);
/* Is a text of len bytes too long to be read? It may do anything then. */
bool prepared_text_is_long(size_t len);
/* The effects of its query, which is read if they are not known. */
uint32_t prepared_text_effects(const struct prepared_text *text);
/* Memory of a text of len bytes; and of a client's name, with its place. */
size_t prepared_text_bytes(size_t len);
size_t prepared_name_bytes(const char *name);
/*
 * Stay within limit (0: none) when that many bytes are added: forget texts that no
 * client has a name for, the first that lost its last one first. False: not enough.
 */
bool prepared_table_make_room(struct prepared_table *t, size_t bytes,
    size_t limit);
/* The same, or add it. NULL: no memory */
struct prepared *prepared_get(struct prepared_table *t,
    struct prepared_text text);
/* A new one that no look-up finds, as if it were retired. NULL: no memory */
struct prepared *prepared_get_apart(struct prepared_table *t,
    struct prepared_text text);
/*
 * The same under a name from another process ("PGBOUNCER_<n>"), which no new one gets;
 * retired if the text has another name here. NULL: no memory, or not its text.
 */
struct prepared *prepared_adopt(struct prepared_table *t, const char *name,
    struct prepared_text text);
/* The same for one that was retired there: retired here, unless it is in use. */
struct prepared *prepared_adopt_retired(struct prepared_table *t,
    const char *name, struct prepared_text text);
/* The number of the newest name; new ones are to have higher ones than last. */
uint64_t prepared_last(const struct prepared_table *t);
void prepared_skip(struct prepared_table *t, uint64_t last);
struct prepared *prepared_ref(struct prepared *p);
/*
 * The result type of p has changed: clients that have p keep it, to be told so;
 * a look-up of its text from now on gets another statement.
 */
void prepared_retire(struct prepared *p);
void prepared_unref(struct prepared *p);	/* NULL is fine */
/* The same; nobody will ask for p again: where it is, it is the first to go. */
void prepared_let_go(struct prepared *p);

/* --- a client's names; cut where PostgreSQL cuts them (PREPARED_NAME_KEPT) --- */
bool prepared_name_is(const char *kept, const char *name);
struct prepared_name {
	struct prepared *stmt;		/* counted */
	bool lost;			/* a server had it no more, and said so:
					 * it may be prepared again */
	struct prepared_shape told;	/* what the client was told of it */
	char name[];
};
/* The map is a NULL pointer to begin with, and again when it is empty. */
struct prepared_name *prepared_name_find(const struct slots *map,
    const char *name);
int prepared_name_add(struct slots **map, const char *name,
    struct prepared *stmt);	/* takes a reference of its own; move, too */
void prepared_name_move(struct prepared_name *n, struct prepared *to);
/* A name that stands for the statement called so on the servers, or NULL. */
const char *prepared_name_of(const struct slots *map, const char *server_name,
    size_t len);
void prepared_name_remove(struct slots **map, const char *name);
void prepared_name_clear(struct slots **map);

/* --- what a server has prepared, least recently used first --- */
struct prepared_use {
	struct prepared_use *prev, *next;
	struct prepared_use *also_prev, *also_next;	/* of the same stmt */
	struct prepared_uses *owner;
	struct prepared *stmt;		/* counted */
	struct prepared_world *world;	/* owned; of one without a name; or
					 * NULL: not known, or of no matter */
	struct prepared_shape shape;
	uint64_t generation;		/* of schemas, when it was parsed; 0:
					 * no new client shares it */
};
struct prepared_uses {
	struct slots *by_stmt;		/* hashed by number */
	struct prepared_use *lru;	/* DL list; tail = newest */
	unsigned count;
	unsigned forgotten;		/* still there, by making room */
};
/* Is stmt there? Then stmt is the most recently used now. */
struct prepared_use *prepared_uses_touch(struct prepared_uses *u,
    struct prepared *stmt);
int prepared_uses_add(struct prepared_uses *u, struct prepared *stmt);
/* A client that prepares p from now on has it parsed anew, whatever server. */
void prepared_outdate(struct prepared *p);
/* The one of that number, or NULL. */
struct prepared *prepared_uses_find(const struct prepared_uses *u,
    uint32_t number);
void prepared_uses_remove(struct prepared_uses *u, struct prepared *stmt);
void prepared_uses_clear(struct prepared_uses *u);

#endif
