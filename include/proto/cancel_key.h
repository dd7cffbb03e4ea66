/* cancel_key.h - the cancel keys we give to clients, and what peers read there.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_CANCEL_KEY_H
#define PROTO_CANCEL_KEY_H

#include <stdbool.h>
#include <stdint.h>

#define CANCEL_KEY_BYTES 8
#define CANCEL_KEY_MAX 32	/* from protocol 3.2 on: more to guess */

/*
 * Make a key of random bytes. peer_id is our own, 0 = no peering: then all but
 * one bit stays random. (spec/pooling.md section 18, "Client key")
 */
void cancel_key_stamp(uint8_t *key, int peer_id);

/* The peer whose key this is, if every peer has a peer_id. */
int cancel_key_peer(const uint8_t *key);

/* The worker that has the client of the key. */
void cancel_key_set_worker(uint8_t *key, unsigned worker);
unsigned cancel_key_worker(const uint8_t *key);

/* One hop more; false: the key's budget is used up, nothing is changed. */
bool cancel_key_spend(uint8_t *key);

/* With the full budget, as its owner knows it. */
void cancel_key_restore(uint8_t *key);

#endif
