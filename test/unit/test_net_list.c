/* test_net_list.c - networks in a text.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/net.h"

static bool has(const char *list, const char *ip)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(ip, 5432, &a), 0);
	return net_list_has(list, &a);
}

static void test_address_is_found_in_any_item(void **state)
{
	(void)state;

	static const char list[] =
	    "10.0.0.0/8,192.0.2.7\n 2001:db8::/32,\t::1 ,";

	assert_true(has(list, "10.255.0.1"));
	assert_true(has(list, "192.0.2.7"));
	assert_true(has(list, "::ffff:192.0.2.7"));
	assert_true(has(list, "2001:db8:1::2"));
	assert_true(has(list, "::1"));
	assert_false(has(list, "11.0.0.1"));
	assert_false(has(list, "192.0.2.8"));
	assert_false(has(list, "2001:db9::1"));
	assert_false(has("", "10.0.0.1"));
	assert_false(has("0.0.0.0/0", "::1"));
	assert_false(has("::/0", "10.0.0.1"));
}

static void test_unix_socket_is_in_no_network(void **state)
{
	(void)state;

	const struct net_addr a = { .family = NET_UNIX };

	assert_false(net_list_has("0.0.0.0/0, ::/0", &a));
}

static void test_what_is_no_network_is_named(void **state)
{
	(void)state;

	static const char *const bad[] = { "10.0.0.0/33", "10.0.0", "host",
		"10.0.0.1:5432", "10.0.0.0/255.0.0.0/8", "*", "/8",
		"1111111111111111111111111111111111111111111111111111111111"
		"1111111111111111111111111111111111111111111111111111111111" };
	struct err e;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(net_list_check(bad[i], &e), -1);
		assert_false(has(bad[i], "10.0.0.1"));
	}
	assert_int_equal(net_list_check("10.0.0.1, nonsense", &e), -1);
	assert_string_equal(e.text, "\"nonsense\" is not an address or network");
	assert_int_equal(net_list_check(" 10.0.0.0/8,,::1 ", &e), 0);
	assert_int_equal(net_list_check("", &e), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_is_found_in_any_item),
		cmocka_unit_test(test_unix_socket_is_in_no_network),
		cmocka_unit_test(test_what_is_no_network_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
