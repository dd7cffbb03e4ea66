/* test_mem_secmem.c - memory for secrets: zeroed, wiped, apart, left out of
 * dumps.
 * SPDX-License-Identifier: ISC */
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define MANY 5000

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

static void test_each_size_is_zeroed_and_usable(void **state)
{
	(void)state;
	for (size_t n = 0; n < 40000; n = n * 5 / 4 + 1) {
		uint8_t *p = secmem_zalloc(n);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		assert_true(is_zero(p, n));
		memset(p, 0xa5, n);
		secmem_free(p);
		/* the block is given out again, without what was in it */
		p = secmem_zalloc(n);
		assert_true(is_zero(p, n));
		secmem_free(p);
	}
	secmem_free(NULL);
}

static void test_blocks_do_not_overlap(void **state)
{
	static uint8_t *blocks[MANY];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++) {
			const size_t n = (size_t)(i % 300 + 1);

			if (blocks[i] != NULL)
				continue;
			blocks[i] = secmem_zalloc(n);
			assert_non_null(blocks[i]);
			assert_true(is_zero(blocks[i], n));
			memset(blocks[i], i & 0xff, n);
		}
		for (int i = round; i < MANY; i += 2) {
			const size_t n = (size_t)(i % 300 + 1);

			for (size_t k = 0; k < n; k++)
				assert_int_equal(blocks[i][k], i & 0xff);
			secmem_free(blocks[i]);
			blocks[i] = NULL;
		}
	}
	for (int i = 0; i < MANY; i++)
		secmem_free(blocks[i]);
}

static void test_freed_secret_is_wiped(void **state)
{
	(void)state;
	/* its chunk stays: there is another block in it */
	char *neighbour = secmem_strdup("neighbour"), *s;

	s = secmem_strdup("a secret of the test");
	assert_string_equal(s, "a secret of the test");
	const char *const old = s;

	secmem_free(s);
	assert_true(is_zero((const uint8_t *)old + sizeof(void *),
	    32 - sizeof(void *)));
	assert_string_equal(neighbour, "neighbour");
	secmem_free(neighbour);
}

/* proc(5), smaps, VmFlags: "dd" is "do not include area into core dump". */
static bool is_left_out_of_dumps(const void *p)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512];
	unsigned long from, to;
	bool inside = false, found = false;

	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (uintptr_t)p >= from && (uintptr_t)p < to;
		if (inside && strncmp(line, "VmFlags:", 8) == 0)
			found = strstr(line, " dd") != NULL;
	}
	fclose(f);
	return found;
}

/* An emulator of a processor may keep the flags of its own. */
static bool flags_are_shown(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *const page = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(page != MAP_FAILED);
	assert_int_equal(madvise(page, size, MADV_DONTDUMP), 0);
	const bool shown = is_left_out_of_dumps(page);

	munmap(page, size);
	return shown;
}

static void test_pages_are_left_out_of_core_dumps(void **state)
{
	if (!flags_are_shown())
		skip();
	char *small = secmem_strdup("x"), *large = secmem_zalloc(100000);
	char *other = mem_strdup("x");

	(void)state;
	assert_true(is_left_out_of_dumps(small));
	assert_true(is_left_out_of_dumps(large));
	assert_true(is_left_out_of_dumps(large + 99999));
	assert_false(is_left_out_of_dumps(other));
	secmem_free(small);
	secmem_free(large);
	mem_free(other);
}

static void test_failed_allocation_is_told(void **state)
{
	(void)state;
	mem_fail_at(1);
	assert_null(secmem_zalloc(10));
	mem_fail_at(1);
	assert_null(secmem_strdup("x"));
	mem_fail_at(0);
	assert_null(secmem_zalloc(SIZE_MAX));
	assert_null(secmem_zalloc(SIZE_MAX / 2));
}

/* kB that this process has locked, of proc(5). */
static long locked(void)
{
	FILE *const f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f != NULL && kb < 0 && fgets(line, sizeof line, f) != NULL)
		(void)sscanf(line, "VmLck: %ld", &kb);
	if (f != NULL)
		fclose(f);
	return kb;
}

static void test_child_locks_what_it_got_from_its_parent(void **state)
{
	void *const small = secmem_zalloc(100), *const large =
	    secmem_zalloc(100000);
	const long before = locked();

	(void)state;
	assert_non_null(small);
	assert_non_null(large);
	memset(small, 1, 100);
	memset(large, 1, 100000);
	const pid_t pid = fork();

	if (pid == 0) {
		const bool none = locked() == 0;

		secmem_lock_again();
		_exit(none && locked() == before ? 0 : 1);
	}
	int status = -1;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	secmem_free(small);
	secmem_free(large);
	if (before <= 0)
		skip();		/* the limit, or the system, allows none */
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_size_is_zeroed_and_usable),
		cmocka_unit_test(test_blocks_do_not_overlap),
		cmocka_unit_test(test_freed_secret_is_wiped),
		cmocka_unit_test(test_pages_are_left_out_of_core_dumps),
		cmocka_unit_test(test_failed_allocation_is_told),
		cmocka_unit_test(test_child_locks_what_it_got_from_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
