/* test_net.c - addresses and networks.
 * SPDX-License-Identifier: ISC */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/net.h"

static struct net_addr ip(const char *s, uint16_t port)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(s, port, &a), 0);
	return a;
}

static void test_literals_are_parsed_and_formatted(void **state)
{
	(void)state;

	char buf[NET_TEXT_MAX];
	struct net_addr a = ip("10.0.0.7", 5432), b = ip("FE80:0::1", 1);

	assert_int_equal(a.family, NET_IPV4);
	assert_string_equal(net_format_ip(&a, buf, sizeof buf), "10.0.0.7");
	assert_string_equal(net_format(&a, buf, sizeof buf), "10.0.0.7:5432");
	assert_int_equal(b.family, NET_IPV6);
	assert_string_equal(net_format_ip(&b, buf, sizeof buf), "fe80::1");
	assert_string_equal(net_format(&b, buf, sizeof buf), "[fe80::1]:1");
}

static void test_text_that_is_no_literal_is_refused(void **state)
{
	(void)state;

	static const char *const bad[] = {
		"",
		"localhost",
		"10.0.0",
		"10.0.0.256",
		"10.0.0.1:5432",
		"[::1]",
		":::",
		" 10.0.0.1",
		"*",
	};
	struct net_addr a = { .family = NET_NONE, .port = 7 };

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(net_parse_ip(bad[i], 1, &a), -1);
	assert_int_equal(a.port, 7);
}

static void test_unix_is_formatted_with_and_without_pid(void **state)
{
	(void)state;

	char buf[NET_TEXT_MAX];
	struct net_addr a = { .family = NET_UNIX, .port = 6432, .pid = 4711 };

	assert_string_equal(net_format_ip(&a, buf, sizeof buf), "unix");
	assert_string_equal(net_format(&a, buf, sizeof buf), "unix(4711):6432");
	a.pid = 0;
	assert_string_equal(net_format(&a, buf, sizeof buf), "unix:6432");
	a.family = NET_NONE;
	assert_string_equal(net_format_ip(&a, buf, sizeof buf), "unknown");
}

static void test_longest_address_fits(void **state)
{
	(void)state;

	char buf[NET_TEXT_MAX];
	struct net_addr a =
	    ip("1111:2222:3333:4444:5555:6666:7777:8888", 65535);

	assert_string_equal(net_format(&a, buf, sizeof buf),
	    "[1111:2222:3333:4444:5555:6666:7777:8888]:65535");
	assert_string_equal(net_format(&a, buf, 6), "[1111");
}

static void test_ip_survives_the_way_through_sockaddr(void **state)
{
	(void)state;

	struct net_addr in[] = { ip("10.0.0.7", 5432), ip("fe80::1", 6432) };
	struct sockaddr_storage ss;
	struct net_addr out;

	in[1].pid = 3; /* the scope of a link-local address */
	assert_int_equal(net_to_sockaddr(&in[0], &ss),
	    sizeof(struct sockaddr_in));
	net_from_sockaddr(&out, (struct sockaddr *)&ss);
	assert_true(net_equal(&in[0], &out));
	assert_int_equal(net_to_sockaddr(&in[1], &ss),
	    sizeof(struct sockaddr_in6));
	net_from_sockaddr(&out, (struct sockaddr *)&ss);
	assert_true(net_equal(&in[1], &out));
	assert_int_equal(out.pid, 3);
}

static void test_other_families_have_no_sockaddr(void **state)
{
	(void)state;

	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr sa = { .sa_family = AF_UNSPEC };
	struct sockaddr_storage ss;
	struct net_addr a;

	net_from_sockaddr(&a, (struct sockaddr *)&un);
	assert_int_equal(a.family, NET_UNIX);
	assert_int_equal(net_to_sockaddr(&a, &ss), 0);
	net_from_sockaddr(&a, &sa);
	assert_int_equal(a.family, NET_NONE);
	assert_int_equal(net_to_sockaddr(&a, &ss), 0);
}

static void test_a_site_is_an_address_or_a_64(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "fd00::1", "fd00::ffff:0:0:2", true },
		{ "fd00::1", "fd00:0:0:1::1", false },
		{ "10.0.0.1", "a00:1::", false },
	};
	struct net_addr a, b;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(net_parse_ip(rows[i].a, 1, &a), 0);
		assert_int_equal(net_parse_ip(rows[i].b, 2, &b), 0);
		assert_int_equal(net_same_site(&a, &b), rows[i].same);
	}
}

