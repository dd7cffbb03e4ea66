/* test_startup.c - first messages, StartupMessage parameters and options.
 * SPDX-License-Identifier: ISC */
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "proto/msg.h"
#include "proto/startup.h"

#define PEEK(s, out) startup_peek(s, sizeof(s) - 1, out)

/* Collects "name=value;"; stops at the name "stop". */
static int collect(const char *name, const char *value, void *arg,
    struct err *e)
{
	text_addf(arg, "%s=%s;", name, value);
	return strcmp(name, "stop") == 0 ? err_set(e, "XX000", "stopped") : 0;
}

static void test_requests_are_told_apart(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("\0\0\0\10\4\xd2\x16\x2f", &s), STARTUP_SSL);
	assert_int_equal(s.kind, STARTUP_SSL);
	assert_int_equal(s.size, 8);
	assert_int_equal(s.code, 80877103);
	assert_int_equal(PEEK("\0\0\0\10\4\xd2\x16\x30", &s), STARTUP_GSS);
	assert_int_equal(PEEK("\0\0\0\20\4\xd2\26\56abcdefgh", &s),
	    STARTUP_CANCEL);
	assert_int_equal(s.body_len, 8);
	assert_memory_equal(s.body, "abcdefgh", 8);
	assert_int_equal(PEEK("\0\0\1\x28\0\2\0\0user", &s), STARTUP_V2);
}

static void test_all_minor_versions_of_3_are_startup(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("\0\0\0\11\0\3\0\0\0", &s), STARTUP_MESSAGE);
	assert_int_equal(s.code, 196608);
	assert_int_equal(s.body_len, 1);
	assert_int_equal(PEEK("\0\0\0\11\0\3\0\2\0", &s), STARTUP_MESSAGE);
	assert_int_equal(PEEK("\0\0\0\11\0\3\xff\xff\0", &s), STARTUP_MESSAGE);
	assert_int_equal(s.code, 262143);
}

static void test_other_codes_are_bad(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("\0\0\0\11\0\4\0\0\0", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\11\0\2\0\1\0", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\10\0\0\0\0", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\10\4\xd2\x16\x31", &s), STARTUP_BAD);
}

static void test_impossible_lengths_are_bad_at_once(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("\0\1", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\0", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\7", &s), STARTUP_BAD);
	/* Requests of a fixed size with another one. */
	assert_int_equal(PEEK("\0\0\0\11\4\xd2\x16\x2f\0", &s), STARTUP_BAD);
	assert_int_equal(PEEK("\0\0\0\11\4\xd2\x16\x30\0", &s), STARTUP_BAD);
}

static void test_first_byte_not_zero_is_a_typed_message(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("Q", &s), STARTUP_TYPED);
	assert_int_equal(PEEK("\x16\3\1", &s), STARTUP_TYPED);
}

static void test_every_split_is_short(void **state)
{
	(void)state;

	static const char message[] = "\0\0\0\23\0\3\0\0user\0ann\0\0";
	struct startup s;

	for (size_t n = 0; n < 19; n++)
		assert_int_equal(startup_peek(message, n, &s), STARTUP_SHORT);
	assert_int_equal(startup_peek(message, 19, &s), STARTUP_MESSAGE);
	assert_int_equal(s.kind, STARTUP_MESSAGE);
	assert_int_equal(startup_peek(NULL, 0, &s), STARTUP_SHORT);
}

static void test_bytes_behind_the_message_are_left(void **state)
{
	(void)state;

	struct startup s;

	assert_int_equal(PEEK("\0\0\0\10\4\xd2\x16\x2fmore", &s), STARTUP_SSL);
	assert_int_equal(s.size, 8);
	assert_int_equal(s.body_len, 0);
}

static void test_largest_message_is_accepted(void **state)
{
	(void)state;

	static uint8_t message[STARTUP_MAX];
	struct startup s;

	msg_put_u32(message, STARTUP_MAX);
	msg_put_u32(message + 4, 196608);
	assert_int_equal(startup_peek(message, sizeof message - 1, &s),
	    STARTUP_SHORT);
	assert_int_equal(startup_peek(message, sizeof message, &s),
	    STARTUP_MESSAGE);
	assert_int_equal(s.body_len, STARTUP_MAX - 8);
}

/* Walk the body; what collect() saw goes to seen. */
static int each(const char *body, size_t n, char *seen, struct err *e)
{
	const struct startup s = {
		.kind = STARTUP_MESSAGE,
		.body = (const uint8_t *)body,
		.body_len = n,
	};
	struct text t;

	text_init(&t, seen, 256);
	return startup_each(&s, collect, &t, e);
}

#define EACH(s, seen, e) each(s, sizeof(s) - 1, seen, e)

