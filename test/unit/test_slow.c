/* test_slow.c - what is kept of queries that may take long.
 * SPDX-License-Identifier: ISC */
#include "session/slow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "session/client.h"
#include "session/sessions.h"

#define IT "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define QUERY "Q\0\0\0\0select 1 /*traceparent='" IT "'*/"

static struct config config;
static struct catalog catalog = { .config = &config };
static struct sessions ss = { .catalog = &catalog };

static int set_up(void **state)
{
	(void)state;
	config.set.log_query_text = true;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	slow_fini(&ss.slow);
	return 0;
}

static void note(struct client *c)
{
	slow_note(c, (const uint8_t *)QUERY, sizeof QUERY);
}

static void test_text_and_trace_are_kept_until_forgotten(void **state)
{
	struct client c = { .ss = &ss };

	(void)state;
	note(&c);
	assert_string_equal(slow_text(&c), QUERY + 5);
	assert_string_equal(slow_trace(&c), IT);
	assert_string_equal(slow_trace(&c), IT);
	slow_forget(&c);
	assert_null(slow_text(&c));
	assert_null(slow_trace(&c));
}

static void test_query_has_nothing_of_the_one_before(void **state)
{
	static const char other[] = "Q\0\0\0\0select 2";
	struct client c = { .ss = &ss };

	(void)state;
	note(&c);
	slow_note(&c, (const uint8_t *)other, sizeof other);
	assert_string_equal(slow_text(&c), "select 2");
	assert_null(slow_trace(&c));
	slow_forget(&c);
}

static void test_nothing_to_keep_takes_no_room(void **state)
{
	static const char plain[] = "Q\0\0\0\0select 1 /* from here */";
	struct client c = { .ss = &ss };

	(void)state;
	config.set.log_query_text = false;
	mem_fail_at(1);
	slow_note(&c, (const uint8_t *)plain, sizeof plain);
	assert_int_equal(mem_fail_at(0), 0);
	assert_null(c.slow);
}

static void test_room_of_ended_queries_is_used_again(void **state)
{
	struct client one = { .ss = &ss }, two = { .ss = &ss };

	(void)state;
	note(&one);
	slow_forget(&one);
	mem_fail_at(1);
	for (int i = 0; i < 3; i++) {
		note(&two);
		assert_string_equal(slow_trace(&two), IT);
		slow_forget(&two);
	}
	assert_int_equal(mem_fail_at(0), 0);
}

static void test_without_memory_nothing_is_kept(void **state)
{
	struct client c = { .ss = &ss };

	(void)state;
	config.set.log_query_text = false;
	mem_fail_at(1);
	slow_note(&c, (const uint8_t *)QUERY, sizeof QUERY);
	mem_fail_at(1);
	assert_int_equal(slow_set_text(&c, "select 1"), -1);
	mem_fail_at(0);
	assert_null(slow_trace(&c));
	assert_null(slow_text(&c));
	assert_int_equal(slow_set_text(&c, "select 1"), 0);
	assert_string_equal(slow_text(&c), "select 1");
	slow_forget(&c);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_text_and_trace_are_kept_until_forgotten),
		TEST(test_query_has_nothing_of_the_one_before),
		TEST(test_nothing_to_keep_takes_no_room),
		TEST(test_room_of_ended_queries_is_used_again),
		TEST(test_without_memory_nothing_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
