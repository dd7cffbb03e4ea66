/* test_command_line.c - words of a command: spec/authentication.md section 5a.
 * SPDX-License-Identifier: ISC */
#include "conf/command_line.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

static char buf[1024];

/* "<word><word>", or the error. */
static const char *words_of(const char *text)
{
	struct command_line c;
	struct err e;
	struct text t;

	text_init(&t, buf, sizeof buf);
	if (command_line_parse(text, &c, &e) < 0) {
		text_add(&t, e.text + strlen("command cannot be used: "));
		return buf;
	}
	const char *at = c.words;

	for (unsigned i = 0; i < c.count; i++) {
		text_addf(&t, "<%s>", at);
		at += strlen(at) + 1;
	}
	assert_ptr_equal(at, c.words + c.bytes);
	command_line_fini(&c);
	return buf;
}

static void test_blanks_and_tabs_separate_words(void **state)
{
	(void)state;
	assert_string_equal(words_of(" /bin/a  b\tc "), "</bin/a><b><c>");
}

static void test_quotes_make_one_word(void **state)
{
	(void)state;
	assert_string_equal(words_of("/a 'b  c' \"d  e\" f' 'g\" \"h"),
	    "</a><b  c><d  e><f g h>");
	assert_string_equal(words_of("/a '' \"\""), "</a><><>");
	assert_string_equal(words_of("/a \"it's\" 'say \"x\"'"),
	    "</a><it's><say \"x\">");
}

static void test_backslash_takes_the_next_character_as_it_is(void **state)
{
	(void)state;
	assert_string_equal(words_of("/a b\\ c \\\"d\\' \\\\ \\n"),
	    "</a><b c><\"d'><\\><n>");
}

static void test_backslash_in_double_quotes_is_dropped_before_four_only(
    void **state)
{
	(void)state;
	assert_string_equal(words_of("/a \"\\$ \\` \\\" \\\\ \\n \\'\""),
	    "</a><$ ` \" \\ \\n \\'>");
}

static void test_backslash_in_single_quotes_is_itself(void **state)
{
	(void)state;
	assert_string_equal(words_of("/a 'b\\'"), "</a><b\\>");
}

static void test_nothing_is_expanded(void **state)
{
	(void)state;
	assert_string_equal(words_of("/a $X `id` $(id) * ~ ; | & > #"),
	    "</a><$X><`id`><$(id)><*><~><;><|><&><>><#>");
}

static void test_text_that_is_no_command_is_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "", "it is empty" },
		{ " \t", "it is empty" },
		{ "/a 'b", "a single quote is not closed" },
		{ "/a \"b", "a double quote is not closed" },
		{ "/a \"b\\\"", "a double quote is not closed" },
		{ "/a b\\", "nothing follows its last backslash" },
		{ "ls", "it does not begin with the whole path of a program" },
		{ "'' /a", "it does not begin with the whole path of a "
		    "program" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_string_equal(words_of(rows[i].text), rows[i].why);
}

/* A path, and then count times " b". */
static const char *words_of_many(unsigned count, const char *word)
{
	char *const text = test_calloc(2 + count, strlen(word) + 1);
	struct text t;

	text_init(&t, text, (2 + count) * (strlen(word) + 1));
	text_add(&t, "/a");
	for (unsigned i = 0; i < count; i++)
		text_add(&t, word);
	words_of(text);
	test_free(text);
	return buf;
}

static void test_limits_hold_to_the_word_and_the_byte(void **state)
{
	(void)state;
	assert_memory_equal(words_of_many(COMMAND_WORDS_MAX - 1, " b"),
	    "</a><b>", 7);
	assert_string_equal(words_of_many(COMMAND_WORDS_MAX, " b"),
	    "it has too many words");
	/* the path, a blank's place, and the NUL */
	assert_memory_equal(words_of_many(COMMAND_BYTES_MAX - 3, "b"), "</abb",
	    5);
	assert_string_equal(words_of_many(COMMAND_BYTES_MAX - 2, "b"),
	    "it is too long");
}

static void test_no_memory_is_told(void **state)
{
	struct command_line c;
	struct err e;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(command_line_parse("/a", &c, &e), -1);
	mem_fail_at(0);
	assert_true(err_is_nomem(&e));
	command_line_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blanks_and_tabs_separate_words),
		cmocka_unit_test(test_quotes_make_one_word),
		cmocka_unit_test(
		    test_backslash_takes_the_next_character_as_it_is),
		cmocka_unit_test(
		    test_backslash_in_double_quotes_is_dropped_before_four_only),
		cmocka_unit_test(test_backslash_in_single_quotes_is_itself),
		cmocka_unit_test(test_nothing_is_expanded),
		cmocka_unit_test(test_text_that_is_no_command_is_refused),
		cmocka_unit_test(test_limits_hold_to_the_word_and_the_byte),
		cmocka_unit_test(test_no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
