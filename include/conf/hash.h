/* hash.h - uthash over mem.h, reporting a failed allocation by hh.tbl == NULL.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HASH_H
#define CONF_HASH_H

#include "base/mem.h"

#define HASH_NONFATAL_OOM 1
/* short chains: with 100,000 names each step is a miss of the cache */
#define HASH_BKT_CAPACITY_THRESH 2U
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(p, size) mem_free(p)

#include <uthash.h>

#endif
