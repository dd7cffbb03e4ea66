/* bell.h - any thread wakes the loop of another.
 * SPDX-License-Identifier: ISC */
#ifndef IO_BELL_H
#define IO_BELL_H

struct bell;
struct loop;

/* fn is called on the thread of the loop. NULL: no memory, no fd. */
struct bell *bell_new(struct loop *l, void (*fn)(void *arg), void *arg);
/* Before the loop is freed; nobody rings any more. */
void bell_free(struct bell **b);
/* Once for all rings until it wakes. */
void bell_ring(struct bell *b);

#endif