static void test_parameters_come_in_order(void **state)
{
	(void)state;

	char seen[256];
	struct err e;

	assert_int_equal(EACH("user\0ann\0database\0shop\0options\0\0\0", seen,
			     &e),
	    0);
	assert_string_equal(seen, "user=ann;database=shop;options=;");
	assert_int_equal(EACH("\0", seen, &e), 0);
	assert_string_equal(seen, "");
}

static void test_callback_stops_the_walk(void **state)
{
	(void)state;

	char seen[256];
	struct err e;

	assert_int_equal(EACH("stop\0now\0user\0ann\0", seen, &e), -1);
	assert_string_equal(seen, "stop=now;");
	assert_string_equal(e.text, "stopped");
}

static void test_broken_layouts_are_refused(void **state)
{
	(void)state;

	static const struct {
		const char *p;
		size_t n;
	} bad[] = {
		{ NULL, 0 },
		{ "user", 4 },
		{ "user\0", 5 },
		{ "user\0ann", 8 },
		{ "user\0ann\0", 9 },
		{ "user\0ann\0\0\0", 11 },
		{ "\0user\0ann\0\0", 11 },
	};
	char seen[256];
	struct err e;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		e.text[0] = '\0';
		assert_int_equal(each(bad[i].p, bad[i].n, seen, &e), -1);
		assert_string_equal(e.code, "08P01");
		assert_string_equal(e.text,
		    "invalid startup packet layout: "
		    "expected terminator as last byte");
	}
}

static int options(const char *value, char *seen, struct err *e)
{
	struct text t;

	text_init(&t, seen, 256);
	return startup_options(value, collect, &t, e);
}

static void test_options_are_read_in_every_spelling(void **state)
{
	(void)state;

	static const struct {
		const char *value, *seen;
	} good[] = {
		{ "", "" },
		{ "  ", "" },
		{ "-c a=b", "a=b;" },
		{ "-ca=b", "a=b;" },
		{ "--a=b", "a=b;" },
		{ "  -c \t a=b  --c=d -ce=f ", "a=b;c=d;e=f;" },
		{ "-c a=", "a=;" },
		{ "-c a=b=c", "a=b=c;" },
		{ "-c a=b\\ c", "a=b c;" },
		{ "-c a=b\\\\c", "a=b\\c;" },
		{ "-c a=\\-\\c", "a=-c;" },
		{ "\\-c a=b", "a=b;" },
		{ "-c a=b\\", "a=b\\;" },
	};
	char seen[256];
	struct err e;

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(options(good[i].value, seen, &e), 0);
		assert_string_equal(seen, good[i].seen);
	}
}

static void test_other_options_are_refused(void **state)
{
	(void)state;

	static const char *const bad[] = {
		"-c",
		"-c a",
		"-c  ",
		"--a",
		"--",
		"-",
		"-d 3",
		"a=b",
		"-c a=b c",
		"-c a =b",
		"-c =b",
		"--=b",
		"-c =",
		"-C a=b",
		"-c a=b -B 5",
	};
	char seen[256];
	struct err e;

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		e.text[0] = '\0';
		assert_int_equal(options(bad[i], seen, &e), -1);
		assert_string_equal(e.code, "08P01");
		assert_string_equal(e.text,
		    "unsupported options startup "
		    "parameter: only '-c config=val' and '--config=val' "
		    "are allowed");
	}
}

static void test_callback_stops_the_options(void **state)
{
	(void)state;

	char seen[256];
	struct err e;

	assert_int_equal(options("-c stop=1 -c a=b -x", seen, &e), -1);
	assert_string_equal(seen, "stop=1;");
	assert_string_equal(e.text, "stopped");
}

static void test_options_without_memory_are_an_error(void **state)
{
	(void)state;

	char seen[256];
	struct err e;

	mem_fail_at(1);
	assert_int_equal(options("-c a=b", seen, &e), -1);
	mem_fail_at(0);
	assert_string_equal(e.code, "53200");
	assert_string_equal(seen, "");
}

static void test_replication_values_are_read_as_postgres_does(void **state)
{
	(void)state;

	static const char *const physical[] = {
		"1",
		"t",
		"true",
		"TRUE",
		"y",
		"yes",
		"on",
		"On",
		"tru",
	};
	static const char *const none[] = {
		"",
		"0",
		"f",
		"false",
		"no",
		"off",
		"of",
		"o",
		"11",
		"truest",
		"Database",
		"databas",
		"x",
		"on ",
	};

	assert_int_equal(startup_replication("database"), REPLICATION_LOGICAL);
	for (size_t i = 0; i < sizeof physical / sizeof physical[0]; i++)
		assert_int_equal(startup_replication(physical[i]),
		    REPLICATION_PHYSICAL);
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
		assert_int_equal(startup_replication(none[i]),
		    REPLICATION_NONE);
}

