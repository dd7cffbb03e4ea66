/* test_orders.c - what pgsluicectl's verbs say to the console.
 * SPDX-License-Identifier: ISC */
#include "ctl/orders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void assert_order(char *words[5], enum order_end end, const char *want)
{
	char buf[128];
	struct text t;
	int argc = 0;

	while (argc < 4 && words[argc + 1] != NULL)
		argc++;
	text_init(&t, buf, sizeof(buf));
	assert_int_equal(orders_compose(words[0], argc, words + 1, &t), end);
	assert_string_equal(buf, want);
}

#define ORDER(...) ((char *[5]){ __VA_ARGS__ })

static void test_verbs_are_the_console_s(void **state)
{
	(void)state;

	assert_order(ORDER("pause"), ORDER_GOES_ON, "PAUSE");
	assert_order(ORDER("reload"), ORDER_GOES_ON, "RELOAD");
	assert_order(ORDER("shutdown"), ORDER_ENDS, "SHUTDOWN");
	assert_order(ORDER("shutdown", "wait_for_servers"), ORDER_ENDS,
	    "SHUTDOWN wait_for_servers");
	assert_order(ORDER("shutdown", "Wait_for_clients"), ORDER_ENDS_ALONE,
	    "SHUTDOWN Wait_for_clients");
}

static void test_names_are_quoted_where_they_must_be(void **state)
{
	(void)state;

	assert_order(ORDER("pause", "shop_1"), ORDER_GOES_ON, "PAUSE shop_1");
	assert_order(ORDER("pause", "my shop"), ORDER_GOES_ON,
	    "PAUSE \"my shop\"");
	assert_order(ORDER("resume", "a\"b; x"), ORDER_GOES_ON,
	    "RESUME \"a\"\"b; x\"");
	assert_order(ORDER("pause", ""), ORDER_GOES_ON, "PAUSE \"\"");
	assert_order(ORDER("resume", "Host", "db'1.example"), ORDER_GOES_ON,
	    "RESUME HOST 'db''1.example'");
}

static void test_verbs_of_two_words_have_an_underscore(void **state)
{
	(void)state;

	assert_order(ORDER("kill-client", "17"), ORDER_GOES_ON,
	    "KILL_CLIENT 17");
	assert_order(ORDER("cancel-client", "4294967295"), ORDER_GOES_ON,
	    "CANCEL_CLIENT 4294967295");
	assert_order(ORDER("wait-close"), ORDER_GOES_ON, "WAIT_CLOSE");
	assert_order(ORDER("forget", "user", "ann s"), ORDER_GOES_ON,
	    "FORGET user \"ann s\"");
	assert_order(ORDER("reconnect", "my shop"), ORDER_GOES_ON,
	    "RECONNECT \"my shop\"");
}

static void test_value_of_a_setting_is_quoted(void **state)
{
	(void)state;

	assert_order(ORDER("set", "max_pinned", "-1"), ORDER_GOES_ON,
	    "SET max_pinned = '-1'");
	assert_order(ORDER("set", "Persist", "auth_query", "select 'a'; x"),
	    ORDER_GOES_ON, "SET Persist auth_query = 'select ''a''; x'");
	assert_order(ORDER("set", "k", ""), ORDER_GOES_ON, "SET k = ''");
}

static void test_do_takes_the_text_as_it_is(void **state)
{
	(void)state;

	assert_order(ORDER("do", "KILL_CLIENT 17"), ORDER_GOES_ON,
	    "KILL_CLIENT 17");
	assert_order(ORDER("do", "set", "verbose", "=", "1"), ORDER_GOES_ON,
	    "set verbose = 1");
	assert_order(ORDER("log", "it's", "me"), ORDER_GOES_ON,
	    "LOG it's me");
}

static void test_do_of_a_shutdown_ends_the_process(void **state)
{
	(void)state;

	assert_order(ORDER("do", "SHUTDOWN;"), ORDER_ENDS, "SHUTDOWN;");
	assert_order(ORDER("do", " shutdown Wait_For_Clients"),
	    ORDER_ENDS_ALONE, " shutdown Wait_For_Clients");
	assert_order(ORDER("do", "SHUTDOWNS"), ORDER_GOES_ON, "SHUTDOWNS");
	assert_order(ORDER("do", "shut"), ORDER_GOES_ON, "shut");
}

static void test_drain_of_a_time_ends_the_process(void **state)
{
	(void)state;

	assert_order(ORDER("drain"), ORDER_ENDS, "SHUTDOWN DRAIN");
	assert_order(ORDER("drain", "30"), ORDER_ENDS, "SHUTDOWN DRAIN 30");
	assert_order(ORDER("drain", "2min"), ORDER_ENDS,
	    "SHUTDOWN DRAIN 2min");
}

static void test_drain_of_a_place_does_not(void **state)
{
	(void)state;

	assert_order(ORDER("drain", "shop"), ORDER_GOES_ON, "DRAIN shop");
	assert_order(ORDER("drain", "3shops"), ORDER_GOES_ON, "DRAIN 3shops");
	assert_order(ORDER("drain", ".5"), ORDER_GOES_ON, "DRAIN \".5\"");
	assert_order(ORDER("drain", "host", "db1"), ORDER_GOES_ON,
	    "DRAIN HOST 'db1'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verbs_are_the_console_s),
		cmocka_unit_test(test_names_are_quoted_where_they_must_be),
		cmocka_unit_test(test_verbs_of_two_words_have_an_underscore),
		cmocka_unit_test(test_value_of_a_setting_is_quoted),
		cmocka_unit_test(test_do_takes_the_text_as_it_is),
		cmocka_unit_test(test_do_of_a_shutdown_ends_the_process),
		cmocka_unit_test(test_drain_of_a_time_ends_the_process),
		cmocka_unit_test(test_drain_of_a_place_does_not),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
