/* test_admin_parse.c - each rule of the console's grammar.
 * SPDX-License-Identifier: ISC */
#include "console/admin_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct sample {
	const char *query, *verb, *arg, *value;	/* arg NULL: none */
};

static void check(const struct sample *s, bool is_set)
{
	struct admin_command cmd;

	if (admin_parse(s->query, NULL, &cmd) != ADMIN_PARSE_OK)
		fail_msg("refused: %s", s->query);
	assert_string_equal(cmd.verb, s->verb);
	assert_int_equal(cmd.has_arg, s->arg != NULL);
	assert_string_equal(cmd.arg, s->arg != NULL ? s->arg : "");
	assert_int_equal(cmd.is_set, is_set);
	assert_string_equal(cmd.value, s->value != NULL ? s->value : "");
}

static void test_command_takes_at_most_one_argument(void **state)
{
	static const struct sample samples[] = {
		{ "RELOAD", "RELOAD", NULL, NULL },
		{ " \t\r\nreload\n", "reload", NULL, NULL },
		{ "RELOAD;", "RELOAD", NULL, NULL },
		{ "RELOAD ; ", "RELOAD", NULL, NULL },
		{ "show pools", "show", "pools", NULL },
		{ "SHOW\tPOOLS;\n", "SHOW", "POOLS", NULL },
		{ "KILL_CLIENT 17", "KILL_CLIENT", "17", NULL },
		{ "PAUSE \"my-db\"", "PAUSE", "my-db", NULL },
		{ "PAUSE \"a\"\"b\";", "PAUSE", "a\"b", NULL },
		{ "PAUSE \"\"", "PAUSE", "", NULL },
		{ "PAUSE Shop", "PAUSE", "Shop", NULL },
		{ "\"SHOW\" pools", "SHOW", "pools", NULL },
		{ "SETTLE x", "SETTLE", "x", NULL },
		{ "SHUTDOWN drain", "SHUTDOWN", "drain", NULL },
		{ "SHUTDOWN drain 7 ;", "SHUTDOWN", "drain", "7" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		check(&samples[i], false);
}

static void test_set_takes_key_and_value(void **state)
{
	static const struct sample samples[] = {
		{ "SET a=b", "SET", "a", "b" },
		{ " set a = b ; ", "set", "a", "b" },
		{ "SET a TO b", "SET", "a", "b" },
		{ "SET a to 'b c'", "SET", "a", "b c" },
		{ "SET a = 'it''s'", "SET", "a", "it's" },
		{ "SET a = ''", "SET", "a", "" },
		{ "SET a='-1';", "SET", "a", "-1" },
		{ "SET \"a\"TO\"b c\"", "SET", "a", "b c" },
		{ "SET a = \"x;y\"", "SET", "a", "x;y" },
		{ "SET a = ';'", "SET", "a", ";" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		check(&samples[i], true);
}

static void test_anything_else_is_invalid(void **state)
{
	static const char *const queries[] = { "", " ", ";", ";;", "RELOAD;;",
		"RELOAD; RELOAD", "SHOW POOLS x", "SHOW -- x", "SHOW POOLS,",
		"SHOW 'pools'", "SHOW\"POOLS\"", "PAUSE my-db", "PAUSE \"db",
		"PAUSE \"db\"\"", "\"RELOAD", "/* x */ RELOAD", "SET", "SET a",
		"SET a=", "SET a b", "SET a TO", "SET a = -1", "SET a = 1.5",
		"SET a = 'x", "SET a = 'x''", "SET a = x y", "SET =x",
		"SET a == b", "SETa = b", "SET a = b; c", "SHOW\vPOOLS" };
	struct admin_command cmd;

	(void)state;
	for (size_t i = 0; i < COUNT(queries); i++) {
		if (admin_parse(queries[i], NULL, &cmd) != ADMIN_PARSE_INVALID)
			fail_msg("not refused: %s", queries[i]);
	}
}

/* format with one %s, which takes n letters */
static enum admin_parse_result parse_filled(const char *format, int n,
    struct admin_command *cmd)
{
	char word[400], query[512];

	memset(word, 'x', sizeof word);
	word[n] = '\0';
	/* the formats are those below */
	snprintf(query, sizeof query, "%.*s%s%s",
	    (int)(strchr(format, '%') - format), format, word,
	    strchr(format, '%') + 1);
	return admin_parse(query, NULL, cmd);
}

static void test_words_have_a_longest_length(void **state)
{
	static const struct {
		const char *format;
		int longest;
	} samples[] = {
		{ "%", 15 },
		{ "\"%\"", 15 },
		{ "PAUSE %", 63 },
		{ "PAUSE \"%\"", 63 },
		{ "SET % = 1", 63 },
		{ "SET a = %", 255 },
		{ "SET a = '%'", 255 },
	};
	struct admin_command cmd;

	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++) {
		assert_int_equal(parse_filled(samples[i].format,
		    samples[i].longest, &cmd), ADMIN_PARSE_OK);
		assert_int_equal(parse_filled(samples[i].format,
		    samples[i].longest + 1, &cmd), ADMIN_PARSE_TOO_LONG);
	}
}

static void test_length_counts_after_unquoting(void **state)
{
	char query[256] = "PAUSE \"";
	struct admin_command cmd;

	(void)state;
	for (int i = 0; i < 63; i++)
		memcpy(query + 7 + 2 * i, "\"\"", 3);
	memcpy(query + 7 + 2 * 63, "\"", 2);
	assert_int_equal(admin_parse(query, NULL, &cmd), ADMIN_PARSE_OK);
	assert_int_equal(strlen(cmd.arg), 63);
}

static void test_empty_key_is_a_bad_argument(void **state)
{
	struct admin_command cmd;

	(void)state;
	assert_int_equal(admin_parse("SET \"\" = 1", NULL, &cmd),
	    ADMIN_PARSE_TOO_LONG);
}

static void test_syntax_is_judged_before_length(void **state)
{
	struct admin_command cmd;

	(void)state;
	assert_int_equal(admin_parse("ABCDEFGHIJKLMNOPQRST a b", NULL, &cmd),
	    ADMIN_PARSE_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command_takes_at_most_one_argument),
		cmocka_unit_test(test_set_takes_key_and_value),
		cmocka_unit_test(test_anything_else_is_invalid),
		cmocka_unit_test(test_words_have_a_longest_length),
		cmocka_unit_test(test_length_counts_after_unquoting),
		cmocka_unit_test(test_empty_key_is_a_bad_argument),
		cmocka_unit_test(test_syntax_is_judged_before_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
