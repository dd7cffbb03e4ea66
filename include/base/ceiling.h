/* ceiling.h - memory_limit: how near the process is to it.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CEILING_H
#define BASE_CEILING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

/*
 * What is counted (mem_note()) and what is not counted, but resident, is
 * compared with the limit. All is of the process, and may be asked by any thread.
 */
enum ceiling_level {
	CEILING_CALM,
	CEILING_TIGHT,	/* from 85 %: caches shrink, large buffers don't grow */
	CEILING_FULL,	/* from 95 %: nobody new; who holds most goes first */
};

/* Bytes; 0 = there is no limit, and all is calm. */
void ceiling_set(size_t limit);
size_t ceiling_limit(void);
size_t ceiling_used(void);
enum ceiling_level ceiling_level(void);
const char *ceiling_level_name(void);	/* "calm" */

/* So much more is counted; negative: less. For mem.c. */
void ceiling_grow(long bytes);
/* A few times a second, one thread: see what is resident, and trim the heap. */
void ceiling_tick(usec_t now);

/* Must a buffer that has so many bytes of half a message wait? */
bool ceiling_stops(size_t bytes);

/* Would it stay full although all that is counted went? */
bool ceiling_is_hopeless(void);

/*
 * The largest of that worker's connections holds so many bytes. True: it is the
 * largest of all workers', as far as they have told.
 */
#define CEILING_WORKERS 64
bool ceiling_bid(unsigned worker, size_t bytes);

#endif
