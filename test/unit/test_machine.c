/* test_machine.c - the addresses and networks of this machine.
 * SPDX-License-Identifier: ISC */
#include "io/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/net.h"

static void test_loopback_is_ours_and_others_are_not(void **state)
{
	static const struct {
		const char *ip;
		int host, net;
	} rows[] = {
		{ "127.0.0.1", 1, 1 },
		{ "127.1.2.3", 0, 1 },
		{ "::ffff:127.0.0.1", 1, 1 },
		/* no machine can have these */
		{ "240.0.0.1", 0, 0 },
		{ "ff02::1", 0, 0 },
	};
	const struct net_addr local = { .family = NET_UNIX };
	struct net_addr a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(net_parse_ip(rows[i].ip, 7, &a), 0);
		assert_int_equal(interfaces_have(&a, false), rows[i].host);
		assert_int_equal(interfaces_have(&a, true), rows[i].net);
	}
	assert_int_equal(interfaces_have(&local, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loopback_is_ours_and_others_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
