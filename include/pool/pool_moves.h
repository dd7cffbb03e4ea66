/* pool_moves.h - clients of a pool with parts that shall go to another worker.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_POOL_MOVES_H
#define POOL_POOL_MOVES_H

#include "base/time.h"

/* Written in a hold, by app/balance.h, and by the worker as they go. */
struct pool_moves {
	unsigned to, left;		/* so many to that one; UINT_MAX: all */
	unsigned from, looks;		/* at home: the last order, and what */
	usec_t ordered_at;		/* was seen since */
};

#endif
