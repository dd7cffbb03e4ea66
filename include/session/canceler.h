/* canceler.h - connections that bring cancel requests, each bound to its target.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CANCELER_H
#define SESSION_CANCELER_H

#include <stddef.h>
#include <stdint.h>

struct client;
struct pool;
struct server;

/* c, which brought a request, waits in its pool till that is sent on. */
void canceler_enqueue(struct client *c, struct pool *p);
/* Open cancelers for the requests that wait in p, as far as there is room. */
void canceler_launch(struct pool *p);
/* One for target, though no client asks. 0, or -1: there is no room. */
int canceler_want(struct server *target);
/* It has a target, and is connected: send, if anybody still wants it. */
void canceler_connected(struct server *canceler);
/* Write the request with a key of len bytes. 0, or -1: canceler is closed. */
int canceler_send(struct server *canceler, const uint8_t *key, size_t len);
/* It has the request of c now: they go away together. */
void canceler_take(struct server *canceler, struct client *c);
/* It has sent; no answer comes, its end says that the signal was sent. */
void canceler_input(struct server *canceler);

/* The canceler failed: nobody knows whether its signal is still to come. */
void canceler_failed(struct server *canceler);
/* s, if it is a canceler, is closed. Returns the target that waited for it. */
struct server *canceler_gone(struct server *s);
/* target is being released or closed: what was not sent is dropped. */
void canceler_detach(struct server *target);
/* target is closed: its canceler must not look for it. */
void canceler_target_gone(struct server *target);

#endif
