/* baggage.h - settings of a session as immutable sets; equal sets are shared.
 *
 * By name and value; a setting that is not in a set is as the server gives it.
 * Equal sets are one pointer.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_BAGGAGE_H
#define PROTO_BAGGAGE_H

#include <stdbool.h>
#include <stddef.h>

struct baggage;
struct baggage_table;	/* every set alive */
struct writer;

#define BAGGAGE_BYTES (1 << 20)	/* of one set, at most */

/* NULL: no memory. The table must outlive its sets. */
struct baggage_table *baggage_table_new(void);
void baggage_table_free(struct baggage_table **t);

/*
 * The set of len bytes of names and values, each with its NUL, in any order; of
 * a name that is there twice the first one counts. A new reference. NULL: no
 * memory, too much, or no such bytes.
 */
struct baggage *baggage_get(struct baggage_table *t, const void *bytes,
    size_t len);
struct baggage *baggage_empty(struct baggage_table *t);	/* never NULL */
struct baggage *baggage_ref(struct baggage *b);
void baggage_unref(struct baggage **b);	/* NULL is fine */
/* *to becomes b, with a reference of its own. */
void baggage_put(struct baggage **to, struct baggage *b);

/* The bytes of the set. */
const char *baggage_bytes(const struct baggage *b, size_t *len);
const char *baggage_find(const struct baggage *b, const char *name);
/* Is one there that is of the dialect of texts? See effects.h. */
bool baggage_reads(const struct baggage *b);
/* Would PostgreSQL close a session that has these and does nothing? */
bool baggage_expires(const struct baggage *b);

/* Take the setting name out of *b. 0, or -1: no memory. */
int baggage_forget(struct baggage **b, const char *name);

struct baggage_pair {
	const char *name, *value;
};
/* The next pair; *at is NULL at first. False: no more pairs. */
bool baggage_next(const struct baggage *b, const char **at,
    struct baggage_pair *out);

/*
 * Values that are not ASCII are in this client_encoding. The encoding is one of
 * the pairs, with a name that no parameter has, if there are such values.
 */
#define BAGGAGE_ENCODING ""

/*
 * How a session is to change. A custom parameter or a role that a set lacks is
 * as in base; any other setting that a set lacks is as RESET gives it.
 */
struct baggage_change {
	const struct baggage *want, *have;
	const struct baggage *base;	/* or NULL: nobody has asked for it */
	const char *actor;	/* SQL by which another user acts; NULL: none */
	bool whole;		/* base has each custom parameter with a value */
	bool pristine;		/* base is what RESET gives */
	bool goes_on;		/* its client may have another role by now, if want
				 * and have are of one mind: that stays */
	bool open;		/* a transaction is */
};

/*
 * Write the SQL for that, and a NUL; nothing where nothing changes. role is none
 * at first, as not every role may set the others, then comes the actor, and role
 * is set last. What is not of the actor is all ASCII, and means the same
 * whatever settings there are, search_path too.
 */
void baggage_write_sql(const struct baggage_change *g, struct writer *w);

#endif
