/* test_flame.c - flame graphs: geometry, and names of others in XML.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/flame.h"
#include "ctl/stacks.h"

static struct stacks stacks;
static char *svg;

static int clean(void **state)
{
	(void)state;
	stacks_fini(&stacks);
	free(svg);
	svg = NULL;
	return 0;
}

static void add(const char *text, uint64_t weight)
{
	assert_int_equal(stacks_add(&stacks, text, weight), 0);
}

static void draw(const char *title, const char *unit, uint64_t per_unit)
{
	const struct flame f = { &stacks, title, unit, per_unit };
	size_t size;
	FILE *const out = open_memstream(&svg, &size);

	stacks_sort(&stacks);
	flame_write(&f, out);
	fclose(out);
}

static void assert_has(const char *text)
{
	if (strstr(svg, text) == NULL)
		fail_msg("no %s in %s", text, svg);
}

static size_t count(const char *text)
{
	size_t n = 0;

	for (const char *s = svg; (s = strstr(s, text)) != NULL; s++)
		n++;
	return n;
}

static void test_a_function_is_as_wide_as_its_share(void **state)
{
	(void)state;
	add("main;a", 30);
	add("main;b", 10);
	add("main;a;c", 40);
	add("other", 20);
	draw("t", "samples", 1);
	assert_has("<title>all: 100 samples, 100.0 %</title>"
	    "<rect x=\"0.00\" y=\"34\" width=\"1200.00\"");
	assert_has("<title>main: 80 samples, 80.0 %</title>"
	    "<rect x=\"0.00\" y=\"51\" width=\"960.00\"");
	assert_has("<title>a: 70 samples, 70.0 %</title>"
	    "<rect x=\"0.00\" y=\"68\" width=\"840.00\"");
	assert_has("<title>c: 40 samples, 40.0 %</title>"
	    "<rect x=\"360.00\" y=\"85\" width=\"480.00\"");
	assert_has("<title>b: 10 samples, 10.0 %</title>"
	    "<rect x=\"840.00\" y=\"68\" width=\"120.00\"");
	assert_has("<title>other: 20 samples, 20.0 %</title>"
	    "<rect x=\"960.00\" y=\"51\" width=\"240.00\"");
	assert_int_equal(count("<rect x="), 6);
	assert_int_equal(count("<g>"), count("</g>"));
}

static void test_a_call_of_itself_is_a_frame_of_its_own(void **state)
{
	(void)state;
	add("a;a;a", 1);
	add("a;b;a", 1);
	draw("t", "samples", 1);
	assert_int_equal(count("<title>a: "), 4);
	assert_has("<title>a: 2 samples, 100.0 %");
}

static void test_names_are_text_not_markup(void **state)
{
	(void)state;
	add("</title><script>alert(1)</script>&\"'", 1);
	add("bad \xff\x01\x1b utf \xc3\xa9 \xef\xbf\xbf\xc2\x85", 1);
	draw("<b>&\x02", "samples", 1);
	assert_int_equal(count("<script"), 0);
	assert_has("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;"
	    "&quot;&#39;: 1 samples");
	assert_has("bad ??? utf \xc3\xa9 ??: 1");
	assert_has(">&lt;b&gt;&amp;?</text>");
}

static void test_a_long_name_is_cut_between_characters(void **state)
{
	(void)state;
	add("a;\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9",
	    40);
	add("b", 1160);
	draw("t", "samples", 1);
	/* 40 pixels have room for 5, 2 of them dots */
	assert_has(">\xc3\xa9\xc3\xa9\xc3\xa9..</text>");
}

static void test_what_cannot_be_seen_is_left_out(void **state)
{
	(void)state;
	add("a", 1000000);
	add("tiny;too", 1);
	draw("t", "samples", 1);
	assert_int_equal(count("tiny"), 0);
	assert_has("<title>a: ");
}

static void test_units_are_scaled(void **state)
{
	(void)state;
	add("a", 1500);
	draw("t", "ms", 1000);
	assert_has("<title>a: 1.5 ms, 100.0 %");
}

static void test_nothing_is_an_empty_picture(void **state)
{
	(void)state;
	draw("t", "samples", 1);
	assert_has("</svg>");
	assert_int_equal(count("<rect x="), 0);
}

static void test_depth_has_an_end(void **state)
{
	char text[4096];
	size_t n = 0;

	(void)state;
	while (n < sizeof text - 4) {
		memcpy(text + n, "f;", 2);
		n += 2;
	}
	text[n - 1] = '\0';
	add(text, 1);
	draw("t", "samples", 1);
	assert_has("</svg>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
		    test_a_function_is_as_wide_as_its_share, clean),
		cmocka_unit_test_teardown(
		    test_a_call_of_itself_is_a_frame_of_its_own, clean),
		cmocka_unit_test_teardown(test_names_are_text_not_markup,
		    clean),
		cmocka_unit_test_teardown(
		    test_a_long_name_is_cut_between_characters, clean),
		cmocka_unit_test_teardown(test_what_cannot_be_seen_is_left_out,
		    clean),
		cmocka_unit_test_teardown(test_units_are_scaled, clean),
		cmocka_unit_test_teardown(test_nothing_is_an_empty_picture,
		    clean),
		cmocka_unit_test_teardown(test_depth_has_an_end, clean),
	};

	return cmocka_run_group_tests_name("flame", tests, NULL, NULL);
}
