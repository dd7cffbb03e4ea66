/* test_login_queue.c - logins take turns, the oldest first.
 * SPDX-License-Identifier: ISC */
#include "login/login_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "login/login_parts.h"
#include "session/client.h"

#define LOGINS 4

static struct {
	struct loop *loop;
	struct login_queue queue;
	struct login login[LOGINS];
	struct client client[LOGINS];
	char worked[16];		/* "abc": in which order */
	bool long_work;
} st;

static void work(struct client *c)
{
	st.worked[strlen(st.worked)] = (char)('a' + (c - st.client));
	if (!st.long_work)
		return;
	const usec_t end = time_precise() + LOGIN_TURN;

	while (time_precise() < end)
		continue;
}

/* b's turn: a is to come again, and c not at all. */
static void work_of_b(struct client *c)
{
	work(c);
	login_queue_add(&st.queue, &st.login[0]);
	login_queue_remove(&st.queue, &st.login[2]);
}

static int setup(void **state)
{
	(void)state;
	memset(&st, 0, sizeof st);
	st.loop = loop_new();
	login_queue_init(&st.queue, st.loop);
	for (int i = 0; i < LOGINS; i++) {
		st.login[i].client = &st.client[i];
		st.login[i].work = work;
	}
	return st.loop == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_free(&st.loop);
	return 0;
}

static void stop(void *arg)
{
	loop_stop(arg);
}

static void turn(void)
{
	loop_run(st.loop, stop, st.loop);
}

/* As many as the machine needs for all that wait. */
static void turns(void)
{
	while (st.queue.first != NULL)
		turn();
}

static void test_oldest_is_first_and_none_is_worked_on_at_once(void **state)
{
	(void)state;
	login_queue_add(&st.queue, &st.login[1]);
	login_queue_add(&st.queue, &st.login[0]);
	login_queue_add(&st.queue, &st.login[2]);
	assert_string_equal(st.worked, "");
	turns();
	assert_string_equal(st.worked, "bac");
}

static void test_one_that_waits_keeps_its_place_when_added_again(void **state)
{
	(void)state;
	login_queue_add(&st.queue, &st.login[0]);
	login_queue_add(&st.queue, &st.login[1]);
	login_queue_add(&st.queue, &st.login[0]);
	turns();
	assert_string_equal(st.worked, "ab");
}

static void test_one_that_is_over_has_no_turn(void **state)
{
	(void)state;
	login_queue_add(&st.queue, &st.login[0]);
	login_queue_add(&st.queue, &st.login[1]);
	login_queue_remove(&st.queue, &st.login[0]);
	login_queue_remove(&st.queue, &st.login[3]);	/* was never there */
	turns();
	assert_string_equal(st.worked, "b");
}

static void test_work_may_change_the_queue(void **state)
{
	(void)state;
	st.login[1].work = work_of_b;
	for (int i = 0; i < 3; i++)
		login_queue_add(&st.queue, &st.login[i]);
	turns();
	assert_string_equal(st.worked, "aba");
	assert_null(st.queue.first);
}

static void test_those_behind_a_long_one_wait_in_front_of_the_next(
    void **state)
{
	(void)state;
	st.long_work = true;
	login_queue_add(&st.queue, &st.login[0]);
	login_queue_add(&st.queue, &st.login[1]);
	turn();
	assert_string_equal(st.worked, "a");
	login_queue_add(&st.queue, &st.login[2]);
	login_queue_add(&st.queue, &st.login[0]);
	turns();
	assert_string_equal(st.worked, "abca");
}

static void test_one_that_is_put_off_waits_for_a_tick(void **state)
{
	(void)state;
	login_queue_put_off(&st.queue, &st.login[0]);
	login_queue_put_off(&st.queue, &st.login[1]);
	login_queue_put_off(&st.queue, &st.login[2]);
	login_queue_remove(&st.queue, &st.login[1]);
	login_queue_add(&st.queue, &st.login[3]);
	turns();
	assert_string_equal(st.worked, "d");
	login_queue_tick(&st.queue);
	turns();
	assert_string_equal(st.worked, "dac");
	login_queue_tick(&st.queue);
	assert_null(st.queue.first);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_oldest_is_first_and_none_is_worked_on_at_once),
		TEST(test_one_that_waits_keeps_its_place_when_added_again),
		TEST(test_one_that_is_over_has_no_turn),
		TEST(test_work_may_change_the_queue),
		TEST(test_those_behind_a_long_one_wait_in_front_of_the_next),
		TEST(test_one_that_is_put_off_waits_for_a_tick),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