static void test_equality_is_family_address_and_port(void **state)
{
	(void)state;

	const struct net_addr a = ip("10.0.0.7", 1), b = ip("10.0.0.7", 2);
	const struct net_addr c = ip("10.0.0.8", 1), d = ip("a00:7::", 1);
	const struct net_addr e = ip("a00:7::1", 1);

	assert_true(net_equal(&a, &a));
	assert_false(net_equal(&a, &b));
	assert_false(net_equal(&a, &c));
	assert_false(net_equal(&a, &d));
	assert_false(net_equal(&d, &e));
}

static bool has(const char *net, const char *mask, const char *addr)
{
	const struct net_addr a = ip(addr, 5432);
	struct net_cidr c;

	assert_int_equal(net_parse_cidr(net, mask, &c), 0);
	return net_cidr_has(&c, &a);
}

static void test_mapped_address_is_one_of_ipv4(void **state)
{
	static const char *const pairs[][2] = {
		{ "::ffff:10.0.0.7", "10.0.0.7" },
		{ "10.0.0.7", "10.0.0.7" },
		{ "::1", "::1" },
		{ "::10.0.0.7", "::10.0.0.7" },
		{ "64:ff9b::10.0.0.7", "64:ff9b::10.0.0.7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct net_addr a, b;

		assert_int_equal(net_parse_ip(pairs[i][0], 5432, &a), 0);
		assert_int_equal(net_parse_ip(pairs[i][1], 5432, &b), 0);
		assert_true(net_equal(&a, &b));
		assert_int_equal(a.family, b.family);
	}
}

static void test_mapped_address_of_a_socket_is_one_of_ipv4(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(5432), .sin6_scope_id = 7 };
	const struct net_addr want = ip("10.0.0.7", 5432);
	struct net_addr a;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.7",
	    &in6.sin6_addr), 1);
	net_from_sockaddr(&a, (struct sockaddr *)&in6);
	assert_int_equal(a.family, NET_IPV4);
	assert_memory_equal(&a, &want, sizeof a);
}

static bool unmapped_has(const char *net, const char *mask, const char *addr)
{
	const struct net_addr a = ip(addr, 5432);
	struct net_cidr c;

	assert_int_equal(net_parse_cidr(net, mask, &c), 0);
	net_cidr_unmap(&c);
	return net_cidr_has(&c, &a);
}

