/* stack_none.c - where a thread is: nothing tells.
 * SPDX-License-Identifier: ISC */
#include "io/stack.h"

#include "base/mem.h"

struct stacks {
	char unused;
};

struct stacks *stacks_new(struct loop *l, stacks_fn *fn, void *arg)
{
	(void)l;
	(void)fn;
	(void)arg;
	return mem_zalloc(sizeof(struct stacks));
}

void stacks_free(struct stacks **s)
{
	mem_free(*s);
	*s = NULL;
}

void stacks_ask(struct stacks *s, const struct thread *t, unsigned who)
{
	(void)s;
	(void)t;
	(void)who;
}
