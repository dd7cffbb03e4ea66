/* test_config_state.c - where HTTP is answered, nobody else listens.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"
#include "conf/config.h"
#include "conf/config_state.h"

static int check(const char *addr, const char *http, struct err *e)
{
	char a[300], h[300];
	struct settings set = { .listen_port = 6432, .listen_addr = a,
		.http_listen_port = 6432, .http_listen_addr = h };

	text_copy(a, sizeof a, addr);
	text_copy(h, sizeof h, http);
	return clash_check(&set, e);
}

static void test_the_same_place_is_refused(void **state)
{
	static const char *const places[][2] = {
		{ "127.0.0.1", "127.0.0.1" }, { "*", "127.0.0.1" },
		{ "*", "::1" }, { "0.0.0.0", "127.0.0.1" },
		{ "127.0.0.1", "*" }, { "*", "*" },
		{ "10.0.0.1", "0.0.0.0" }, { "::", "fd00::1" },
		{ "localhost", "127.0.0.1" }, { "fd00::1", "FD00:0::1" },
		{ "10.0.0.1, 127.0.0.1", "::1,10.0.0.2 ,127.0.0.1" },
		{ "::ffff:10.0.0.1", "10.0.0.1" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		assert_int_equal(check(places[i][0], places[i][1], &e), -1);
	assert_string_equal(e.text, "http_listen_port 6432 at 10.0.0.1 is "
	    "where clients connect to (listen_port, listen_addr "
	    "::ffff:10.0.0.1)");
}

static void test_other_places_are_not(void **state)
{
	static const char *const places[][2] = {
		{ "", "127.0.0.1" }, { "127.0.0.1", "" },
		{ "127.0.0.1", "127.0.0.2" }, { "127.0.0.1", "::1" },
		{ "0.0.0.0", "::1" }, { "name.example", "10.0.0.1" },
		{ " ,", "127.0.0.1" },
	};
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		assert_int_equal(check(places[i][0], places[i][1], &e), 0);
}

static void test_other_ports_and_items_of_any_length_are_not(void **state)
{
	char addr[] = "127.0.0.1", longer[290];
	struct settings set = { .listen_port = 6432, .listen_addr = addr,
		.http_listen_port = 9127, .http_listen_addr = addr };
	struct err e;

	(void)state;
	assert_int_equal(clash_check(&set, &e), 0);
	set.listen_port = set.http_listen_port = 0;
	assert_int_equal(clash_check(&set, &e), 0);
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	assert_int_equal(check(longer, longer, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_place_is_refused),
		cmocka_unit_test(test_other_places_are_not),
		cmocka_unit_test(
		    test_other_ports_and_items_of_any_length_are_not),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
