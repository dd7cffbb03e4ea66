/* bell.c - any thread wakes the loop of another.
 * SPDX-License-Identifier: ISC */
#include "io/bell.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/os.h"
#include "io/loop.h"

struct bell {
	struct loop_watch *watch;	/* owned; the loop's */
	struct os_wake wake;
	void (*fn)(void *arg);
	void *arg;
};

static void on_rung(void *arg)
{
	struct bell *const b = arg;

	os_wake_take(&b->wake);
	b->fn(b->arg);
}

struct bell *bell_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct bell *b = mem_zalloc(sizeof *b);

	if (b == NULL)
		return NULL;
	b->fn = fn;
	b->arg = arg;
	if (os_wake_open(&b->wake) == 0)
		b->watch = loop_watch(l, b->wake.fd, on_rung, b);
	if (b->watch == NULL)
		bell_free(&b);
	return b;
}

void bell_free(struct bell **bp)
{
	struct bell *const b = *bp;

	*bp = NULL;
	if (b == NULL)
		return;
	loop_unwatch(&b->watch);
	os_wake_close(&b->wake);
	mem_free(b);
}

void bell_ring(struct bell *b)
{
	os_wake_call(&b->wake);
}
