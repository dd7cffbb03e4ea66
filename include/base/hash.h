/* hash.h - uthash with a hash of our own; what finds no memory has no hh.tbl.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>

#include "base/mem.h"

/* The maps can fail as any allocation: HASH_ADD leaves hh.tbl NULL then. */
#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(key, len, out) ((out) = hash_bytes(key, len))
#define uthash_malloc(n) mem_alloc(n)
#define uthash_free(p, n) mem_free(p)
#include <uthash.h>

/*
 * Hot. Seeded: a client that chooses keys (names of statements and of users)
 * must not know which keys share a bucket.
 */
unsigned hash_bytes(const void *key, size_t len);

/* Draw the seed of this process; before the first map is made. */
void hash_seed(void);

#endif
