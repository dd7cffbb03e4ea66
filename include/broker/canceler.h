/* canceler.h - connections that bring cancel requests, each bound to its target.
 * SPDX-License-Identifier: ISC */
#ifndef BROKER_CANCELER_H
#define BROKER_CANCELER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/startup.h"

struct client;
struct err;
struct pool;
struct server;
struct sessions;

/* What a client in the role "cancel" has brought. */
struct cancel_request {
	struct server *target;		/* borrowed; NULL: gone, or at a peer */
	struct server *canceler;	/* borrowed; has sent it; NULL: none */
	uint8_t key_len;
	uint8_t key[CANCEL_KEY_MAX];	/* for a peer */
};

/*
 * c, which brought *r, waits in p till that is sent on. r is copied. 0, or -1:
 * c was closed, memory is short.
 */
int canceler_enqueue(struct client *c, struct pool *p,
    const struct cancel_request *r);
/* Open cancelers for the requests that wait in p, as far as there is room. */
void canceler_launch(struct pool *p);
/* One for target, though no client asks. 0, or -1: there is no room. */
int canceler_want(struct server *target);
/* The canceler, which has a target, is connected: send, if still wanted. */
void canceler_connected(struct server *canceler);
/* Write the request with a key of len bytes. 0, or -1: canceler is closed. */
int canceler_send(struct server *canceler, const uint8_t *key, size_t len);
/* The canceler has the request of c now: both go away together. */
void canceler_take(struct server *canceler, struct client *c);
/* The canceler has sent; no answer comes, its end is that of the signal. */
void canceler_input(struct server *canceler);

/* Is there a request for target that was not sent? */
bool canceler_is_wanted(const struct server *target);
/* What was not sent in p is sent when all goes on, here or elsewhere. */
void canceler_hold(struct pool *p);
void canceler_go_on(struct pool *p);

/* The canceler failed: nobody knows whether its signal is still to come. */
void canceler_failed(struct server *canceler);
/* s, if it is a canceler, is closed. Returns the target that waited for it. */
struct server *canceler_gone(struct server *s);
/* target is being released or closed: what was not sent is dropped. */
void canceler_detach(struct server *target);
/* target is closed: its canceler must not look for it. */
void canceler_target_gone(struct server *target);

#endif
