/* cancel.h - query cancellation that hits nobody else's query.
 * SPDX-License-Identifier: ISC */
#ifndef BROKER_CANCEL_H
#define BROKER_CANCEL_H

#include <stddef.h>
#include <stdint.h>

struct client;
struct err;
struct pool;
struct server;
struct sessions;

/*
 * Cancel what owner runs or waits for, as if it had asked for that. 0, or -1
 * with e: there is nothing to cancel, or no connection for it.
 */
int cancel_by_admin(struct client *owner, struct err *e);
/* c brought a CancelRequest; it is closed without a reply in any case. */
void cancel_request(struct client *c, const uint8_t *key, size_t len);
/* A canceler's connection is there: send, if anybody still wants it. */
void cancel_connected(struct server *canceler);

#endif
