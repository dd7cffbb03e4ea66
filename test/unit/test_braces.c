/* test_braces.c - what is read, what is refused, and in which line.
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
#include "ctl/braces.h"
#include "ctl/facts.h"

/* "scope/key=value@line" of each, or what is wrong. */
static const char *read_all(const char *text, char *buf, size_t size)
{
	struct facts f = { 0 };
	struct err e;
	struct text t;

	text_init(&t, buf, size);
	if (braces_read(text, &f, &e) < 0)
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
	{ "a 1", "/a=1@1" },
	{ "a \"x y\" # c\nb no", "/a=x y@1 /b=no@2" },
	{ "listen { host \"*\" port 6432 }",
	    "listen/host=*@1 listen/port=6432@1" },
	{ "database \"shop\" {\n user default {\n  pool \"session\"\n }\n}\na 1",
	    "database.shop.user.default/pool=session@3 /a=1@6" },
	{ "a \"\\\"q\\\" \\d\"", "/a=\"q\" \\d@1" },
	{ "a \"x\" \"y\"\nb 1", "/a=x@1 /more of a=y@1 /b=1@2" },
	{ "a \"#{}\"", "/a=#{}@1" },
	{ "a", "!line 1: no value behind a key" },
	{ "a {", "!line 1: a { without a }" },
	{ "a 1\n}", "!line 2: a } without a {" },
	{ "\"a\" 1", "!line 1: no key where one must be" },
	{ "a \"x", "!line 1: a string does not end" },
	{ "a {a {a {a {a {a {a {a {a {a {a {a {a {a {a {a {a {",
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
		assert_string_equal(read_all("a 1", buf, sizeof buf),
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
