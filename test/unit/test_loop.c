/* test_loop.c - the loop: turns, tasks, beats.
 * SPDX-License-Identifier: ISC */
#include "io/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/time.h"

#define GIVE_UP (20 * USEC)
#define LOG_MAX 64

/* Who ran, a letter each. */
struct world {
	struct loop *loop;
	char log[LOG_MAX + 1];
	size_t len;
	size_t enough;	/* stop when the log is as long */
	usec_t end;
};

struct player {
	struct loop_task task;	/* first */
	struct world *w;
	char name;
	/* what it does besides */
	void (*play)(struct player *p);
	struct player *other;
};

static void note(struct world *w, char name)
{
	if (w->len < LOG_MAX)
		w->log[w->len++] = name;
}

static void run_player(struct loop_task *t)
{
	struct player *p = (struct player *)t;

	note(p->w, p->name);
	if (p->play != NULL)
		p->play(p);
}

static struct player player(struct world *w, char name)
{
	return (struct player){ .task.run = run_player, .w = w,
		.name = name };
}

static int setup(void **state)
{
	static struct world w;

	memset(&w, 0, sizeof w);
	w.loop = loop_new();
	assert_non_null(w.loop);
	w.end = time_precise() + GIVE_UP;
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	loop_free(&w->loop);
	return 0;
}

static void stop_when_enough(void *arg)
{
	struct world *w = arg;

	if (w->len > 0 && w->log[w->len - 1] != '.')
		note(w, '.');
	if (w->len >= w->enough)
		loop_stop(w->loop);
	assert_true(time_precise() < w->end);
}

/* Turns until so much was noted; those in which something was end in a dot. */
static const char *run(struct world *w, size_t enough)
{
	w->enough = enough;
	loop_run(w->loop, stop_when_enough, w);
	return w->log;
}

/* --- tasks --- */

static void again(struct player *p)
{
	loop_again(p->w->loop, &p->task);
}

static void test_tasks_run_once_each_in_order(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	loop_again(w->loop, &c.task);
	loop_again(w->loop, &a.task);
	loop_cancel(w->loop, &b.task);
	assert_string_equal(run(w, 3), "ac.");
}

static void test_task_that_asks_again_runs_in_next_turn(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');

	a.play = again;
	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	assert_string_equal(run(w, 7), "ab.a.a.");
}

static void defer_other(struct player *p)
{
	loop_defer(p->w->loop, &p->other->task);
}

static void test_deferred_task_runs_at_end_of_turn(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	a.play = defer_other;
	a.other = &c;
	loop_again(w->loop, &a.task);
	loop_again(w->loop, &b.task);
	loop_again(w->loop, &c.task);	/* which defer takes back */
	assert_string_equal(run(w, 3), "ab.c");
}

/* --- beats --- */

static void end_other(struct player *p)
{
	loop_beat_off(p->w->loop, &p->other->task);
}

static void begin_other(struct player *p)
{
	loop_beat_on(p->w->loop, &p->other->task);
}

static void test_beat_goes_on_until_it_is_ended(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');
	const usec_t begin = time_precise();

	loop_beat_on(w->loop, &a.task);
	loop_beat_on(w->loop, &b.task);
	loop_beat_on(w->loop, &a.task);
	assert_string_equal(run(w, 9), "ab.ab.ab.");
	assert_true(time_precise() - begin >= USEC / 500);
	loop_beat_off(w->loop, &a.task);
	loop_beat_off(w->loop, &a.task);
	assert_string_equal(run(w, 11), "ab.ab.ab.b.");
	loop_beat_off(w->loop, &b.task);
}

static void test_beats_may_end_and_begin_each_other(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b'),
		c = player(w, 'c');

	a.play = end_other;
	a.other = &b;
	c.play = begin_other;
	c.other = &b;
	loop_beat_on(w->loop, &a.task);
	loop_beat_on(w->loop, &b.task);
	loop_beat_on(w->loop, &c.task);
	/* b begins again behind a and c, and a is before it */
	assert_string_equal(run(w, 6), "ac.ac.");
}

static void end_self(struct player *p)
{
	loop_beat_off(p->w->loop, &p->task);
}

static void test_last_beat_may_end_itself(void **state)
{
	struct world *w = *state;
	struct player a = player(w, 'a'), b = player(w, 'b');

	a.play = end_self;
	loop_beat_on(w->loop, &a.task);
	assert_string_equal(run(w, 2), "a.");
	loop_beat_on(w->loop, &b.task);
	assert_string_equal(run(w, 4), "a.b.");
	loop_beat_off(w->loop, &b.task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_tasks_run_once_each_in_order),
		T(test_task_that_asks_again_runs_in_next_turn),
		T(test_deferred_task_runs_at_end_of_turn),
		T(test_beat_goes_on_until_it_is_ended),
		T(test_beats_may_end_and_begin_each_other),
		T(test_last_beat_may_end_itself),
#undef T
	};

	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
