/* test_params_list.c - values of parameters as bytes, and back.
 * SPDX-License-Identifier: ISC */
#include "proto/params_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/params.h"
#include "proto/writer.h"

#define LIST "gone\0\1x\0DateStyle\0\1ISO\0TimeZone\0\0"

static struct params_table *table;

static int set_up(void **state)
{
	(void)state;
	table = params_table_new(NULL);
	return table == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	params_table_free(&table);
	return 0;
}

/* What another process, which tracks others, has written. */
static struct reader foreign(void)
{
	struct reader list;

	reader_init(&list, LIST, sizeof LIST - 1);
	return list;
}

static void test_what_was_written_is_read(void **state)
{
	struct params *set = params_empty(table), *again = params_empty(table);
	struct reader r, list;
	struct writer w;

	(void)state;
	assert_int_equal(params_set(&set, PARAMS_DATESTYLE, "SQL"), 0);
	writer_init(&w, 1 << 16);
	params_list_write(table, set, &w);
	writer_u8(&w, 7);
	assert_false(w.failed);
	reader_init(&r, w.at, w.len);
	params_list_read(&r, &list);
	assert_int_equal(reader_u8(&r), 7);
	assert_false(r.failed);
	assert_int_equal(params_list_load(table, list, &again), 0);
	assert_ptr_equal(params_get(again, PARAMS_DATESTYLE),
	    params_get(set, PARAMS_DATESTYLE));
	params_unref(&set);
	params_unref(&again);
	writer_fini(&w);
}

static void test_what_is_not_tracked_here_is_left_out(void **state)
{
	struct params *set = params_empty(table);

	(void)state;
	assert_int_equal(params_list_load(table, foreign(), &set), 0);
	assert_string_equal(params_get(set, PARAMS_DATESTYLE), "ISO");
	params_unref(&set);
}

static void test_bits_follow_the_names(void **state)
{
	const int zone = params_find(table, "TimeZone");

	(void)state;
	assert_int_equal(params_list_bits(table, foreign(), 1), 0);
	assert_int_equal(params_list_bits(table, foreign(), 2),
	    (uint64_t)1 << PARAMS_DATESTYLE);
	assert_int_equal(params_list_bits(table, foreign(), 7),
	    (uint64_t)1 << PARAMS_DATESTYLE | (uint64_t)1 << zone);
}

static void test_list_that_is_cut_fails_its_reader(void **state)
{
	static const char bytes[] = "\0\0\0\15" "TimeZone\0\1UT";
	struct reader r, list;

	(void)state;
	reader_init(&r, bytes, sizeof bytes - 1);
	params_list_read(&r, &list);
	assert_true(r.failed);
	reader_init(&r, bytes, sizeof bytes - 3);	/* longer than it is */
	params_list_read(&r, &list);
	assert_true(r.failed);
}

static void test_want_of_memory_is_an_error(void **state)
{
	struct params *set = params_empty(table);

	(void)state;
	mem_fail_at(1);
	assert_int_equal(params_list_load(table, foreign(), &set), -1);
	mem_fail_at(0);
	params_unref(&set);
}

#define STAGED(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_what_was_written_is_read),
		STAGED(test_what_is_not_tracked_here_is_left_out),
		STAGED(test_bits_follow_the_names),
		STAGED(test_list_that_is_cut_fails_its_reader),
		STAGED(test_want_of_memory_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
