/* test_baggage.c - unit tests of settings that clients carry along.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/msg.h"

static struct baggage_table *table;

static int setup(void **state)
{
	(void)state;
	table = baggage_table_new();
	return table == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	baggage_table_free(&table);
	return 0;
}

#define SET(text) baggage_get(table, text, sizeof text - 1)

static void test_equal_sets_are_one(void **state)
{
	struct baggage *a = SET("x\0001\0y\0002\0");
	struct baggage *b = SET("y\0002\0x\0001\0");
	struct baggage *c = SET("y\0002\0x\0001\0x\0003\0");
	struct baggage *d = SET("y\0002\0x\0003\0"), *none = SET("");
	struct baggage *empty = baggage_empty(table);

	(void)state;
	assert_ptr_equal(a, b);
	assert_ptr_equal(a, c);
	assert_ptr_not_equal(a, d);
	assert_ptr_equal(none, empty);
	assert_string_equal(baggage_find(d, "x"), "3");
	assert_null(baggage_find(d, "z"));
	baggage_unref(&a);
	baggage_unref(&b);
	baggage_unref(&c);
	baggage_unref(&d);
	baggage_unref(&none);
	baggage_unref(&empty);
}

static void test_bytes_that_are_none_are_refused(void **state)
{
	(void)state;
	assert_null(SET("x"));
	assert_null(SET("x\0"));
	assert_null(SET("x\0y"));
	assert_null(SET("x\0y\0z\0"));
}

static struct {
	struct baggage *set;
	const char *actor;
	bool pristine, goes_on, open;
} base;

/* The SQL from have to want, or "". */
static const char *sql(struct baggage *want, struct baggage *have)
{
	static char out[1024];
	struct writer w;

	writer_init(&w, sizeof out);
	baggage_write_sql(&(struct baggage_change){ .want = want, .have = have,
		.base = base.set, .actor = base.actor, .whole = base.set != NULL,
		.pristine = base.pristine, .goes_on = base.goes_on,
		.open = base.open }, &w);
	assert_false(w.failed);
	assert_true(w.len < sizeof out);
	out[0] = '\0';
	if (w.len > 0)
		memcpy(out, w.at, w.len);
	writer_fini(&w);
	baggage_unref(&want);
	baggage_unref(&have);
	return out;
}

#define CONFIG(name, value) \
	"pg_catalog.set_config('" name "'," value ",false)"

static void test_difference_is_sql(void **state)
{
	(void)state;
	assert_string_equal(sql(SET("a\0001\0"), SET("a\0001\0")), "");
	assert_string_equal(sql(SET("a\0001\0"), SET("")),
	    "SELECT " CONFIG("a", "'1'"));
	assert_string_equal(sql(SET(""), SET("a\0001\0")),
	    "SELECT " CONFIG("a", "NULL"));
	assert_string_equal(sql(SET("a\0001\0c\0002\0d\0\0"),
	    SET("a\0002\0b\0001\0c\0002\0")), "SELECT " CONFIG("a", "'1'")
	    "," CONFIG("b", "NULL") "," CONFIG("d", "''"));
}

static void test_role_is_reset_first_and_set_last(void **state)
{
	(void)state;
	assert_string_equal(sql(SET("role\0x\0work_mem\0001\0"),
	    SET("role\0y\0")), "SELECT " CONFIG("role", "'none'") ","
	    CONFIG("work_mem", "'1'") "," CONFIG("role", "'x'"));
	assert_string_equal(sql(SET("role\0none\0"), SET("role\0y\0")),
	    "SELECT " CONFIG("role", "'none'"));
	/* nobody knows what it was at first */
	assert_string_equal(sql(SET(""), SET("role\0none\0")),
	    "SELECT " CONFIG("role", "NULL"));
}

#define ASIDE "pg_catalog.set_config('pgsluice.role'," \
	"pg_catalog.current_setting('role'),true)," \
	"pg_catalog.set_config('role','none',true)"
#define BACK "pg_catalog.set_config('role'," \
	"pg_catalog.current_setting('pgsluice.role'),true)"

static void test_role_that_is_not_reset_stays_for_who_goes_on(void **state)
{
	(void)state;
	base.goes_on = true;
	assert_string_equal(sql(SET("role\0x\0work_mem\0001\0"),
	    SET("role\0x\0")), "SET LOCAL ROLE NONE;SELECT "
	    CONFIG("work_mem", "'1'"));
	assert_string_equal(sql(SET("role\0x\0"), SET("role\0x\0")), "");
	/* nothing is for the rest of a transaction alone */
	base.open = true;
	assert_string_equal(sql(SET("role\0x\0work_mem\0001\0"),
	    SET("role\0x\0")), "SELECT " ASIDE ","
	    CONFIG("work_mem", "'1'") "," BACK);
	assert_string_equal(sql(SET("role\0x\0"), SET("role\0x\0")), "");
	/* it may have taken one */
	assert_string_equal(sql(SET("work_mem\0001\0"),
	    SET("statement_timeout\0001\0")), "SELECT " ASIDE ","
	    CONFIG("statement_timeout", "NULL") ","
	    CONFIG("work_mem", "'1'") "," BACK);
	base.open = false;
	assert_string_equal(sql(SET("work_mem\0001\0"), SET("")),
	    "SET LOCAL ROLE NONE;SELECT " CONFIG("work_mem", "'1'"));
	/* it was reset */
	assert_string_equal(sql(SET("role\0x\0"), SET("")), "SELECT "
	    CONFIG("role", "'x'"));
	base.goes_on = base.open = false;
}

