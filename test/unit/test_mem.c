/* test_mem.c - counted allocation that can be made to fail.
 * SPDX-License-Identifier: ISC */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void test_nth_allocation_fails_and_only_that(void **state)
{
	(void)state;

	mem_fail_at(2);
	void *a = mem_alloc(1), *b = mem_alloc(1), *c = mem_alloc(1);

	assert_non_null(a);
	assert_null(b);
	assert_non_null(c);
	assert_int_equal(mem_fail_at(0), 3);
	mem_free(a);
	mem_free(c);
}

static void test_each_kind_of_allocation_can_fail(void **state)
{
	(void)state;

	char *p = mem_strdup("abc");

	mem_fail_at(1);
	assert_null(mem_zalloc(1));
	mem_fail_at(1);
	assert_null(mem_strdup("a"));
	mem_fail_at(1);
	assert_null(mem_strndup("a", 1));
	mem_fail_at(1);
	assert_null(mem_dup("a", 1));
	mem_fail_at(1);
	assert_null(mem_new(MEM_USER, 1));
	mem_fail_at(1);
	assert_null(mem_resize(p, 100));
	mem_fail_at(0);
	assert_string_equal(p, "abc");
	mem_free(p);
}

static void test_no_bytes_give_a_pointer(void **state)
{
	(void)state;

	void *p[] = { mem_alloc(0), mem_zalloc(0), mem_dup(NULL, 0),
		mem_resize(NULL, 0) };

	for (size_t i = 0; i < sizeof p / sizeof p[0]; i++) {
		assert_non_null(p[i]);
		mem_free(p[i]);
	}
}

static void test_strndup_stops_at_the_nul_and_at_n(void **state)
{
	(void)state;

	char *a = mem_strndup("abcdef", 3), *b = mem_strndup("ab", 9);

	assert_string_equal(a, "abc");
	assert_string_equal(b, "ab");
	mem_free(a);
	mem_free(b);
}

static void test_new_is_zeroed_and_counted(void **state)
{
	(void)state;

	const struct mem_stat *s = mem_stat(MEM_CLIENT);
	char *a = mem_new(MEM_CLIENT, 24), *b = mem_new(MEM_CLIENT, 24);

	for (int i = 0; i < 24; i++)
		assert_int_equal(a[i], 0);
	assert_int_equal(s->used, 2);
	assert_int_equal(s->size, 24);
	assert_int_equal(s->bytes, 48);
	mem_delete(MEM_CLIENT, a, 24);
	assert_int_equal(s->used, 1);
	mem_delete(MEM_CLIENT, b, 24);
	mem_delete(MEM_CLIENT, NULL, 24);
	assert_int_equal(s->used, 0);
	assert_int_equal(s->bytes, 0);
}

static void test_different_sizes_have_no_common_size(void **state)
{
	(void)state;

	const struct mem_stat *s = mem_stat(MEM_STATEMENT);
	void *a = mem_new(MEM_STATEMENT, 10), *b = mem_new(MEM_STATEMENT, 20);

	assert_int_equal(s->size, 0);
	assert_int_equal(s->bytes, 30);
	mem_delete(MEM_STATEMENT, a, 10);
	mem_delete(MEM_STATEMENT, b, 20);
	assert_int_equal(s->bytes, 0);
}

static void test_failed_new_is_not_counted(void **state)
{
	(void)state;

	mem_fail_at(1);
	assert_null(mem_new(MEM_SERVER, 8));
	mem_fail_at(0);
	assert_int_equal(mem_stat(MEM_SERVER)->used, 0);
}

static void test_notes_add_and_subtract(void **state)
{
	(void)state;

	const struct mem_stat *s = mem_stat(MEM_OVERFLOW);

	mem_note(MEM_OVERFLOW, 1, 4096);
	mem_note(MEM_OVERFLOW, 0, -96);
	assert_int_equal(s->used, 1);
	assert_int_equal(s->bytes, 4000);
	mem_note(MEM_OVERFLOW, -1, -4000);
	assert_int_equal(s->used, 0);
	assert_int_equal(s->bytes, 0);
}

static void test_every_kind_has_its_own_name(void **state)
{
	(void)state;

	for (int i = 0; i < MEM_KINDS; i++) {
		assert_non_null(mem_name((enum mem_kind)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(mem_name((enum mem_kind)i),
			    mem_name((enum mem_kind)k));
	}
}

/* Not NULL: it counted as it should. */
static void *make_and_free(void *arg)
{
	const struct mem_stat *const s = mem_stat(MEM_USER);
	void *const p = mem_new(MEM_USER, 16), *const block = mem_block();
	bool right = p != NULL && block != NULL && s->used == 1;

	mem_delete(MEM_USER, p, 16);
	right = right && s->used == 0;
	/* it may be kept, for the next of this thread */
	mem_block_free(block);
	mem_free(mem_block());
	return right ? arg : NULL;
}

static void test_threads_count_for_themselves(void **state)
{
	void *const mine = mem_new(MEM_USER, 16);
	pthread_t t[2];
	void *right;

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, make_and_free,
		    t), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(t[i], &right), 0);
		assert_non_null(right);
	}
	assert_int_equal(mem_stat(MEM_USER)->used, 1);
	mem_delete(MEM_USER, mine, 16);
	assert_int_equal(mem_stat(MEM_USER)->used, 0);
}

/* --- wiping --- */

/* Those that base/mem calls, the second when fortified: libc's are not asked. */
static _Thread_local unsigned wiped;

void explicit_bzero(void *p, size_t n)
{
	memset(p, 0, n);
	wiped++;
}

void __explicit_bzero_chk(void *p, size_t n, size_t room);

void __explicit_bzero_chk(void *p, size_t n, size_t room)
{
	assert_true(n <= room);
	explicit_bzero(p, n);
}

static void *wipe_nothing(void *arg)
{
	void *p;

	(void)arg;
	mem_lib_wipe(true);
	mem_lib_wipe(false);
	p = mem_lib_alloc(8);
	mem_lib_free(p);
	assert_int_equal(wiped, 0);
	return NULL;
}

static void test_each_thread_wipes_by_itself(void **state)
{
	pthread_t other;

	(void)state;
	void *p = mem_lib_alloc(8), *q = mem_lib_alloc(8);

	mem_lib_wipe(true);
	assert_int_equal(pthread_create(&other, NULL, wipe_nothing, NULL), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	wiped = 0;
	mem_lib_free(p);
	assert_int_equal(wiped, 1);
	q = mem_lib_realloc(q, 1000);
	assert_int_equal(wiped, 2);
	mem_lib_wipe(false);
	mem_lib_free(q);
	assert_int_equal(wiped, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nth_allocation_fails_and_only_that),
		cmocka_unit_test(test_each_kind_of_allocation_can_fail),
		cmocka_unit_test(test_no_bytes_give_a_pointer),
		cmocka_unit_test(test_strndup_stops_at_the_nul_and_at_n),
		cmocka_unit_test(test_new_is_zeroed_and_counted),
		cmocka_unit_test(test_different_sizes_have_no_common_size),
		cmocka_unit_test(test_failed_new_is_not_counted),
		cmocka_unit_test(test_notes_add_and_subtract),
		cmocka_unit_test(test_every_kind_has_its_own_name),
		cmocka_unit_test(test_threads_count_for_themselves),
		cmocka_unit_test(test_each_thread_wipes_by_itself),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
