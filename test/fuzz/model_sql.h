/* model_sql.h - as much of PostgreSQL as sessions are made of, in memory.
 *
 * Statements of the protocol, a transaction, one parameter, COPY. Requests are bytes,
 * and so are the replies, which are there at once.
 * SPDX-License-Identifier: ISC */
#ifndef TEST_FUZZ_MODEL_SQL_H
#define TEST_FUZZ_MODEL_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/msg.h"

#define BACKEND_NAMES 64
#define BACKEND_TEXT 64

struct backend {
	struct writer in, out;	/* not understood yet; not fetched yet */
	struct {
		char name[BACKEND_TEXT];
		char text[BACKEND_TEXT];
	} statements[BACKEND_NAMES];
	unsigned count;
	char portal[BACKEND_TEXT];	/* the text of the unnamed one */
	char unnamed[BACKEND_TEXT];	/* statement */
	bool has_portal, has_unnamed;
	unsigned row, limit;	/* of the portal; of its Execute, 0: none */
	char copy;		/* the request that a COPY in belongs to, or 0 */
	unsigned copied;	/* messages */
	char status;		/* of ReadyForQuery */
	bool skips;		/* an error: up to Sync */
	const char *initial;	/* of the parameter TimeZone */
	char zone[BACKEND_TEXT], told[BACKEND_TEXT];
	char begun[BACKEND_TEXT];	/* as the transaction began */
};

void backend_init(struct backend *b, const char *initial);
void backend_fini(struct backend *b);
/* Take n bytes of a client, and answer what is whole. */
void backend_take(struct backend *b, const void *p, size_t n);
/* The first n bytes of out were fetched. */
void backend_fetched(struct backend *b, size_t n);

#endif
