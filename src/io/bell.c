/* bell.c - any thread wakes the loop of another.
 * SPDX-License-Identifier: ISC */
#include "io/bell.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/loop.h"

struct bell {
	struct loop_watch *watch;	/* owned; the loop's */
	int fd;				/* eventfd */
	void (*fn)(void *arg);
	void *arg;
};

static void on_rung(void *arg)
{
	struct bell *const b = arg;
	uint64_t count;

	(void)!read(b->fd, &count, sizeof count);
	b->fn(b->arg);
}

struct bell *bell_new(struct loop *l, void (*fn)(void *arg), void *arg)
{
	struct bell *b = mem_zalloc(sizeof *b);

	if (b == NULL)
		return NULL;
	b->fn = fn;
	b->arg = arg;
	b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (b->fd >= 0)
		b->watch = loop_watch(l, b->fd, on_rung, b);
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
	if (b->fd >= 0)
		close(b->fd);
	mem_free(b);
}

void bell_ring(struct bell *b)
{
	const uint64_t one = 1;

	(void)!write(b->fd, &one, sizeof one);
}
