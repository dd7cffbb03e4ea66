/* test_http.c - is who asks on this machine, and do they know whom they ask?
 * SPDX-License-Identifier: ISC */
#include "http/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/net.h"

static bool is_local(const char *ip)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(ip, 1, &a), 0);
	return access_is_local(&a);
}

static void test_loopback_addresses_are_local(void **state)
{
	(void)state;
	assert_true(is_local("127.0.0.1"));
	assert_true(is_local("127.8.9.10"));
	assert_true(is_local("::1"));
	assert_false(is_local("126.0.0.1"));
	assert_false(is_local("10.0.0.1"));
	assert_false(is_local("::2"));
	assert_false(is_local("fe80::1"));
	assert_false(access_is_local(&(struct net_addr){
		.family = NET_NONE }));
}

static void test_names_that_are_ours_alone(void **state)
{
	static const char *const ours[] = { "", "localhost", "LOCALHOST:80",
		"127.0.0.1", "127.0.0.1:8080", "[::1]", "[::1]:8080" };

	(void)state;
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		assert_true(access_names_us(ours[i]));
}

static void test_names_that_somebody_may_own(void **state)
{
	static const char *const others[] = { "evil.example",
		"localhost.evil.example", "127.evil.example",
		"127.0.0.1.evil.example:80", "10.0.0.1", "[::2]", "[::1", "[",
		"[::1].evil.example", "[::1]x", "localhost:evil.example",
		"localhost:80.evil.example", "localhost:", "127.", "127.1",
		"127.0.0.1.", "127.0.0.1:80:80", "127.0.0.256",
		":", "0123456789012345678901234567890123456789"
		"012345678901234567890123456789" };

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		assert_false(access_names_us(others[i]));
}

static void test_name_of_this_machine_is_ours_as_a_whole(void **state)
{
	char name[300] = "", more[320];

	(void)state;
	assert_int_equal(gethostname(name, 250), 0);
	assert_true(access_names_host(name));
	snprintf(more, sizeof more, "%s:80", name);
	assert_true(access_names_host(more));
	snprintf(more, sizeof more, "%s.evil.example", name);
	assert_false(access_names_host(more));
	assert_false(access_names_host(""));
	assert_false(access_names_host("evil.example"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback_addresses_are_local),
		cmocka_unit_test(test_names_that_are_ours_alone),
		cmocka_unit_test(test_names_that_somebody_may_own),
		cmocka_unit_test(test_name_of_this_machine_is_ours_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
