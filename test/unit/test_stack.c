/* test_stack.c - a thread that does not come tells where it is.
 * SPDX-License-Identifier: ISC */
#include "io/stack.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/time.h"
#include "io/loop.h"
#include "io/thread.h"

#define GIVE_UP (20 * USEC)
#define WHO 7

struct hung {
	struct loop *loop;
	void (*run)(const struct hung *h);
	int runs;		/* eventfd: the thread is there */
	int fd;			/* eventfd: go on */
	atomic_bool goes_on;
	unsigned frames;
	bool in_program;	/* one of them is this program's */
};

static void give_up(void *arg)
{
	(void)arg;
	fail_msg("no stack");
}

static void on_frame(void *arg, unsigned who, const char *frame)
{
	struct hung *const h = arg;

	assert_int_equal(who, WHO);
	h->frames++;
	if (strstr(frame, "test_stack") != NULL)
		h->in_program = true;
}

static void stop_when_told(void *arg)
{
	const struct hung *const h = arg;

	if (h->frames > 0)
		loop_stop(h->loop);
}

static void say(int fd)
{
	const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof one), sizeof one);
}

static void sleep_in_the_kernel(const struct hung *h)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };

	while (poll(&p, 1, -1) != 1)
		continue;
}

static void spin(const struct hung *h)
{
	while (!atomic_load(&h->goes_on))
		continue;
}

/* ThreadSanitizer of GCC 12 loses a signal that comes amid a thread's first
 * blocking call, as it makes room for signals there: that call is this one. */
static void hang(void *arg)
{
	const struct hung *const h = arg;

	(void)poll(NULL, 0, 0);
	say(h->runs);
	h->run(h);
}

static void check(void (*run)(const struct hung *h))
{
	struct hung h = { .loop = loop_new(), .run = run,
		.runs = eventfd(0, EFD_CLOEXEC), .fd = eventfd(0, EFD_CLOEXEC) };
	struct stacks *s = stacks_new(h.loop, on_frame, &h);
	struct thread *t = thread_start("hangs", hang, &h);
	uint64_t one;

	assert_non_null(s);
	assert_non_null(t);
	thread_go(t);
	assert_int_equal(read(h.runs, &one, sizeof one), sizeof one);
	assert_int_equal(loop_every(h.loop, GIVE_UP, give_up, NULL), 0);
	for (int i = 0; i < 2; i++) {
		h.frames = 0;
		stacks_ask(s, t, WHO);
		loop_run(h.loop, stop_when_told, &h);
		assert_true(h.frames >= 2);
	}
	assert_true(h.in_program);
	atomic_store(&h.goes_on, true);
	say(h.fd);
	thread_join(&t);
	stacks_free(&s);
	loop_free(&h.loop);
	close(h.runs);
	close(h.fd);
}

static void test_thread_that_sleeps_tells_where(void **state)
{
	(void)state;
	check(sleep_in_the_kernel);
}

static void test_thread_that_spins_tells_where(void **state)
{
	(void)state;
	check(spin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_that_sleeps_tells_where),
		cmocka_unit_test(test_thread_that_spins_tells_where),
	};

	return cmocka_run_group_tests_name("stack", tests, NULL, NULL);
}
