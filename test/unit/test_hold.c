/* test_hold.c - loops of other threads stand still when they are asked to.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/hold.h"
#include "io/loop.h"
#include "io/thread.h"

#define LOOPS 3
#define HOLDS 2000
#define LONG (60 * USEC)
#define LIMIT 60		/* seconds until a test is given up */

/* A loop that is always at work, on what is its own. */
struct other {
	struct loop *loop;
	struct thread *thread;
	struct loop_task task;
	struct hold *hold;
	unsigned long turns;
	bool stop;		/* told in a hold */
};

/* The thread that is to stop when it asks for the time next, and not to go on. */
static _Thread_local bool may_stop;
static atomic_bool stops;
static sem_t goes_on;

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (may_stop && atomic_exchange(&stops, false))
		sem_wait(&goes_on);
	return (int)syscall(SYS_clock_gettime, id, t);
}

static void run_task(struct loop_task *t)
{
	struct other *const o = (struct other *)((char *)t -
	    offsetof(struct other, task));

	o->turns++;
	if (o->stop)
		loop_stop(o->loop);
	else
		loop_again(o->loop, t);
}

static void run(void *arg)
{
	struct other *const o = arg;

	may_stop = true;
	loop_again(o->loop, &o->task);
	loop_run(o->loop, NULL, NULL);
}

static void start(struct hold *h, struct other others[LOOPS])
{
	for (int i = 0; i < LOOPS; i++) {
		others[i] = (struct other){ .loop = loop_new(), .hold = h,
			.task = { .run = run_task } };
		assert_non_null(others[i].loop);
		assert_int_equal(hold_join(h, others[i].loop), 0);
		others[i].thread = thread_start("other", run, &others[i]);
		assert_non_null(others[i].thread);
		thread_go(others[i].thread);
	}
}

static void stop(struct hold **h, struct other others[LOOPS])
{
	assert_true(hold_take(*h, LONG));
	for (int i = 0; i < LOOPS; i++)
		others[i].stop = true;
	hold_release(*h);
	for (int i = 0; i < LOOPS; i++)
		thread_join(&others[i].thread);
	hold_free(h);
	for (int i = 0; i < LOOPS; i++)
		loop_free(&others[i].loop);
}

/* The sanitizer sees whether it is only one thread that has them. */
static void test_what_is_theirs_is_ours_in_a_hold(void **state)
{
	struct hold *h = hold_new();
	struct other others[LOOPS];

	(void)state;
	start(h, others);
	for (int n = 0; n < HOLDS; n++) {
		assert_true(hold_take(h, LONG));
		for (int i = 0; i < LOOPS; i++)
			others[i].turns++;
		hold_release(h);
	}
	stop(&h, others);
	for (int i = 0; i < LOOPS; i++)
		assert_true(others[i].turns > HOLDS);
}

static void test_a_hold_within_a_hold_is_one(void **state)
{
	struct hold *h = hold_new();
	struct other others[LOOPS];

	(void)state;
	start(h, others);
	assert_true(hold_take(h, LONG));
	assert_true(hold_take(h, LONG));
	const unsigned long turns = others[0].turns;

	hold_release(h);
	assert_int_equal(others[0].turns, turns);
	hold_release(h);
	stop(&h, others);
}

static void test_who_does_not_come_holds_up_nobody(void **state)
{
	struct hold *h = hold_new();
	struct loop *never_run = loop_new();

	(void)state;
	assert_int_equal(hold_join(h, never_run), 0);
	assert_false(hold_take(h, 1));
	assert_int_equal(hold_missing(h), 1);
	hold_free(&h);
	loop_free(&never_run);
}

/* Else worker 0 would stand still for ever, and the alarm ends the test. */
static void test_who_stops_as_it_is_let_go_holds_up_nobody(void **state)
{
	struct hold *h = hold_new();
	struct other others[LOOPS];

	(void)state;
	sem_init(&goes_on, 0, 0);
	start(h, others);
	assert_true(hold_take(h, LONG));
	atomic_store(&stops, true);
	alarm(LIMIT);
	hold_release(h);
	while (atomic_load(&stops))
		sched_yield();
	assert_false(hold_take(h, 1));
	assert_in_range(hold_missing(h), 1, LOOPS);
	alarm(0);
	sem_post(&goes_on);
	stop(&h, others);
	sem_destroy(&goes_on);
}

static void test_no_memory_is_told(void **state)
{
	struct hold *h;
	struct loop *l = loop_new();

	(void)state;
	mem_fail_at(1);
	assert_null(hold_new());
	mem_fail_at(0);
	h = hold_new();
	for (unsigned long n = 1; n <= 2; n++) {
		mem_fail_at(n);
		assert_int_equal(hold_join(h, l), -1);
	}
	mem_fail_at(1);
	assert_null(thread_start("other", run, NULL));
	mem_fail_at(0);
	hold_free(&h);
	loop_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_theirs_is_ours_in_a_hold),
		cmocka_unit_test(test_a_hold_within_a_hold_is_one),
		cmocka_unit_test(test_who_does_not_come_holds_up_nobody),
		cmocka_unit_test(test_who_stops_as_it_is_let_go_holds_up_nobody),
		cmocka_unit_test(test_no_memory_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
