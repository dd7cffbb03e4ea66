/* test_startup_params.c - parameters that the operator gives to each server connection.
 * SPDX-License-Identifier: ISC */
#include "conf/startup_params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

/* "name=value;" of each, with its mark. */
static const char *all(const struct startup_params *p)
{
	static char buf[4096];
	struct text t;

	text_init(&t, buf, sizeof buf);
	for (size_t i = 0; i < p->count; i++)
		text_addf(&t, "%s%s=%s;", p->at[i].name, p->at[i].forced ? "!" :
		    "", p->at[i].value);
	return buf;
}

static void expect(const char *text, const char *want)
{
	struct startup_params p = { .count = 0 };
	struct err e;

	assert_int_equal(startup_params_add(&p, text, &e), 0);
	assert_string_equal(all(&p), want);
	startup_params_fini(&p);
}

static void refuse(const char *text, const char *why)
{
	struct err e;

	assert_int_equal(startup_params_check(text, &e), -1);
	assert_string_equal(e.text, why);
}

static void test_pairs_are_read(void **state)
{
	(void)state;
	expect(NULL, "");
	expect("", "");
	expect(" \t\n", "");
	expect("a=1", "a=1;");
	expect("  a = 1\tb=2 ", "a=1;b=2;");
	expect("Work_Mem=64MB my.var$2=x", "work_mem=64MB;my.var$2=x;");
	expect("a=b=c d=e'f", "a=b=c;d=e'f;");
}

static void test_value_in_apostrophes_has_what_it_likes(void **state)
{
	(void)state;
	expect("a='b c' d=1", "a=b c;d=1;");
	expect("a='' b='it''s' c=''''", "a=;b=it's;c=';");
	expect("a='=!\\n'", "a==!\\n;");
}

static void test_whole_may_stand_in_apostrophes(void **state)
{
	(void)state;
	expect("'a=1 b=2'", "a=1;b=2;");
	expect(" 'a=''x y'' b=2' ", "a=x y;b=2;");
	expect("''", "");
}

static void test_mark_forces(void **state)
{
	(void)state;
	expect("a!=1 b! = 2 c=3", "a!=1;b!=2;c=3;");
}

static void test_last_of_a_name_counts(void **state)
{
	(void)state;
	expect("a!=1 b=2 A=3", "a=3;b=2;");
}

static void test_what_is_no_setting_is_refused(void **state)
{
	static const char *const names[] = { "user", "database", "replication",
		"options", "USER", "Options" };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct text t;
		struct err e;

		text_init(&t, text, sizeof text);
		text_addf(&t, "a=1 %s=x", names[i]);
		assert_int_equal(startup_params_check(text, &e), -1);
		assert_non_null(strstr(e.text, "not a setting of a session"));
	}
	refuse("_pq_.x=1", "startup_parameters: not a setting of a session: "
	    "_pq_.x");
	refuse("user!=x", "startup_parameters: not a setting of a session: user");
	expect("users=1 _pq=2 session_user=3", "users=1;_pq=2;session_user=3;");
}

static void test_what_means_nothing_is_refused(void **state)
{
	(void)state;
	refuse("a", "startup_parameters: name=value expected at: a");
	refuse("a=1 b", "startup_parameters: name=value expected at: b");
	refuse("=1", "startup_parameters: name=value expected at: =1");
	refuse("a=", "startup_parameters: no value for: a");
	refuse("a!!=1", "startup_parameters: name=value expected at: a!!=1");
	refuse("1a=1", "startup_parameters: name=value expected at: 1a=1");
	refuse("a-b=1", "startup_parameters: name=value expected at: a-b=1");
	refuse("a='x", "startup_parameters: closing quote missing: 'x");
	refuse("a='it''s", "startup_parameters: closing quote missing: 'it''s");
	refuse("a='x'y", "startup_parameters: blank expected after a quote, "
	    "not: y");
	refuse("'a=1' b=2", "startup_parameters: nothing expected after a quote, but:  b=2");
}

static void test_limits_hold(void **state)
{
	char text[STARTUP_PARAMS_BYTES + 64];
	struct text t;
	struct err e;

	(void)state;
	memset(text, 'x', sizeof text);
	memcpy(text, "a=", 2);
	text[STARTUP_PARAMS_BYTES] = '\0';
	assert_int_equal(startup_params_check(text, &e), 0);
	text[STARTUP_PARAMS_BYTES] = 'x';
	text[STARTUP_PARAMS_BYTES + 1] = '\0';
	assert_int_equal(startup_params_check(text, &e), -1);
	text_init(&t, text, sizeof text);
	for (int i = 0; i < STARTUP_PARAMS_MAX; i++)
		text_addf(&t, "a%d=1 ", i);
	assert_int_equal(startup_params_check(text, &e), 0);
	text_add(&t, "b=1");
	assert_int_equal(startup_params_check(text, &e), -1);
}

static void test_later_level_goes_before_an_earlier_one(void **state)
{
	struct startup_params p = { .count = 0 };

	(void)state;
	assert_int_equal(startup_params_add(&p, "a!=1 b=1", NULL), 0);
	assert_int_equal(startup_params_add(&p, "b!=2 c=2", NULL), 0);
	assert_true(startup_params_force(&p, "A"));
	assert_true(startup_params_force(&p, "b"));
	assert_false(startup_params_force(&p, "c"));
	assert_false(startup_params_force(&p, "d"));
	assert_int_equal(startup_params_add(&p, "a=3", NULL), 0);
	assert_string_equal(all(&p), "a=3;b!=2;c=2;");
	startup_params_fini(&p);
}

static uint64_t mark(const char *text)
{
	struct startup_params p = { .count = 0 };

	assert_int_equal(startup_params_add(&p, text, NULL), 0);
	const uint64_t m = startup_params_mark(&p);

	startup_params_fini(&p);
	return m;
}

static void test_mark_tells_names_and_values_apart(void **state)
{
	(void)state;
	assert_true(mark("a=1 b=2") == mark("A = 1  b='2'"));
	assert_true(mark("a=1") == mark("a!=1"));
	assert_true(mark("a=1") != mark("a=2"));
	assert_true(mark("a=1") != mark("b=1"));
	assert_true(mark("a=1") != mark(""));
	assert_true(mark("ab=c") != mark("a=bc"));
}

static void test_no_memory_is_an_error(void **state)
{
	struct err e;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(startup_params_check("a=1", &e), -1);
	assert_true(err_is_nomem(&e));
	mem_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_are_read),
		cmocka_unit_test(test_value_in_apostrophes_has_what_it_likes),
		cmocka_unit_test(test_whole_may_stand_in_apostrophes),
		cmocka_unit_test(test_mark_forces),
		cmocka_unit_test(test_last_of_a_name_counts),
		cmocka_unit_test(test_what_is_no_setting_is_refused),
		cmocka_unit_test(test_what_means_nothing_is_refused),
		cmocka_unit_test(test_limits_hold),
		cmocka_unit_test(test_later_level_goes_before_an_earlier_one),
		cmocka_unit_test(test_mark_tells_names_and_values_apart),
		cmocka_unit_test(test_no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