static void test_network_of_mapped_addresses_is_one_of_ipv4_if_unmapped(
    void **state)
{
	static const struct { const char *net, *mask, *addr; bool has; } rows[] = {
		{ "::ffff:10.0.0.0/104", NULL, "10.1.2.3", true },
		{ "::ffff:10.0.0.0/104", NULL, "::ffff:10.1.2.3", true },
		{ "::ffff:10.0.0.0/104", NULL, "11.1.2.3", false },
		{ "::ffff:0:0/96", NULL, "11.1.2.3", true },
		{ "::/0", NULL, "::ffff:11.1.2.3", false },
		{ "::ffff:0:0/95", NULL, "11.1.2.3", false },
		{ "10.0.0.0/8", NULL, "::ffff:10.1.2.3", true },
		{ "::ffff:10.0.0.0", "ffff:ffff:ffff:ffff:ffff:ffff:ff00:0",
		    "10.1.2.3", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(unmapped_has(rows[i].net, rows[i].mask,
		    rows[i].addr), rows[i].has);
		/* as written it has none, as in PostgreSQL */
		if (strstr(rows[i].net, "ffff") != NULL)
			assert_false(has(rows[i].net, rows[i].mask,
			    rows[i].addr));
	}
}

static void test_network_has_what_is_inside(void **state)
{
	(void)state;

	assert_true(has("10.0.0.0/8", NULL, "10.255.0.1"));
	assert_false(has("10.0.0.0/8", NULL, "11.0.0.0"));
	assert_true(has("10.0.0.4/31", NULL, "10.0.0.5"));
	assert_false(has("10.0.0.4/31", NULL, "10.0.0.6"));
	assert_true(has("10.0.0.4/32", NULL, "10.0.0.4"));
	assert_false(has("10.0.0.4/32", NULL, "10.0.0.5"));
	assert_true(has("0.0.0.0/0", NULL, "192.168.1.1"));
	assert_true(has("fe80::/10", NULL, "febf::1"));
	assert_false(has("fe80::/10", NULL, "fec0::1"));
	assert_true(has("::1/128", NULL, "::1"));
}

static void test_network_with_mask_text_has_what_is_inside(void **state)
{
	(void)state;

	assert_true(has("10.1.0.0", "255.255.0.0", "10.1.2.3"));
	assert_false(has("10.1.0.0", "255.255.0.0", "10.2.2.3"));
	assert_true(has("::", "::", "1::1"));
	assert_true(has("fe80::", "ffff::", "fe80::9"));
}

static void test_network_of_other_family_has_nothing(void **state)
{
	(void)state;

	const struct net_addr local = { .family = NET_UNIX };
	struct net_cidr c;

	assert_false(has("0.0.0.0/0", NULL, "::1"));
	assert_false(has("::/0", NULL, "10.0.0.1"));
	assert_int_equal(net_parse_cidr("0.0.0.0/0", NULL, &c), 0);
	assert_false(net_cidr_has(&c, &local));
}

static void test_bits_outside_the_mask_do_not_count(void **state)
{
	(void)state;

	assert_true(has("10.0.0.1/8", NULL, "10.0.0.1"));
	assert_true(has("10.0.0.1/8", NULL, "10.9.0.0"));
	assert_false(has("10.0.0.1/8", NULL, "11.0.0.1"));
	assert_true(has("10.0.3.1", "255.0.255.0", "10.9.3.4"));
	assert_false(has("10.0.3.1", "255.0.255.0", "10.9.4.4"));
}

static void check_interface(const char *addr, const char *mask,
    const char *inside, const char *outside)
{
	const struct net_addr a = ip(addr, 9), m = ip(mask, 0);
	const struct net_addr in = ip(inside, 1), out = ip(outside, 1);
	struct sockaddr_storage sa, sm;
	struct net_cidr c;

	net_to_sockaddr(&a, &sa);
	net_to_sockaddr(&m, &sm);
	net_cidr_from_sockaddr(&c, (struct sockaddr *)&sa,
	    (struct sockaddr *)&sm);
	assert_true(net_cidr_has(&c, &in));
	assert_false(net_cidr_has(&c, &out));
	assert_true(net_cidr_is(&c, &a));
	assert_true(net_equal(&in, &out) || !net_cidr_is(&c, &out));
}

static void test_network_of_an_interface(void **state)
{
	const struct net_addr a = ip("10.0.0.7", 9), b = ip("10.0.0.8", 9);
	struct sockaddr_storage ss;
	struct net_cidr c;

	(void)state;
	check_interface("10.1.2.3", "255.255.0.0", "10.1.9.9", "10.2.2.3");
	check_interface("10.1.2.3", "0.0.0.0", "10.1.2.3", "10.1.2.4");
	check_interface("fe80::1", "ffff::", "fe80::9", "fe81::1");
	net_to_sockaddr(&a, &ss);
	net_cidr_from_sockaddr(&c, (struct sockaddr *)&ss, NULL);
	assert_true(net_cidr_has(&c, &a));
	assert_false(net_cidr_has(&c, &b));
}

static void test_bad_networks_are_refused(void **state)
{
	(void)state;

	static const struct {
		const char *s, *mask;
	} bad[] = {
		{ "10.0.0.0", NULL },
		{ "10.0.0.0/33", NULL },
		{ "10.0.0.0/", NULL },
		{ "10.0.0.0/-1", NULL },
		{ "::/129", NULL },
		{ "/8", NULL },
		{ "x/8", NULL },
		{ "10.0.0.0/8/8", NULL },
		{ "10.0.0.0/8 ", NULL },
		{ "10.0.0.0/8", "255.0.0.0" },
		{ "10.0.0.0", "ffff::" },
		{ "10.0.0.0", "x" },
		{ "10.0.0.0", "" },
		{ "00000000000000000000000000000000000000000000000000000000"
		  "0000000000000000000000/8",
		    NULL },
	};
	struct net_cidr c;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(net_parse_cidr(bad[i].s, bad[i].mask, &c), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literals_are_parsed_and_formatted),
		cmocka_unit_test(test_text_that_is_no_literal_is_refused),
		cmocka_unit_test(test_unix_is_formatted_with_and_without_pid),
		cmocka_unit_test(test_longest_address_fits),
		cmocka_unit_test(test_ip_survives_the_way_through_sockaddr),
		cmocka_unit_test(test_other_families_have_no_sockaddr),
		cmocka_unit_test(test_a_site_is_an_address_or_a_64),
		cmocka_unit_test(test_equality_is_family_address_and_port),
		cmocka_unit_test(test_mapped_address_is_one_of_ipv4),
		cmocka_unit_test(
		    test_mapped_address_of_a_socket_is_one_of_ipv4),
		cmocka_unit_test(
		    test_network_of_mapped_addresses_is_one_of_ipv4_if_unmapped),
		cmocka_unit_test(test_network_of_an_interface),
		cmocka_unit_test(test_network_has_what_is_inside),
		cmocka_unit_test(
		    test_network_with_mask_text_has_what_is_inside),
		cmocka_unit_test(test_network_of_other_family_has_nothing),
		cmocka_unit_test(
		    test_bits_outside_the_mask_do_not_count),
		cmocka_unit_test(test_bad_networks_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
