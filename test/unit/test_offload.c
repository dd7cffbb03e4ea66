/* test_offload.c - jobs on threads: results, bounds, cancelling, the end.
 * SPDX-License-Identifier: ISC */
#include "io/offload.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/time.h"
#include "io/loop.h"

#define GIVE_UP (20 * USEC)

/* Jobs of kind STUCK wait here until it is opened. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool open;
	int waiting, passed;
};

struct world {
	struct loop *loop;
	struct offload *offload;
	struct gate gate;
	int done, freed, wanted;
	bool late;
};

struct job {
	struct offload_job job;		/* first */
	struct world *w;
	int in, out;
	bool signals_blocked;
};

static void double_it(struct offload_job *oj)
{
	struct job *j = (struct job *)oj;
	sigset_t now;

	j->out = 2 * j->in;
	j->signals_blocked = pthread_sigmask(SIG_BLOCK, NULL, &now) == 0 &&
	    sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGHUP) == 1;
}

static void wait_at_gate(struct offload_job *oj)
{
	struct job *j = (struct job *)oj;
	struct gate *g = &j->w->gate;

	pthread_mutex_lock(&g->lock);
	g->waiting++;
	pthread_cond_broadcast(&g->changed);
	while (!g->open)
		pthread_cond_wait(&g->changed, &g->lock);
	g->passed++;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static void on_done(struct offload_job *oj)
{
	struct job *j = (struct job *)oj;

	if (j->in != 0) {
		assert_int_equal(j->out, 2 * j->in);
		assert_true(j->signals_blocked);
	}
	j->w->done++;
}

static void on_free(struct offload_job *oj)
{
	struct job *j = (struct job *)oj;

	j->w->freed++;
	mem_free(j);
}

static const struct offload_ops doubling = {
	.work = double_it, .done = on_done, .free = on_free,
};
static const struct offload_ops stuck = {
	.work = wait_at_gate, .done = on_done, .free = on_free,
};

static void start(struct world *w)
{
	memset(w, 0, sizeof *w);
	pthread_mutex_init(&w->gate.lock, NULL);
	pthread_cond_init(&w->gate.changed, NULL);
	w->loop = loop_new();
	assert_non_null(w->loop);
	w->offload = offload_new(w->loop);
	assert_non_null(w->offload);
	for (int i = 0; i < OFFLOAD_LANES; i++)
		offload_limit(w->offload, (enum offload_lane)i, 1, 1000);
}

static void finish(struct world *w)
{
	struct offload *const kept = w->offload;
	const usec_t end = time_precise() + GIVE_UP;

	/* a thread that waits for a processor is as good as stuck */
	while (!offload_free(&w->offload)) {
		assert_true(time_precise() < end);
		w->offload = kept;
	}
	assert_null(w->offload);
	loop_free(&w->loop);
	pthread_cond_destroy(&w->gate.changed);
	pthread_mutex_destroy(&w->gate.lock);
}

static void open_gate(struct world *w)
{
	pthread_mutex_lock(&w->gate.lock);
	w->gate.open = true;
	pthread_cond_broadcast(&w->gate.changed);
	pthread_mutex_unlock(&w->gate.lock);
}

/* Until n threads are at the gate, or have passed it. */
static void await(struct world *w, const int *count, int n)
{
	pthread_mutex_lock(&w->gate.lock);
	while (*count < n)
		pthread_cond_wait(&w->gate.changed, &w->gate.lock);
	pthread_mutex_unlock(&w->gate.lock);
}

static struct job *job_new(struct world *w, const struct offload_ops *ops,
    int in)
{
	struct job *j = mem_zalloc(sizeof *j);

	assert_non_null(j);
	j->job.ops = ops;
	j->w = w;
	j->in = in;
	return j;
}

static struct job *submit(struct world *w, enum offload_lane lane,
    const struct offload_ops *ops, int in)
{
	struct job *j = job_new(w, ops, in);

	assert_int_equal(offload_submit(w->offload, lane, &j->job),
	    OFFLOAD_TAKEN);
	return j;
}

static void after_turn(void *arg)
{
	struct world *w = arg;

	if (w->done >= w->wanted)
		loop_stop(w->loop);
}

static void on_late(void *arg)
{
	struct world *w = arg;

	w->late = true;
	loop_stop(w->loop);
}

/* Run the loop until n jobs are done in all. */
static void run_until(struct world *w, int n)
{
	w->wanted = n;
	assert_int_equal(loop_every(w->loop, GIVE_UP, on_late, w), 0);
	loop_run(w->loop, after_turn, w);
	assert_false(w->late);
	assert_int_equal(w->done, n);
}

static void test_result_comes_back_on_the_loop(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	for (int i = 1; i <= 50; i++)
		submit(&w, (enum offload_lane)(i % OFFLOAD_LANES), &doubling,
		    i);
	assert_int_equal(w.done, 0);
	run_until(&w, 50);
	assert_int_equal(w.freed, 50);
	finish(&w);
}

static void test_stuck_lane_holds_up_no_other(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	submit(&w, OFFLOAD_LDAP, &stuck, 0);
	submit(&w, OFFLOAD_LDAP, &doubling, 7);
	submit(&w, OFFLOAD_DERIVE, &doubling, 8);
	run_until(&w, 1);
	open_gate(&w);
	run_until(&w, 3);
	finish(&w);
}

static void test_as_many_threads_as_allowed(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	offload_limit(w.offload, OFFLOAD_LDAP, 3, 1000);
	for (int i = 0; i < 10; i++)
		submit(&w, OFFLOAD_LDAP, &stuck, 0);
	await(&w, &w.gate.waiting, 3);
	assert_int_equal(w.gate.waiting, 3);
	open_gate(&w);
	run_until(&w, 10);
	finish(&w);
}

static void test_higher_limit_is_for_jobs_that_wait_already(void **state)
{
	struct world w;
	const struct job *first, *last;

	(void)state;
	start(&w);
	first = submit(&w, OFFLOAD_LDAP, &stuck, 0);
	last = submit(&w, OFFLOAD_LDAP, &stuck, 0);
	await(&w, &w.gate.waiting, 1);
	assert_false(offload_is_queued(w.offload, &first->job));
	assert_true(offload_is_queued(w.offload, &last->job));
	offload_limit(w.offload, OFFLOAD_LDAP, 2, 1000);
	await(&w, &w.gate.waiting, 2);
	assert_false(offload_is_queued(w.offload, &last->job));
	open_gate(&w);
	run_until(&w, 2);
	finish(&w);
}

static void test_full_queue_refuses(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	offload_limit(w.offload, OFFLOAD_PAM, 2, 3);
	for (int i = 0; i < 2 + 3; i++)
		submit(&w, OFFLOAD_PAM, &stuck, 0);
	await(&w, &w.gate.waiting, 2);
	struct job *j = job_new(&w, &doubling, 1);

	assert_int_equal(offload_submit(w.offload, OFFLOAD_PAM, &j->job),
	    OFFLOAD_FULL);
	assert_int_equal(w.freed, 0);
	open_gate(&w);
	run_until(&w, 5);
	assert_int_equal(offload_submit(w.offload, OFFLOAD_PAM, &j->job),
	    OFFLOAD_TAKEN);
	run_until(&w, 6);
	finish(&w);
}

static void test_cancelled_job_is_freed_and_not_told(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	struct job *running = submit(&w, OFFLOAD_LDAP, &stuck, 0);
	struct job *queued = submit(&w, OFFLOAD_LDAP, &doubling, 5);

	await(&w, &w.gate.waiting, 1);
	offload_cancel(w.offload, &queued->job);
	assert_int_equal(w.freed, 1);
	offload_cancel(w.offload, &running->job);
	assert_int_equal(w.freed, 1);
	open_gate(&w);
	submit(&w, OFFLOAD_LDAP, &doubling, 6);
	run_until(&w, 1);
	assert_int_equal(w.freed, 3);
	finish(&w);
}

static void test_end_frees_what_waits(void **state)
{
	struct world w;

	(void)state;
	start(&w);
	for (int i = 1; i <= 20; i++)
		submit(&w, OFFLOAD_DERIVE, &doubling, i);
	finish(&w);
	assert_int_equal(w.done, 0);
	assert_int_equal(w.freed, 20);
}

/* A directory that never answers must not keep the process from ending. */
static void test_end_does_not_wait_for_a_stuck_thread(void **state)
{
	/* the thread reads it after this function */
	static struct world w;

	(void)state;
	start(&w);
	submit(&w, OFFLOAD_LDAP, &stuck, 0);
	submit(&w, OFFLOAD_LDAP, &doubling, 1);
	await(&w, &w.gate.waiting, 1);
	const usec_t before = time_precise();
	struct offload *kept = w.offload;

	assert_false(offload_free(&w.offload));
	assert_true(time_precise() - before < 5 * USEC);
	assert_int_equal(w.freed, 1);
	/* only here, where the thread can be helped, it ends after all */
	open_gate(&w);
	w.offload = kept;
	while (!offload_free(&w.offload))
		w.offload = kept;
	assert_int_equal(w.freed, 2);
	assert_int_equal(w.done, 0);
	loop_free(&w.loop);
}

static void test_no_memory(void **state)
{
	struct loop *l = loop_new();

	(void)state;
	assert_non_null(l);
	for (unsigned long n = 1; n <= 2; n++) {
		mem_fail_at(n);
		assert_null(offload_new(l));
		mem_fail_at(0);
	}
	loop_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_result_comes_back_on_the_loop),
		cmocka_unit_test(test_stuck_lane_holds_up_no_other),
		cmocka_unit_test(test_as_many_threads_as_allowed),
		cmocka_unit_test(test_higher_limit_is_for_jobs_that_wait_already),
		cmocka_unit_test(test_full_queue_refuses),
		cmocka_unit_test(test_cancelled_job_is_freed_and_not_told),
		cmocka_unit_test(test_end_frees_what_waits),
		cmocka_unit_test(test_end_does_not_wait_for_a_stuck_thread),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
