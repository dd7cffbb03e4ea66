/* relay_prepared.h - named statements under names that servers share.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_RELAY_PREPARED_H
#define SESSION_RELAY_PREPARED_H

#include <stdbool.h>

#include "session/relay_parts.h"

/* Parse, Bind, Describe, Close of a client whose names are translated. */
enum relay_step relay_parse(struct relay_up *up);
enum relay_step relay_bind(struct relay_up *up);
enum relay_step relay_describe(struct relay_up *up);
enum relay_step relay_close(struct relay_up *up);

/*
 * Would its handler ask for more of the message before it does anything? Who
 * gets a server for that only gives it back.
 */
bool relay_is_half(const struct relay_up *up);
/* Does this message need no server? Close of a tracked statement. */
bool relay_is_local_close(const struct relay_up *up);

#endif
