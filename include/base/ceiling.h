/* ceiling.h - memory_limit: how near the process is to it.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_CEILING_H
#define BASE_CEILING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

/*
 * The sum of counted memory (mem_note()) and of resident memory that is not
 * counted is compared with the limit. It is that of the process. Any thread may
 * call these functions, except where a comment says otherwise.
 */
enum ceiling_level {
	CEILING_CALM,
	CEILING_TIGHT,	/* from 85 %: caches shrink, large buffers do not grow */
	CEILING_FULL,	/* from 95 %: no new clients; the largest is closed */
};

/* Bytes; 0 = there is no limit, and all is calm. */
void ceiling_set(size_t limit);
size_t ceiling_limit(void);
size_t ceiling_used(void);
enum ceiling_level ceiling_level(void);
const char *ceiling_level_name(void);	/* "calm" */

/* Count so many bytes more; negative: fewer. For mem.c. */
void ceiling_grow(long bytes);
/*
 * Call it a few times a second, from one thread: reads VmRSS, and trims the heap
 * if memory is short, or if much was freed (without a limit, too).
 */
void ceiling_tick(usec_t now);

/* Must a buffer that has so many bytes of half a message wait? */
bool ceiling_stops(size_t bytes);

/* Would the level stay FULL if all counted memory were freed? */
bool ceiling_is_hopeless(void);

/* Will the level still be FULL when so many bytes, which are on their way to be
 * freed, are free? */
bool ceiling_stays_full(size_t bytes);

/*
 * Report the bytes of the worker's largest connection. True: no worker has
 * reported a larger one.
 */
#define CEILING_WORKERS 64
bool ceiling_bid(unsigned worker, size_t bytes);

#endif
