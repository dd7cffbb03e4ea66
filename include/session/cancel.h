/* cancel.h - query cancellation that hits nobody else's query.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CANCEL_H
#define SESSION_CANCEL_H

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
/* c, which brought a request, waits in its pool till that is sent on. */
void cancel_enqueue(struct client *c, struct pool *p);
/* Open cancelers for the requests that wait in p, as far as there is room. */
void cancel_launch(struct sessions *ss, struct pool *p);
/* The canceler's connection is there: send, if anybody still wants it. */
void cancel_connected(struct server *canceler);
/* Write the request with a key of len bytes. 0, or -1: canceler is closed. */
int cancel_send(struct server *canceler, const uint8_t *key, size_t len);
/* It has sent; no answer comes, its end says that the signal was sent. */
void cancel_input(struct server *canceler);
/* c goes away together with the canceler that has its request now. */
void cancel_sent(struct client *c, struct server *canceler);
/* The canceler failed: nobody knows whether its signal is still to come. */
void cancel_failed(struct server *canceler);
/* target is being released or closed: what was not sent is dropped. */
void cancel_detach(struct server *target);
/* target is closed: its canceler must not look for it. */
void cancel_target_gone(struct server *target);
/* s, if it is a canceler, is closed: its target is free for others. */
void cancel_canceler_gone(struct server *s);

#endif
