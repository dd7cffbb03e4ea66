/* relay_long.h - long texts are looked at while they pass.
 *
 * A text of more than SQL_TEXT_MAX bytes is not kept until it is whole. Its words
 * are noted piece by piece, each ahead of the server's having it.
 * SPDX-License-Identifier: ISC */
#ifndef RELAY_RELAY_LONG_H
#define RELAY_RELAY_LONG_H

#include <stdbool.h>
#include <stddef.h>

#include "relay/relay_parts.h"
#include "relay/relay_watch.h"

/* What is here of the message at hand, a Query or a Parse; more may come. */
void relay_long_begin(const struct relay_up *up, enum relay_text kind);
/* relay.text: n bytes that come next, or last. */
void relay_long_take(const struct relay_up *up, const void *bytes, size_t n,
    bool last);

#endif
