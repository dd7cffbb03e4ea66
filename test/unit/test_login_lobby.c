/* test_login_lobby.c - strangers: how many there may be, and what failing costs.
 * SPDX-License-Identifier: ISC */
#include "login_test.h"

#define TOO_MANY(limit) "no more connections allowed (" limit ")"
#define DELAY (10 * USEC)

/* Guest i, who has said who it is. */
static void starts(const char *ip)
{
	const unsigned i = st.guests;

	stranger(ip);
	STARTS(i, ANN);
	GUEST_HEARD(i, "R\0\0\0\10\0\0\0\3");
}

/* Those from 10.0.0.1 fail, till one of them waits for its answer; which. */
static unsigned fail_till_it_hurts(void)
{
	st.set->auth_failure_delay = DELAY;
	while (st.guests < GUESTS) {
		const unsigned i = st.guests;

		starts("10.0.0.1");
		guest_password(i, "guess");
		if (st.c[i] != NULL)
			return i;
	}
	fail();
	return 0;
}

/* --- limits --- */

static void test_oldest_stranger_makes_room_for_the_next(void **state)
{
	(void)state;
	st.set->max_unauthenticated = 2;
	starts("10.0.0.1");
	starts("10.0.0.2");
	starts("");
	assert_true(guest_is_refused(0, "08P01",
	    TOO_MANY("max_unauthenticated")));
	assert_null(st.c[0]);
	assert_non_null(st.c[1]);
	assert_non_null(st.c[2]);
}

static void test_who_is_in_is_no_stranger(void **state)
{
	(void)state;
	st.set->max_unauthenticated = 1;
	starts("");
	guest_password(0, "secret");
	starts("");
	assert_non_null(st.c[0]);
	assert_non_null(st.c[1]);
}

static void test_limit_of_an_address_concerns_that_alone(void **state)
{
	(void)state;
	st.set->max_unauthenticated_per_address = 1;
	starts("10.0.0.1");
	starts("10.0.0.2");
	starts("");
	starts("");		/* Unix sockets have none */
	assert_non_null(st.c[0]);
	starts("10.0.0.1");
	assert_true(guest_is_refused(0, "08P01",
	    TOO_MANY("max_unauthenticated_per_address")));
	for (unsigned i = 1; i < st.guests; i++)
		assert_non_null(st.c[i]);
}

static void test_stranger_with_much_memory_goes_before_older_ones(void **state)
{
	static char half[20000] = "p\0\0\372\0";

	(void)state;
	starts("");
	starts("");
	starts("");
	st.set->login_memory = (int64_t)st.ss.lobby.bytes + 10000;
	guest_says(1, half, sizeof half);
	assert_true(guest_is_refused(1, "08P01", TOO_MANY("login_memory")));
	assert_non_null(st.c[0]);
	assert_non_null(st.c[2]);
}

static void test_silent_stranger_makes_room_for_a_client(void **state)
{
	(void)state;
	st.set->max_unauthenticated = 4;
	st.set->max_client_conn = 1;
	stranger("");
	st.c[0]->request_time -= USEC;		/* said nothing since */
	starts("");
	assert_true(guest_is_refused(0, "08P01",
	    TOO_MANY("max_client_conn")));
}

static void test_stranger_that_talks_on_without_an_end_makes_room(void **state)
{
	(void)state;
	st.set->max_unauthenticated = 4;
	st.set->max_client_conn = 1;
	stranger("");
	st.c[0]->born -= 3 * USEC;
	starts("");
	assert_true(guest_is_refused(0, "08P01",
	    TOO_MANY("max_client_conn")));
}

static void test_stranger_that_is_quick_is_left_alone(void **state)
{
	(void)state;
	st.set->max_unauthenticated = 4;
	st.set->max_client_conn = 1;
	stranger("");
	st.c[0]->request_time = st.c[0]->born = time_now() + DELAY;
	stranger("");
	STARTS(1, ANN);
	assert_true(guest_is_refused(1, "08P01",
	    TOO_MANY("max_client_conn")));
	assert_non_null(st.c[0]);
}

/* --- failures --- */

static void test_failure_of_one_that_guesses_is_told_later(void **state)
{
	const unsigned i = fail_till_it_hurts();

	(void)state;
	assert_true(i > 1);		/* a slip of the finger costs nothing */
	assert_true(st.c[i]->stream.paused);
	GUEST_HEARD(i, "");
	login_tick(&st.ss, st.c[i]->login->guest.until - 1);
	GUEST_HEARD(i, "");
	login_tick(&st.ss, time_now() + DELAY + USEC);
	assert_true(guest_is_refused(i, "28P01",
	    "password authentication failed"));
}

