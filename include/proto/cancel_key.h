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

/* Whose key is it, if everybody has a peer_id? */
int cancel_key_peer(const uint8_t *key);

/* Of the process whose it is: the worker that has its client. */
void cancel_key_set_worker(uint8_t *key, unsigned worker);
unsigned cancel_key_worker(const uint8_t *key);

/* One hop more; false: its budget is used up, nothing is changed. */
bool cancel_key_spend(uint8_t *key);

/* With the full budget, as its owner knows it. */
void cancel_key_restore(uint8_t *key);

#endif