static void test_what_a_set_lacks_is_as_in_the_base(void **state)
{
	(void)state;
	base.set = SET("a.b\0x\0role\0r\0work_mem\0001\0");
	assert_string_equal(sql(SET(""), SET("a.b\0x\0role\0r\0")), "SELECT "
	    CONFIG("role", "'none'") "," CONFIG("role", "'r'"));
	assert_string_equal(sql(SET("role\0none\0"), SET("role\0none\0"
	    "a.b\0\0")), "SELECT " CONFIG("a.b", "'x'"));
	assert_string_equal(sql(SET("role\0none\0a.b\0\0"),
	    SET("role\0none\0")), "SELECT " CONFIG("a.b", "''"));
	/* what connect_query has set, and its client has RESET */
	assert_string_equal(sql(SET("role\0none\0"), SET("role\0none\0"
	    "work_mem\0002\0")), "SELECT " CONFIG("work_mem", "NULL"));
	/* it has no value at first: empty is the same as RESET */
	assert_string_equal(sql(SET("role\0none\0"), SET("role\0none\0"
	    "c.d\0\0")), "");
	base.pristine = true;
	assert_string_equal(sql(SET(""), SET("role\0none\0")),
	    "SELECT " CONFIG("role", "NULL"));
	base.pristine = false;
	baggage_unref(&base.set);
}

static void test_another_user_comes_behind_the_settings(void **state)
{
	(void)state;
	base.actor = "SET a='u';";
	assert_string_equal(sql(SET("role\0x\0b\0001\0"), SET("role\0y\0")),
	    "SELECT " CONFIG("b", "'1'") ";SET a='u';SELECT "
	    CONFIG("role", "'x'"));
	assert_string_equal(sql(SET("role\0x\0"), SET("role\0x\0")),
	    "SET a='u';SELECT " CONFIG("role", "'x'"));
	assert_string_equal(sql(SET(""), SET("")), "SET a='u';");
	/* that role may be no other user's */
	base.set = SET("role\0r\0");
	assert_string_equal(sql(SET(""), SET("")), "SET a='u';");
	baggage_unref(&base.set);
	base.actor = NULL;
}

/* What is in quotes means something else in other encodings, or settings. */
static void test_odd_bytes_are_no_part_of_the_sql(void **state)
{
	(void)state;
	assert_string_equal(sql(SET("a\0it's\0"), SET("")), "SELECT "
	    CONFIG("a", "pg_catalog.convert_from(pg_catalog.decode("
	    "'69742773','hex'),'SQL_ASCII')"));
	assert_string_equal(sql(SET("\0LATIN1\0a\0\xe9\0"), SET("")), "SELECT "
	    CONFIG("a", "pg_catalog.convert_from(pg_catalog.decode("
	    "'e9','hex'),'LATIN1')"));
	/* the same bytes were something else */
	assert_string_equal(sql(SET("\0LATIN1\0a\0\xe9\0b\0001\0"),
	    SET("\0LATIN2\0a\0\xe9\0b\0001\0")), "SELECT "
	    CONFIG("a", "pg_catalog.convert_from(pg_catalog.decode("
	    "'e9','hex'),'LATIN1')"));
}

static void test_one_is_forgotten(void **state)
{
	struct baggage *a = SET("a\0001\0role\0x\0"), *b = SET("a\0001\0");

	(void)state;
	assert_int_equal(baggage_forget(&a, "role"), 0);
	assert_ptr_equal(a, b);
	assert_int_equal(baggage_forget(&a, "role"), 0);
	assert_ptr_equal(a, b);
	baggage_unref(&a);
	baggage_unref(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_sets_are_one),
		cmocka_unit_test(test_bytes_that_are_none_are_refused),
		cmocka_unit_test(test_difference_is_sql),
		cmocka_unit_test(test_role_is_reset_first_and_set_last),
		cmocka_unit_test(
		    test_role_that_is_not_reset_stays_for_who_goes_on),
		cmocka_unit_test(test_what_a_set_lacks_is_as_in_the_base),
		cmocka_unit_test(test_another_user_comes_behind_the_settings),
		cmocka_unit_test(test_odd_bytes_are_no_part_of_the_sql),
		cmocka_unit_test(test_one_is_forgotten),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