static void test_others_are_told_at_once(void **state)
{
	(void)state;
	fail_till_it_hurts();
	const unsigned other = st.guests;

	starts("10.0.0.2");
	guest_password(other, "guess");
	assert_true(guest_is_refused(other, "28P01",
	    "password authentication failed"));
}

static void test_one_that_waits_for_its_answer_keeps_its_place(void **state)
{
	const unsigned i = fail_till_it_hurts();

	(void)state;
	shutdown(st.end[i], SHUT_RDWR);
	login_turns();
	assert_non_null(st.c[i]);
	assert_int_equal(st.ss.lobby.count, 1);
	login_tick(&st.ss, time_now() + DELAY + USEC);
	assert_null(st.c[i]);
}

/* ... whatever limit more guesses run into. */
static void test_others_from_there_do_not_take_its_place(void **state)
{
	const unsigned i = fail_till_it_hurts();

	(void)state;
	st.set->max_unauthenticated = 1;
	stranger("10.0.0.1");
	assert_true(guest_is_refused(i + 1, "08P01",
	    TOO_MANY("max_unauthenticated")));
	st.set->max_unauthenticated = 4;
	st.set->max_client_conn = 1;
	stranger("10.0.0.1");
	STARTS(i + 2, ANN);
	assert_true(guest_is_refused(i + 2, "08P01",
	    TOO_MANY("max_client_conn")));
	assert_non_null(st.c[i]);
	/* ... but it keeps nobody else out */
	starts("10.0.0.2");
	assert_null(st.c[i]);
	assert_non_null(st.c[i + 3]);
}

static void test_hanging_up_on_a_guess_is_a_failure(void **state)
{
	(void)state;
	st.set->auth_failure_delay = DELAY;
	for (unsigned i = 0; i < GUESTS; i++) {
		starts("10.0.0.1");
		login_examine(st.c[i], 10);	/* by a thread, say */
		st.c[i]->role->hung_up(st.c[i]);
		if (st.c[i] == NULL)
			continue;
		/* nothing waits to be told, but its place is taken */
		login_tick(&st.ss, time_now() + DELAY + USEC);
		assert_null(st.c[i]);
		return;
	}
	fail();
}

static void test_want_of_memory_is_told_at_once(void **state)
{
	struct err e;

	(void)state;
	const unsigned i = fail_till_it_hurts() + 1;

	err_set(&e, "53200", "out of memory");
	starts("10.0.0.1");
	login_refuse(st.c[i], &e);
	assert_true(guest_is_refused(i, "53200", "out of memory"));
	/* ... nor can a failure be kept that memory is short for */
	starts("10.0.0.1");
	err_set(&e, "28P01", "no");
	mem_fail_at(1);
	login_refuse(st.c[i + 1], &e);
	mem_fail_at(0);
	assert_null(st.c[i + 1]);
}

static void test_want_of_memory_at_the_door_closes_the_connection(
    void **state)
{
	unsigned long n = 0;

	(void)state;
	do
		mem_fail_at(++n);
	while (stranger("10.0.0.1") == NULL && st.guests < GUESTS);
	mem_fail_at(0);
	assert_true(n > 3);
	assert_non_null(st.c[n - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(test_oldest_stranger_makes_room_for_the_next),
		LOGIN_TEST(test_who_is_in_is_no_stranger),
		LOGIN_TEST(test_limit_of_an_address_concerns_that_alone),
		LOGIN_TEST(test_stranger_with_much_memory_goes_before_older_ones),
		LOGIN_TEST(test_silent_stranger_makes_room_for_a_client),
		LOGIN_TEST(test_stranger_that_talks_on_without_an_end_makes_room),
		LOGIN_TEST(test_stranger_that_is_quick_is_left_alone),
		LOGIN_TEST(test_failure_of_one_that_guesses_is_told_later),
		LOGIN_TEST(test_others_are_told_at_once),
		LOGIN_TEST(test_one_that_waits_for_its_answer_keeps_its_place),
		LOGIN_TEST(test_others_from_there_do_not_take_its_place),
		LOGIN_TEST(test_hanging_up_on_a_guess_is_a_failure),
		LOGIN_TEST(test_want_of_memory_is_told_at_once),
		LOGIN_TEST(test_want_of_memory_at_the_door_closes_the_connection),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, login_load, login_unload);
}
