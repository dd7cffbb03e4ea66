/* test_toml.c - what is read, what is refused, and in which line.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/facts.h"
#include "ctl/toml.h"

/* "scope/key=value@line" of each, or what is wrong. */
static const char *read_all(const char *text, char *buf, size_t size)
{
	struct facts f = { 0 };
	struct err e;
	struct text t;

	text_init(&t, buf, size);
	if (toml_read(text, &f, &e) < 0)
		text_addf(&t, "!%s", e.text);
	else for (size_t i = 0; i < f.count; i++)
		text_addf(&t, "%s%s/%s=%s@%u", i > 0 ? " " : "", f.at[i].scope,
		    f.at[i].key, f.at[i].value, f.at[i].line);
	facts_fini(&f);
	for (char *at = buf; *at != '\0'; at++) {
		if (*at == FACT_SEP[0])
			*at = '.';
	}
	return buf;
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ "", "" },
	{ "# nothing", "" },
	{ "a = 1", "/a=1@1" },
	{ "\n[t] # c\na = \"x\" # c\n", "t/a=x@3" },
	{ "[a.b]\nc = true", "a.b/c=true@2" },
	{ "[a.\"b c\".'d']\ne.f = 1", "a.b c.d.e/f=1@2" },
	{ "a = 15_000\r\nb = -1.5", "/a=15000@1 /b=-1.5@2" },
	{ "a = \"\\\"q\\\"\\\\\"", "/a=\"q\"\\@1" },
	{ "a = 'it\\n'", "/a=it\\n@1" },
	{ "a = [[\"h\", 1],\n # c\n [\"i\", 2,],]",
	    "/a=h@1 /a=1@1 /a=i@3 /a=2@3" },
	{ "a = { b = 1, \"c\" = { d = \"x\" } }", "a/b=1@1 a.c/d=x@1" },
	{ "a = []", "" },
	{ "a", "!line 1: no = behind a key" },
	{ "\na =", "!line 2: no value" },
	{ "a = 1 2", "!line 1: more behind a value" },
	{ "a = \"x", "!line 1: a string does not end" },
	{ "a = \"\"\"x\"\"\"", "!line 1: a string of several lines" },
	{ "a = \"\\u0041\"", "!line 1: an escape that cannot be read" },
	{ "a = \"\\n\"", "!line 1: a control character" },
	{ "a = [1", "!line 1: an array does not end" },
	{ "a = { b = 1", "!line 1: an inline table does not end" },
	{ "[[a]]", "!line 1: an array of tables" },
	{ "[a", "!line 1: no ] behind the name of a table" },
	{ "= 1", "!line 1: no key where one must be" },
	{ "a = [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
	    "!line 1: nested too deeply" },
};

static void test_texts_are_read_or_refused(void **state)
{
	char buf[4096];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_string_equal(read_all(rows[i].text, buf, sizeof buf),
		    rows[i].want);
}

/* Every beginning of a good text is read or refused, and nothing else. */
static void test_torn_texts_end(void **state)
{
	char buf[4096];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (size_t len = 0; len < strlen(rows[i].text); len++) {
			char *const torn = strndup(rows[i].text, len);

			read_all(torn, buf, sizeof buf);
			free(torn);
		}
	}
}

static void test_want_of_memory_is_told(void **state)
{
	char buf[4096];

	(void)state;
	for (unsigned long n = 1; n <= 4; n++) {
		mem_fail_at(n);
		assert_string_equal(read_all("a = 1", buf, sizeof buf),
		    "!out of memory");
		mem_fail_at(0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts_are_read_or_refused),
		cmocka_unit_test(test_torn_texts_end),
		cmocka_unit_test(test_want_of_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
