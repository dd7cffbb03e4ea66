/* test_auth_answer.c - what a server says to auth_query.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "login/auth_answer.h"

#define TAKE(a, type, text) \
	auth_answer_take(a, type, (const uint8_t *)(text), sizeof(text) - 1)
#define ROW "\0\2" "\0\0\0\3ann" "\0\0\0\1x"

/* Up to the second result. */
static struct auth_answer begun(void)
{
	struct auth_answer a = { 0 };

	assert_int_equal(TAKE(&a, '1', ""), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, '2', ""), AUTH_ANSWER_MORE);
	/* whatever it says the path is */
	assert_int_equal(TAKE(&a, 'D', "\0\1" "\0\0\0\1x"), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'C', "SELECT 1\0"), AUTH_ANSWER_MORE);
	return a;
}

static void test_row_is_name_and_secret(void **state)
{
	struct auth_answer a = begun();

	(void)state;
	assert_int_equal(TAKE(&a, 'T', "\0\2"), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'D', ROW), AUTH_ANSWER_ROW);
	assert_int_equal(a.name.len, 3);
	assert_memory_equal(a.name.at, "ann", 3);
	assert_int_equal(a.secret.len, 1);
	assert_memory_equal(a.secret.at, "x", 1);
	assert_int_equal(TAKE(&a, 'D', "\0\2" "\0\0\0\1b" "\xff\xff\xff\xff"),
	    AUTH_ANSWER_ROW);
	assert_null(a.secret.at);
	assert_int_equal(TAKE(&a, 'C', "SELECT 2\0"), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'Z', "I"), AUTH_ANSWER_END);
}

static void test_asides_are_told_apart(void **state)
{
	struct auth_answer a = begun();

	(void)state;
	assert_int_equal(TAKE(&a, 'N', "?"), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'A', "?"), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'S', "TimeZone\0UTC\0"),
	    AUTH_ANSWER_PARAMETER);
	assert_string_equal(a.name.at, "TimeZone");
	assert_string_equal(a.secret.at, "UTC");
	assert_int_equal(TAKE(&a, 'S', "TimeZone"), AUTH_ANSWER_BAD);
	assert_int_equal(TAKE(&a, 'E', ""), AUTH_ANSWER_ERROR);
}

static void test_first_result_is_no_answer(void **state)
{
	struct auth_answer a = { 0 };

	(void)state;
	assert_int_equal(TAKE(&a, 'D', ROW), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'Z', "I"), AUTH_ANSWER_BAD);
	assert_int_equal(TAKE(&a, 'C', ""), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'Z', "I"), AUTH_ANSWER_BAD);
	assert_int_equal(TAKE(&a, 'C', ""), AUTH_ANSWER_MORE);
	assert_int_equal(TAKE(&a, 'C', ""), AUTH_ANSWER_BAD);
}

static void test_broken_messages_are_refused(void **state)
{
	static const struct {
		char type;
		const char *body;
		size_t len;
	} bad[] = {
		{ 'T', "", 0 }, { 'T', "\0\1", 2 }, { 'T', "\0\3", 2 },
		{ 'D', "", 0 }, { 'D', "\0\2", 2 },
		{ 'D', ROW, sizeof ROW - 2 }, { 'D', ROW "?", sizeof ROW },
		{ 'D', "\0\2" "\xff\xff\xff\xff" "\0\0\0\1x", 11 },
		{ 'D', "\0\2" "\0\0\0\0" "\0\0\0\1x", 11 },
		{ 'D', "\0\2" "\0\0\0\1\0" "\0\0\0\1x", 12 },
		{ 'D', "\0\2" "\0\0\0\1a" "\0\0\0\1\0", 12 },
		{ 'D', "\0\2" "\x7f\xff\xff\xff" "a", 7 },
		{ 'n', "", 0 }, { 'Z', "T", 1 }, { 'Z', "", 0 },
		{ 's', "", 0 }, { 'G', "", 0 }, { 'I', "", 0 }, { '\0', "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct auth_answer a = begun();

		assert_int_equal(auth_answer_take(&a, bad[i].type,
		    (const uint8_t *)bad[i].body, bad[i].len),
		    AUTH_ANSWER_BAD);
		assert_string_not_equal(a.why, "");
		/* nothing of it is to be used */
		assert_null(a.name.at);
		assert_null(a.secret.at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row_is_name_and_secret),
		cmocka_unit_test(test_asides_are_told_apart),
		cmocka_unit_test(test_first_result_is_no_answer),
		cmocka_unit_test(test_broken_messages_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
