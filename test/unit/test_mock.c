/* test_mock.c - tests for conf/mock.
 * SPDX-License-Identifier: ISC */
#include "conf/mock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/config.h"
#include "conf/userlist.h"

#define KEYS "$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:" \
	"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define SCRAM(i) "SCRAM-SHA-256$" #i ":MDEyMzQ1Njc4OWFiY2RlZg==" KEYS
#define MD5 "md50123456789abcdef0123456789abcdef"

static struct config *with(const char *text)
{
	const struct userlist_source src = { .text = text,
		.len = strlen(text), .path = "f" };
	struct config *c = config_seed(0);

	assert_non_null(c);
	c->userlist = userlist_parse(&src);
	assert_non_null(c->userlist);
	return c;
}

static struct mock load(const char *text)
{
	struct config *c = with(text);
	struct err e;

	assert_int_equal(mock_load(c, NULL, &e), 0);
	const struct mock m = c->mock;

	config_unref(&c);
	return m;
}

static void test_shape_is_that_of_most(void **state)
{
	static const struct {
		const char *text;
		bool scram;
		int iterations;
	} rows[] = {
		{ "", false, 0 },
		{ "\"a\" \"x\"\n\"b\" \"" SCRAM(5000) "\"\n", false, 5000 },
		{ "\"a\" \"x\"\n\"c\" \"x\"\n\"b\" \"" SCRAM(5000) "\"\n",
		    false, 0 },
		{ "\"a\" \"" MD5 "\"\n\"c\" \"" MD5 "\"\n\"b\" \""
		    SCRAM(5000) "\"\n", false, 5000 },
		{ "\"a\" \"" SCRAM(7000) "\"\n\"b\" \"" SCRAM(5000) "\"\n"
		    "\"c\" \"" SCRAM(5000) "\"\n\"d\" \"x\"\n", true, 5000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct mock m = load(rows[i].text);

		assert_int_equal(m.shape.scram, rows[i].scram);
		assert_int_equal(m.shape.salt.iterations, rows[i].iterations);
		assert_int_equal(m.shape.salt.salt_len, SCRAM_SALT_BYTES);
	}
}

static void test_seed_is_of_the_secrets(void **state)
{
	const struct mock a = load("\"a\" \"x\"\n\"b\" \"y\"\n");
	const struct mock same = load("; all\n\"b\" \"y\"\n\"a\" \"x\"\n");
	const struct mock other = load("\"a\" \"x\"\n\"b\" \"z\"\n");

	(void)state;
	assert_true(a.seeded);
	assert_memory_equal(a.seed, same.seed, sizeof a.seed);
	assert_memory_not_equal(a.seed, other.seed, sizeof a.seed);
	assert_false(load("\"a\" \"\"\n").seeded);
}

static void test_unchanged_file_brings_the_seed_in_force(void **state)
{
	struct config *c = with("\"a\" \"x\"\n"), *prev = with("\"a\" \"y\"\n");
	struct err e;

	(void)state;
	userlist_unref(&prev->userlist);
	prev->userlist = userlist_ref(c->userlist);
	memset(prev->mock.seed, 7, sizeof prev->mock.seed);
	assert_int_equal(mock_load(c, prev, &e), 0);
	assert_memory_equal(c->mock.seed, prev->mock.seed,
	    sizeof c->mock.seed);
	config_unref(&c);
	config_unref(&prev);
}

static void test_without_memory_it_fails(void **state)
{
	struct config *c = with("\"a\" \"x\"\n");
	struct err e;

	(void)state;
	mem_fail_at(1);
	assert_int_equal(mock_load(c, NULL, &e), -1);
	mem_fail_at(0);
	assert_string_equal(e.code, "53200");
	config_unref(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape_is_that_of_most),
		cmocka_unit_test(test_seed_is_of_the_secrets),
		cmocka_unit_test(test_unchanged_file_brings_the_seed_in_force),
		cmocka_unit_test(test_without_memory_it_fails),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
