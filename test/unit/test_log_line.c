/* test_log_line.c - one object a line, whatever bytes a client sends.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/log.h"
#include "base/log_line.h"

static char line[LOG_LINE_SIZE];

static struct log_facts facts(void)
{
	return (struct log_facts){
		.side = 'C',
		.object = (const void *)0x55d0c8f0a300,
		.database = "shop",
		.user = "ann",
		.address = "10.0.0.7:51034",
	};
}

static size_t put(const struct log_facts *who, const char *message)
{
	const size_t n = log_json_write(&(struct log_event){
		.time = "2026-01-31T09:05:00.123+00:00",
		.level = "LOG",
		.who = who,
		.message = message,
	}, line, sizeof line);

	line[n] = '\0';
	return n;
}

/* The member of the object that has been put. */
static const char *member(const char *key)
{
	static char value[LOG_LINE_SIZE];
	json_t *const o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(o);
	const char *const s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	snprintf(value, sizeof value, "%s", s);
	json_decref(o);
	return value;
}

static void test_keys_and_their_order_are_stable(void **state)
{
	struct log_facts who = facts();
	char want[512];

	(void)state;
	put(&who, "hello");
	snprintf(want, sizeof want, "{\"time\":"
	    "\"2026-01-31T09:05:00.123+00:00\",\"pid\":%ld,\"level\":\"LOG\","
	    "\"side\":\"client\",\"ptr\":\"0x55d0c8f0a300\","
	    "\"database\":\"shop\",\"user\":\"ann\","
	    "\"address\":\"10.0.0.7:51034\",\"message\":\"hello\"}\n",
	    (long)getpid());
	assert_string_equal(line, want);
	who.side = 'S';
	put(&who, "hello");
	assert_string_equal(member("side"), "server");
}

static void test_nobody_and_peers(void **state)
{
	struct log_facts who = facts();
	char want[512];

	(void)state;
	put(NULL, "x");
	snprintf(want, sizeof want, "{\"time\":"
	    "\"2026-01-31T09:05:00.123+00:00\",\"pid\":%ld,\"level\":\"LOG\","
	    "\"message\":\"x\"}\n", (long)getpid());
	assert_string_equal(line, want);
	who.peer = 3;
	put(&who, "x");
	assert_non_null(strstr(line, "\"ptr\":\"0x55d0c8f0a300\",\"peer\":3,"
	    "\"address\":\"10.0.0.7:51034\",\"message\""));
	assert_null(strstr(line, "database"));
}

static void test_each_byte_leaves_one_line(void **state)
{
	char text[2] = "";

	(void)state;
	for (int c = 1; c < 256; c++) {
		text[0] = (char)c;
		const size_t n = put(NULL, text);

		assert_int_equal(strlen(line), n);
		assert_int_equal(strcspn(line, "\n"), n - 1);
		for (size_t i = 0; i < n - 1; i++)
			assert_true((unsigned char)line[i] >= ' ' &&
			    line[i] != 0x7f);
		assert_string_equal(member("message"), c < 0x80 ? text : "?");
	}
}

static void test_only_what_is_no_utf8_is_replaced(void **state)
{
	static const char *const cases[][2] = {
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
		{ "caf\xc3\xa9 \xff", "caf\xc3\xa9 ?" },
		{ "\xe2\x82\xac\xe2\x82", "\xe2\x82\xac??" },	/* cut */
		{ "\xf0\x9f\x90\x98\x80", "\xf0\x9f\x90\x98?" },
		{ "\xc0\xaf", "??" },			/* too long */
		{ "\xe0\x80\xaf", "???" },
		{ "\xf0\x80\x80\xaf", "????" },
		{ "\xed\xa0\x80", "???" },		/* a surrogate */
		{ "\xf4\x90\x80\x80", "????" },		/* past the last */
		{ "\xf5\x80\x80\x80", "????" },
		{ "\xc3", "?" },
		{ "\xc3(", "?(" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		put(NULL, cases[i][0]);
		assert_string_equal(member("message"), cases[i][1]);
	}
}

/* JSON does not ask for it, but whoever reads the log with cat does. */
static void test_terminals_obey_nothing_of_it(void **state)
{
	(void)state;
	put(NULL, "a\x7f" "b\xc2\x9b" "2J\xc2\x80\xc2\x9f\xc2\xa0\xc3\x9b");
	assert_non_null(strstr(line, ":\"a\\u007fb\\u009b2J\\u0080\\u009f"
	    "\xc2\xa0\xc3\x9b\"}"));
	assert_string_equal(member("message"),
	    "a\x7f" "b\xc2\x9b" "2J\xc2\x80\xc2\x9f\xc2\xa0\xc3\x9b");
}

static void test_names_of_clients_break_nothing(void **state)
{
	struct log_facts who = facts();

	(void)state;
	who.user = "a\"b\\c\n{\"level\":\"FATAL\"}\r\x1b[2J\xff";
	who.database = "\x80";
	put(&who, "x");
	assert_string_equal(member("user"),
	    "a\"b\\c\n{\"level\":\"FATAL\"}\r\x1b[2J?");
	assert_string_equal(member("database"), "?");
	assert_string_equal(member("level"), "LOG");
	assert_int_equal(strcspn(line, "\n") + 1, strlen(line));
}

/* A line that would be text would be no line of the format that is set. */
static void test_the_longest_message_is_an_object_still(void **state)
{
	struct log_facts who = facts();
	char message[LOG_MESSAGE_SIZE], name[128];

	(void)state;
	memset(message, 1, sizeof message);
	message[sizeof message - 1] = '\0';
	memset(name, 2, sizeof name);
	name[sizeof name - 1] = '\0';
	who.user = name;
	who.database = name;
	assert_true(log_line_write(&(struct log_line){
		.level = LEVEL_INFO,
		.who = &who,
		.raw = message,
		.cooked = "",
	}, true, line, sizeof line) > 6 * (sizeof message - 1));
	assert_string_equal(member("message"), message);
	assert_string_equal(member("user"), name);
}

static void test_what_has_no_room_is_not_written(void **state)
{
	char small[64];

	(void)state;
	assert_int_equal(log_json_write(&(struct log_event){
		.time = "t", .level = "LOG", .message = "a message of some "
		"length, which does not fit",
	}, small, sizeof small), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_and_their_order_are_stable),
		cmocka_unit_test(test_nobody_and_peers),
		cmocka_unit_test(test_each_byte_leaves_one_line),
		cmocka_unit_test(test_only_what_is_no_utf8_is_replaced),
		cmocka_unit_test(test_terminals_obey_nothing_of_it),
		cmocka_unit_test(test_names_of_clients_break_nothing),
		cmocka_unit_test(
		    test_the_longest_message_is_an_object_still),
		cmocka_unit_test(test_what_has_no_room_is_not_written),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
