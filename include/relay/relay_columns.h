/* relay_columns.h - the columns of a statement, as its client knows them.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_COLUMNS_H
#define RELAY_RELAY_COLUMNS_H

#include <stdbool.h>

#include "proto/prepared.h"
#include "relay/relay_parts.h"

/* May the Bind at hand go on, if its client was told other columns? */
enum columns {
	COLUMNS_PASS,		/* it relies on none of what has changed */
	COLUMNS_MORE,		/* more bytes tell */
	COLUMNS_ASK,		/* the server tells; it was asked if owed */
	COLUMNS_RENEW,		/* the server has what is too old */
	COLUMNS_REFUSE,
};
enum columns relay_columns_look(const struct relay_up *up,
    const struct prepared_name *n, const struct prepared_use *use);

/*
 * The server has another shape than the client was told: COLUMNS_PASS, _MORE or
 * _REFUSE. described: a Describe of the statement is ahead in the pipeline.
 */
enum columns relay_columns_relies(const struct relay_up *up,
    const struct prepared_shape *told, const struct prepared_shape *has,
    bool described);

/*
 * Ask the server for what use has, unless that was done. Returns the step of
 * the message that waits for the answer.
 */
enum relay_step relay_columns_ask(struct relay_up *up,
    const struct prepared_use *use);
/* A Bind of n passes: a Describe of its portal next tells what it has. Hot. */
static inline void relay_columns_bound(struct relay_up *up,
    struct prepared_name *n, const struct prepared_use *use, const char *portal)
{
	if (use->shape.columns != 0 && n->told.columns == use->shape.columns)
		return;
	up->learns.of = n;
	up->learns.portal = portal;
}
/* A Describe of what was bound in an earlier burst may come first. */
void relay_columns_find(struct relay_up *up);
static inline void relay_columns_begin(struct relay_up *up)
{
	up->learns.of = NULL;
	if (up->c->relay.learns != 0)
		relay_columns_find(up);
}
/*
 * A Describe of n's statement, or of the portal bound last, is noted as owed. 0, or
 * -1: no memory.
 */
int relay_columns_describe(struct relay_up *up, const struct prepared_name *n,
    const struct prepared_use *use);
/* Is a Describe of that portal one that tells? Then as above. */
bool relay_columns_learns(const struct relay_up *up, const char *portal);
int relay_columns_learn(struct relay_up *up);

/* A description came: the rest of it must be here first if false. */
bool relay_columns_note(const struct relay_down *d);

/* --- relay_columns.c --- */

/* The Bind at hand fails as PostgreSQL has it fail. */
enum relay_step relay_refuse_bind(struct relay_up *up);
void relay_send_changed(struct outbox *to_client, const struct client *c);

#endif
