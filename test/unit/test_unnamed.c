/* test_unnamed.c - texts that are prepared without a name, again and again.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/params.h"
#include "proto/prepared_op.h"
#include "proto/unnamed.h"

static struct {
	struct prepared_table *t;
	struct unnamed *u;
} st;

static int set_up(void **state)
{
	(void)state;
	st.t = prepared_table_new();
	st.u = unnamed_new();
	return st.t == NULL || st.u == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	unnamed_free(&st.u);
	assert_int_equal(prepared_table_bytes(st.t), 0);
	prepared_table_free(&st.t);
	return 0;
}

static void test_text_is_again_the_second_time(void **state)
{
	(void)state;
	assert_false(unnamed_is_again(st.u, "ab", 2));
	assert_true(unnamed_is_again(st.u, "ab", 2));
	assert_false(unnamed_is_again(st.u, "abc", 3));
}

static void test_statement_is_found_by_its_text_alone(void **state)
{
	struct prepared *const p = unnamed_add(st.u, st.t, "ab", 3);

	(void)state;
	assert_non_null(p);
	assert_ptr_equal(unnamed_find(st.u, "ab", 3), p);
	assert_null(unnamed_find(st.u, "ac", 3));
	/* with a name it is another one */
	assert_null(prepared_lookup(st.t, prepared_plain("ab", 3)));
	assert_true(unnamed_clear(st.u));
	assert_false(unnamed_clear(st.u));
	assert_false(unnamed_clear(NULL));
	assert_null(unnamed_find(st.u, "ab", 3));
}

static void test_oldest_text_goes(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= UNNAMED_TEXTS; i++)
		assert_non_null(unnamed_add(st.u, st.t, &i, sizeof i));
	const unsigned oldest = 0, next = 1;

	assert_int_equal(unnamed_count(st.u), UNNAMED_TEXTS);
	assert_null(unnamed_find(st.u, &oldest, sizeof oldest));
	assert_non_null(unnamed_find(st.u, &next, sizeof next));
}

static void test_replaced_statement_has_another_name(void **state)
{
	struct prepared *const old = prepared_ref(unnamed_add(st.u, st.t,
	    "ab", 3));
	struct prepared *const new = unnamed_replace(st.u, old);

	(void)state;
	assert_non_null(new);
	assert_string_not_equal(new->name, old->name);
	assert_ptr_equal(unnamed_find(st.u, "ab", 3), new);
	/* somebody was first */
	assert_ptr_equal(unnamed_replace(st.u, old), new);
	prepared_unref(old);
}

static void test_unused_by_names_it_is_not_the_first_to_go(void **state)
{
	struct prepared_uses uses = { 0 };
	struct slots *map = NULL;
	struct prepared *const a = unnamed_add(st.u, st.t, "a", 2);
	struct prepared *const b = unnamed_add(st.u, st.t, "b", 2);

	(void)state;
	assert_int_equal(prepared_uses_add(&uses, b), 0);
	assert_int_equal(prepared_uses_add(&uses, a), 0);
	assert_int_equal(prepared_name_add(&map, "", a), 0);
	prepared_name_remove(&map, "");
	assert_ptr_equal(uses.lru->stmt, b);
	/* forgotten, it is */
	prepared_ref(a);
	assert_true(unnamed_clear(st.u));
	prepared_unref(a);
	assert_ptr_equal(uses.lru->stmt, b);
	assert_true(prepared_table_make_room(st.t, 1, 1));
	assert_int_equal(uses.count, 0);
	prepared_name_clear(&map);
	prepared_uses_clear(&uses);
}

static void test_world_is_told_by_settings_and_changes(void **state)
{
	struct params_table *t = params_table_new(NULL);
	struct baggage_table *bags = baggage_table_new();
	struct prepared_world now = { .params = params_empty(t),
		.baggage = baggage_empty(bags), .changes = 7 };
	struct prepared_world *w = prepared_world_new(&now);

	(void)state;
	assert_true(prepared_world_is(w, &now));
	assert_int_equal(params_set(&now.params, PARAMS_APPLICATION_NAME, "a"),
	    0);
	assert_true(prepared_world_is(w, &now));
	now.changes = 8;
	assert_false(prepared_world_is(w, &now));
	now.changes = 7;
	struct baggage *const none = now.baggage;

	now.baggage = NULL;
	assert_false(prepared_world_is(w, &now));
	now.baggage = none;
	assert_int_equal(params_set(&now.params, PARAMS_DATESTYLE, "German"),
	    0);
	assert_false(prepared_world_is(w, &now));
	prepared_world_free(&w);
	prepared_world_free(&w);
	params_unref(&now.params);
	baggage_unref(&now.baggage);
	params_table_free(&t);
	baggage_table_free(&bags);
}

static void test_want_of_memory_leaves_nothing(void **state)
{
	(void)state;
	for (unsigned long n = 1; n < 100; n++) {
		mem_fail_at(n);
		const bool done = unnamed_add(st.u, st.t, "ab", 3) != NULL;

		if (mem_fail_at(0) < n) {
			assert_true(done);
			return;
		}
		assert_null(unnamed_find(st.u, "ab", 3));
		assert_int_equal(prepared_table_bytes(st.t), 0);
	}
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    test_text_is_again_the_second_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    test_statement_is_found_by_its_text_alone, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(test_oldest_text_goes, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    test_replaced_statement_has_another_name, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    test_unused_by_names_it_is_not_the_first_to_go, set_up,
		    tear_down),
		cmocka_unit_test(test_world_is_told_by_settings_and_changes),
		cmocka_unit_test_setup_teardown(
		    test_want_of_memory_leaves_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