static void test_negotiation_lists_what_is_unknown(void **state)
{
	(void)state;

	static const char expected[] =
	    "v\0\0\0\14\0\3\0\0\0\0\0\0"
	    "v\0\0\0\33\0\3\0\0\0\0\0\2_pq_.a\0_pq_.bc\0";
	static const char *const names[] = { "_pq_.a", "_pq_.bc" };
	struct writer w;

	writer_init(&w, 1000);
	startup_write_negotiate(&w, 196608, NULL, 0);
	startup_write_negotiate(&w, 196608, names, 2);
	assert_int_equal(w.len, sizeof expected - 1);
	assert_memory_equal(w.at, expected, sizeof expected - 1);
	writer_fini(&w);
}

static void test_protocol_is_3_2_for_whoever_knows_it(void **state)
{
	(void)state;

	assert_int_equal(startup_protocol(196608), PROTOCOL_3_0);
	assert_int_equal(startup_protocol(196609), PROTOCOL_3_0);
	assert_int_equal(startup_protocol(196610), PROTOCOL_3_2);
	assert_int_equal(startup_protocol(196611), PROTOCOL_3_2);
	assert_int_equal(startup_protocol(262143), PROTOCOL_3_2);
}

static void test_without_peering_only_the_sign_is_cleared(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0xff, sizeof key);
	cancel_key_stamp(key, 0);
	assert_memory_equal(key, "\x7f\xff\xff\xff\xff\xff\xff\xff", 8);
	memset(key, 0, sizeof key);
	cancel_key_stamp(key, 0);
	assert_memory_equal(key, "\0\0\0\0\0\0\0\0", 8);
}

static void test_stamp_puts_id_low_byte_first_and_a_full_budget(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0x80, sizeof key);
	cancel_key_stamp(key, 0x1234);
	assert_memory_equal(key, "\x00\x34\x12\x80\x80\x80\x80\x83", 8);
}

static void test_peer_is_read_back_over_the_whole_range(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES] = { 0 };

	(void)state;
	for (int id = 1; id <= 65535; id++) {
		cancel_key_stamp(key, id);
		assert_int_equal(cancel_key_peer(key), id);
	}
}

static void test_worker_stands_beside_the_peer(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0x80, sizeof key);
	cancel_key_stamp(key, 0x1234);
	cancel_key_set_worker(key, 63);
	assert_int_equal(cancel_key_worker(key), 63);
	assert_int_equal(cancel_key_peer(key), 0x1234);
	assert_memory_equal(key, "\x00\x34\x12\x3f\x80\x80\x80\x83", 8);
}

static void test_budget_is_three_hops(void **state)
{
	uint8_t key[CANCEL_KEY_BYTES];
	uint8_t before[CANCEL_KEY_BYTES];

	(void)state;
	memset(key, 0xa8, sizeof key);
	cancel_key_stamp(key, 7);
	memcpy(before, key, sizeof key);
	for (int hop = 1; hop <= 3; hop++) {
		assert_true(cancel_key_spend(key));
		assert_int_equal(key[7], 0xab - hop);
		assert_memory_equal(key, before, 7);
	}
	assert_false(cancel_key_spend(key));
	assert_int_equal(key[7], 0xa8);
	cancel_key_restore(key);
	assert_memory_equal(key, before, sizeof key);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_are_told_apart),
		cmocka_unit_test(test_all_minor_versions_of_3_are_startup),
		cmocka_unit_test(test_other_codes_are_bad),
		cmocka_unit_test(test_impossible_lengths_are_bad_at_once),
		cmocka_unit_test(test_first_byte_not_zero_is_a_typed_message),
		cmocka_unit_test(test_every_split_is_short),
		cmocka_unit_test(test_bytes_behind_the_message_are_left),
		cmocka_unit_test(test_largest_message_is_accepted),
		cmocka_unit_test(test_parameters_come_in_order),
		cmocka_unit_test(test_callback_stops_the_walk),
		cmocka_unit_test(test_broken_layouts_are_refused),
		cmocka_unit_test(test_options_are_read_in_every_spelling),
		cmocka_unit_test(test_other_options_are_refused),
		cmocka_unit_test(test_callback_stops_the_options),
		cmocka_unit_test(test_options_without_memory_are_an_error),
		cmocka_unit_test(
		    test_replication_values_are_read_as_postgres_does),
		cmocka_unit_test(test_negotiation_lists_what_is_unknown),
		cmocka_unit_test(test_protocol_is_3_2_for_whoever_knows_it),
		cmocka_unit_test(test_without_peering_only_the_sign_is_cleared),
		cmocka_unit_test(
		    test_stamp_puts_id_low_byte_first_and_a_full_budget),
		cmocka_unit_test(test_peer_is_read_back_over_the_whole_range),
		cmocka_unit_test(test_worker_stands_beside_the_peer),
		cmocka_unit_test(test_budget_is_three_hops),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
