/* test_dns_channel.c - name servers with a port.
 * SPDX-License-Identifier: ISC */
#include "io/dns_channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void test_servers_are_listed(void **state)
{
	static const struct {
		const char *line, *want;
		bool port;
	} rows[] = {
		{ "nameserver 10.0.0.1\n", "10.0.0.1:53", false },
		{ "nameserver\t10.0.0.1:5353", "10.0.0.1:5353", true },
		{ "  nameserver 10.0.0.1:8600 # consul", "10.0.0.1:8600",
		    true },
		{ "nameserver ::1", "[::1]:53", false },
		{ "nameserver [::1]:54\r\n", "[::1]:54", true },
		{ "nameserver [::1]", "", false },
		{ "nameserver [::1", "", false },
		{ "nameserver 10.0.0.1:0", "", false },
		{ "nameserver 10.0.0.1:65536", "", false },
		{ "nameserver 10.0.0.1:", "", false },
		{ "nameserver 10.0.0.1:5x", "", false },
		{ "nameserver name:53", "", false },
		{ "nameserver", "", false },
		{ "nameservers 10.0.0.1:53", "", false },
		{ "search a.b", "", false },
		{ "# nameserver 10.0.0.1:53", "", false },
		{ "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char buf[256];
		struct text list;

		text_init(&list, buf, sizeof buf);
		assert_int_equal(resolv_conf_line(rows[i].line, &list),
		    rows[i].port);
		assert_string_equal(buf, rows[i].want);
	}
}

static void test_several_are_joined(void **state)
{
	char buf[256], long_name[300] = "nameserver ";
	struct text list;

	(void)state;
	text_init(&list, buf, sizeof buf);
	assert_true(resolv_conf_line("nameserver 1.2.3.4:5", &list));
	memset(long_name + strlen(long_name), '1', 200);
	assert_false(resolv_conf_line(long_name, &list));
	assert_false(resolv_conf_line("nameserver fe80::1", &list));
	assert_string_equal(buf, "1.2.3.4:5,[fe80::1]:53");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_servers_are_listed),
		cmocka_unit_test(test_several_are_joined),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
