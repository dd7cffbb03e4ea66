/* carried.h - cancel keys of clients that came from another process.
 *
 * Their keys name a worker of that process. Where they are here is written
 * down before the workers run, and never changed: all of them may read it.
 * (doc/workers.md)
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CARRIED_H
#define SESSION_CARRIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carried;

/* Room for that many keys. NULL: no memory. */
struct carried *carried_new(size_t count);
void carried_free(struct carried **k);

/* The client of the key, of CLIENT_KEY_BYTES at least, is at that worker. */
void carried_add(struct carried *k, const uint8_t *key, unsigned worker);
/* At which worker? -1: it is none of these keys; k may be NULL. */
int carried_find(const struct carried *k, const uint8_t *key);

#endif
