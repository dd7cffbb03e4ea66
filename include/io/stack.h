/* stack.h - where a thread is that does not come: its stack, as told by itself.
 *
 * A signal interrupts whatever it does, so that nothing of it has to work any
 * more; one that sleeps in the kernel where no signal gets tells it later.
 * SPDX-License-Identifier: ISC */
#ifndef IO_STACK_H
#define IO_STACK_H

struct loop;
struct stacks;
struct thread;

#define STACKS_THREADS 64

/* Told on the loop, frame by frame, the innermost first: file, symbol, address. */
typedef void stacks_fn(void *arg, unsigned who, const char *frame);

/* Before the threads start. NULL: no memory, or no descriptors. */
struct stacks *stacks_new(struct loop *l, stacks_fn *fn, void *arg);
/* When the threads that were asked have ended. */
void stacks_free(struct stacks **s);
/* Have it told; fn knows t as who, a number less than STACKS_THREADS. */
void stacks_ask(struct stacks *s, const struct thread *t, unsigned who);

#endif
