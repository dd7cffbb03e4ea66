/* test_text.c - the bounded builder, lists and ASCII comparison.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void test_parts_are_joined(void **state)
{
	(void)state;

	char buf[32];
	struct text t;

	text_init(&t, buf, sizeof buf);
	assert_string_equal(buf, "");
	text_add(&t, "a");
	text_addf(&t, "-%d-", 42);
	text_add_bytes(&t, "xyz", 2);
	text_add_bytes(&t, NULL, 0);
	assert_string_equal(buf, "a-42-xy");
	assert_int_equal(t.len, 7);
	assert_false(t.cut);
}

static void test_text_that_just_fits_is_not_cut(void **state)
{
	(void)state;

	char buf[5];
	struct text t;

	text_init(&t, buf, sizeof buf);
	text_add(&t, "abcd");
	assert_false(t.cut);
	text_init(&t, buf, sizeof buf);
	text_addf(&t, "%s", "abcd");
	assert_false(t.cut);
	assert_string_equal(buf, "abcd");
}

static void test_what_does_not_fit_is_cut(void **state)
{
	(void)state;

	char buf[5];
	struct text t;

	text_init(&t, buf, sizeof buf);
	text_add(&t, "abcde");
	assert_true(t.cut);
	assert_string_equal(buf, "abcd");

	text_init(&t, buf, sizeof buf);
	text_addf(&t, "%s", "abcde");
	assert_true(t.cut);
	assert_string_equal(buf, "abcd");
	assert_int_equal(t.len, 4);
}

static void test_full_builder_takes_nothing_more(void **state)
{
	(void)state;

	char buf[1];
	struct text t;

	text_init(&t, buf, sizeof buf);
	text_add(&t, "a");
	text_addf(&t, "%d", 1);
	assert_int_equal(t.len, 0);
	assert_string_equal(buf, "");
	assert_true(t.cut);
}

static void test_copy_tells_when_cut(void **state)
{
	(void)state;

	char buf[4];

	assert_true(text_copy(buf, sizeof buf, "abc"));
	assert_string_equal(buf, "abc");
	assert_false(text_copy(buf, sizeof buf, "abcd"));
	assert_string_equal(buf, "abc");
}

static void test_comparison_ignores_ascii_case_only(void **state)
{
	(void)state;

	assert_int_equal(text_casecmp("DateStyle", "datestyle"), 0);
	assert_int_equal(text_casecmp("", ""), 0);
	assert_true(text_casecmp("a", "B") < 0);
	assert_true(text_casecmp("b", "A") > 0);
	assert_true(text_casecmp("ab", "a") > 0);
	assert_true(text_casecmp("a", "ab") < 0);
	assert_true(text_casecmp("\xc4", "\xe4") != 0);
	assert_true(text_casecmp("\xe4", "z") > 0);
	assert_true(text_casecmp("@", "`") != 0);
	assert_true(text_casecmp("[", "{") != 0);
}

static void test_list_is_split_at_commas_and_blanks(void **state)
{
	(void)state;

	assert_true(text_list_has("ann, bob\tcarl", "ann"));
	assert_true(text_list_has("ann, bob\tcarl", "bob"));
	assert_true(text_list_has("ann, bob\tcarl", "carl"));
	assert_true(text_list_has(",, ann ,", "ann"));
	assert_true(text_list_has("bob\nann\r\n", "ann"));
}

static void test_list_compares_whole_items_with_case(void **state)
{
	(void)state;

	assert_false(text_list_has("anna, joann", "ann"));
	assert_false(text_list_has("Ann", "ann"));
	assert_false(text_list_has("an", "ann"));
}

static void test_empty_word_and_missing_list_have_no_match(void **state)
{
	(void)state;

	assert_false(text_list_has("", "ann"));
	assert_false(text_list_has(NULL, "ann"));
	assert_false(text_list_has("ann,,bob", ""));
	assert_false(text_list_has("ann, bob", "ann, bob"));
}

static void test_no_character_is_cut_in_two(void **state)
{
	(void)state;

	assert_int_equal(text_fitting("", 0), 0);
	assert_int_equal(text_fitting("abc", 3), 3);
	assert_int_equal(text_fitting("abcd", 3), 3);
	assert_int_equal(text_fitting("a\xe2\x82\xac", 4), 4);
	assert_int_equal(text_fitting("a\xe2\x82\xac", 3), 1);
	assert_int_equal(text_fitting("\xff\xfe\xe2", 2), 2);
}

static void test_line_of_a_nul_is_found(void **state)
{
	(void)state;

	assert_int_equal(text_nul_line(NULL, 0), 0);
	assert_int_equal(text_nul_line("a\nb", 3), 0);
	assert_int_equal(text_nul_line("a\nb", 4), 2);
	assert_int_equal(text_nul_line("\0\n\0", 3), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_are_joined),
		cmocka_unit_test(test_text_that_just_fits_is_not_cut),
		cmocka_unit_test(test_what_does_not_fit_is_cut),
		cmocka_unit_test(test_full_builder_takes_nothing_more),
		cmocka_unit_test(test_copy_tells_when_cut),
		cmocka_unit_test(test_comparison_ignores_ascii_case_only),
		cmocka_unit_test(test_list_is_split_at_commas_and_blanks),
		cmocka_unit_test(test_list_compares_whole_items_with_case),
		cmocka_unit_test(
		    test_empty_word_and_missing_list_have_no_match),
		cmocka_unit_test(test_no_character_is_cut_in_two),
		cmocka_unit_test(test_line_of_a_nul_is_found),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
