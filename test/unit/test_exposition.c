/* test_exposition.c - metrics as text: names, labels, numbers, the cap.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "http/exposition.h"

static char buf[8192];
static struct text t;
static struct exposition x;

static const struct metric gauge = { "a", METRIC_GAUGE, NULL, "An a." };
static const struct metric counter = {
	"b_seconds", METRIC_COUNTER, "seconds", "Some b." };
static const struct metric info = { "c", METRIC_INFO, NULL, "A c." };
static const struct metric summary = { "d", METRIC_SUMMARY, NULL, "D." };

static void start(bool open)
{
	text_init(&t, buf, sizeof buf);
	x = (struct exposition){ .t = &t, .open = open };
}

static void put(int64_t value, const char *label)
{
	const struct label labels[] = { { "l", label } };

	exposition_put(&x, &(struct sample){ .labels = labels,
	    .label_count = label != NULL, .value = value });
}

static void write_all(void)
{
	exposition_begin(&x, &gauge);
	put(-3, NULL);
	exposition_begin(&x, &counter);
	exposition_put(&x, &(struct sample){ .value = 1500000, .micro = true });
	exposition_begin(&x, &info);
	put(1, "x");
	exposition_begin(&x, &summary);
	exposition_put(&x, &(struct sample){ .suffix = "_count", .value = 7 });
	exposition_put(&x, &(struct sample){ .none = true });
	exposition_end(&x);
}

static void test_prometheus_text(void **state)
{
	(void)state;
	start(false);
	write_all();
	assert_string_equal(buf,
	    "# HELP a An a.\n# TYPE a gauge\na -3\n"
	    "# HELP b_seconds_total Some b.\n# TYPE b_seconds_total counter\n"
	    "b_seconds_total 1.500000\n"
	    "# HELP c_info A c.\n# TYPE c_info gauge\nc_info{l=\"x\"} 1\n"
	    "# HELP d D.\n# TYPE d summary\nd_count 7\nd NaN\n");
}

static void test_openmetrics_text(void **state)
{
	(void)state;
	start(true);
	write_all();
	assert_string_equal(buf,
	    "# HELP a An a.\n# TYPE a gauge\na -3\n"
	    "# HELP b_seconds Some b.\n# TYPE b_seconds counter\n"
	    "# UNIT b_seconds seconds\n"
	    "b_seconds_total 1.500000\n"
	    "# HELP c A c.\n# TYPE c info\nc_info{l=\"x\"} 1\n"
	    "# HELP d D.\n# TYPE d summary\nd_count 7\nd NaN\n# EOF\n");
}

static void test_who_asks_gets_openmetrics(void **state)
{
	bool open;

	(void)state;
	assert_string_equal(exposition_type("", &open),
	    "text/plain; version=0.0.4; charset=utf-8");
	assert_false(open);
	(void)exposition_type("application/openmetrics-text;version=1.0.0,"
	    "text/plain;q=0.5", &open);
	assert_true(open);
}

static void check_label(const char *value, const char *shown)
{
	start(false);
	x.metric = &gauge;
	put(1, value);
	assert_string_equal(buf, shown);
}

static void test_labels_are_escaped(void **state)
{
	(void)state;
	check_label("a\"b\\c\nd", "a{l=\"a\\\"b\\\\c\\nd\"} 1\n");
	check_label("\xc3\xa4", "a{l=\"\xc3\xa4\"} 1\n");
	check_label("", "a{l=\"\"} 1\n");
}

static void test_odd_labels_are_cut_and_told_apart(void **state)
{
	char one[5000], other[5000], first[sizeof buf];

	(void)state;
	check_label("a\xff" "b", "a{l=\"a~1c91eb11\"} 1\n");
	memset(one, '\n', sizeof one);
	one[sizeof one - 1] = '\0';
	memcpy(other, one, sizeof other);
	other[sizeof other - 2] = 'x';
	start(false);
	x.metric = &gauge;
	put(1, one);
	assert_true(t.len < EXPOSITION_SAMPLE_BYTES);
	memcpy(first, buf, sizeof first);
	start(false);
	x.metric = &gauge;
	put(1, other);
	assert_string_not_equal(buf, first);
	/* no character is cut in its middle */
	memset(one, 'a', EXPOSITION_LABEL_BYTES - 1);
	memcpy(one + EXPOSITION_LABEL_BYTES - 1, "\xc3\xa4", 3);
	start(false);
	x.metric = &gauge;
	put(1, one);
	assert_null(strchr(buf, '\xc3'));
}

static void test_cap_leaves_out_what_has_labels(void **state)
{
	(void)state;
	start(false);
	x.metric = &gauge;
	x.max = 2;
	put(1, "a");
	put(2, NULL);
	put(3, "b");
	put(4, "c");
	put(5, NULL);
	assert_string_equal(buf, "a{l=\"a\"} 1\na 2\na{l=\"b\"} 3\na 5\n");
	assert_int_equal(x.left_out, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prometheus_text),
		cmocka_unit_test(test_openmetrics_text),
		cmocka_unit_test(test_who_asks_gets_openmetrics),
		cmocka_unit_test(test_labels_are_escaped),
		cmocka_unit_test(test_odd_labels_are_cut_and_told_apart),
		cmocka_unit_test(test_cap_leaves_out_what_has_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
