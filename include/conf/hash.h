/* hash.h - uthash over mem.h, reporting a failed allocation by hh.tbl == NULL.
 * SPDX-License-Identifier: ISC */
#ifndef CONF_HASH_H
#define CONF_HASH_H

#include "base/mem.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) mem_alloc(size)
#define uthash_free(p, size) mem_free(p)

#include <uthash.h>

#endif
