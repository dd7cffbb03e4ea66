/* vacate.h - a client wants a database for itself, where we keep idle servers.
 *
 * PostgreSQL refuses DROP DATABASE, and its like, while anybody else is
 * connected; it waits 5 s for them to go. To a program whose clients have gone,
 * idle servers of a pool are nobody: they are closed while PostgreSQL waits. It
 * waits for those alone who have the right; who has not gets an error before
 * anything is closed. (spec/pooling.md section 28)
 * SPDX-License-Identifier: ISC */
#ifndef BROKER_VACATE_H
#define BROKER_VACATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/timeouts.h"
#include "sql/sql.h"

struct client;
struct pool;

/* What a client has asked for. Private to vacate.c. */
struct vacancy {
	struct timeout timer;		/* ss->vacate_list */
	struct client *client;		/* borrowed: it owns this */
	usec_t begun;
	char database[SQL_NAME_MAX];	/* on the server */
};

#define VACATE_INTERVAL (USEC / 10)	/* of ss->vacate_list */

/* The first message of a query, of which have bytes are here, is m. */
void vacate_look(struct client *c, const uint8_t *m, size_t have);
/* The time of a member of the list is over: close idle servers, maybe. */
void vacate_due(struct timeout *t);
/* It is answered with an error, or c goes. */
void vacate_end(struct client *c);

#endif
