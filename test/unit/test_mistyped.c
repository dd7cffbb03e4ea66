/* test_mistyped.c - a text that is no command: what is said of it, and to whom.
 * SPDX-License-Identifier: ISC */
#include "console/mistyped.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"

static char line[2048];

/* What the log has of it. */
static const char *logged(const char *query)
{
	struct text t;
	struct err e;

	text_init(&t, line, sizeof line);
	assert_int_equal(mistyped(query, NULL, &e), -1);
	mistyped_hide(e.text, strlen(e.text), &t);
	return line;
}

static void test_who_typed_it_is_told_all_of_it(void **state)
{
	struct err e;

	(void)state;
	mistyped("relaod x", NULL, &e);
	assert_string_equal(e.code, "08P01");
	assert_string_equal(e.text,
	    "invalid command 'relaod x', use SHOW HELP;");
	mistyped("relaod", "RELOAD", &e);
	assert_string_equal(e.text, "invalid command 'relaod', use SHOW HELP;"
	    ERR_DETAIL "Did you mean \"RELOAD\"?");
}

static void test_log_has_the_first_word_only(void **state)
{
	static const char *const cases[][2] = {
		{ "relaod", "relaod" },
		{ "alter user x password 'hunter2'", "alter ..." },
		{ "  SET x hunter2", "SET ..." },
		{ "nonsense;", "nonsense ..." },
		{ "", "" },
		{ "hunter2", "..." },
		{ "pass'word", "..." },
		{ "abc\xff", "..." },
		{ "averylongwordofletters", "..." },
		{ "'hunter2'", "..." },
		{ "a', use SHOW HELP; hunter2", "..." },
		{ "a\x1b[2J", "..." },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char want[128];
		struct text t;

		text_init(&t, want, sizeof want);
		text_addf(&t, "invalid command '%s', use SHOW HELP;",
		    cases[i][1]);
		assert_string_equal(logged(cases[i][0]), want);
	}
}

static void test_long_query_is_hidden_too(void **state)
{
	char query[3000];

	(void)state;
	memset(query, 'x', sizeof query);
	memcpy(query, "set ", 4);
	query[sizeof query - 1] = '\0';
	assert_string_equal(logged(query),
	    "invalid command 'set ...', use SHOW HELP;");
}

static void test_other_errors_are_logged_as_they_are(void **state)
{
	static const char text[] = "no such database: invalid command 'x'";
	struct text t;

	(void)state;
	text_init(&t, line, sizeof line);
	mistyped_hide(text, sizeof text - 1, &t);
	assert_string_equal(line, text);
	text_init(&t, line, sizeof line);
	mistyped_hide(text, 7, &t);
	assert_string_equal(line, "no such");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_typed_it_is_told_all_of_it),
		cmocka_unit_test(test_log_has_the_first_word_only),
		cmocka_unit_test(test_long_query_is_hidden_too),
		cmocka_unit_test(test_other_errors_are_logged_as_they_are),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
