/* relay_unnamed.h - unnamed statements for which servers have a named one.
 *
 * A client's name "" stands for it then, among its others.
 * (cache_unnamed_statements; spec/pooling.md section 16)
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_UNNAMED_H
#define RELAY_RELAY_UNNAMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relay/relay_parts.h"

struct prepared;
struct prepared_use;

#define UNNAMED_MAX 8192	/* bytes of a Parse: longer ones pass as they come */

/* May texts of c get one? Asked where the setting is on. */
bool relay_unnamed_may(const struct client *c);

/* As relay_run_up(), of a client that caches: a run of one message, or none. */
size_t relay_unnamed_run(const struct relay_up *up);

/*
 * Parse of the unnamed statement. False: it passes as it is. True: *step says
 * what follows.
 */
bool relay_unnamed_parse(struct relay_up *up, enum relay_step *step);
/* Of a client that caches: does "" stand for a statement of ours? */
bool relay_unnamed_stands(const struct relay_up *up);
/*
 * May "" stand for another one, or for none, when all of the batches ahead has
 * been answered?
 */
bool relay_unnamed_is_open(const struct relay_up *up);
/* Bind of what "" stands for (ours), of the server's own one, or of another. */
void relay_unnamed_bind(const struct relay_up *up, bool named, bool ours);
void relay_unnamed_execute(const struct relay_up *up);
/*
 * A Query, Parse or Close comes, which ends it. RELAY_NEXT, and the message is
 * to pass, or what follows.
 */
enum relay_step relay_unnamed_end(struct relay_up *up);

/* Is the settings' and schemas' state what it is to be for a Parse that counts? */
bool relay_unnamed_is_known(const struct relay_up *up);
/* The server has it: parsed as it would be now, as far as that is known? */
bool relay_unnamed_is_right(const struct relay_up *up,
    struct prepared_use *use);
/* It is parsed now; known, as above, when that was sent. */
void relay_unnamed_note(const struct relay_up *up, struct prepared *stmt,
    bool known);

#endif
