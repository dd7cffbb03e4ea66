/* test_connstr.c - key=value pairs: spec/config-files.md section 2.
 * SPDX-License-Identifier: ISC */
#include "conf/connstr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/text.h"

/* All pairs as "<key><value>", then "." at the end or "!" at an error. */
static const char *pairs_of(const char *text, char *buf, size_t size)
{
	char *const copy = test_malloc(strlen(text) + 1);
	struct connstr c;
	struct connstr_pair p;
	struct err e = { 0 };
	struct text out;
	enum connstr_step step;

	memcpy(copy, text, strlen(text) + 1);
	text_init(&out, buf, size);
	connstr_init(&c, copy);
	while ((step = connstr_next(&c, &p, &e)) == CONNSTR_PAIR)
		text_addf(&out, "<%s><%s>", p.key, p.value);
	text_add(&out, step == CONNSTR_END ? "." : "!");
	if (step == CONNSTR_BAD)
		assert_memory_equal(e.text,
		    "syntax error in connection string", 33);
	/* Neither the end nor an error is ever followed by something. */
	assert_int_equal(connstr_next(&c, &p, &e), CONNSTR_END);
	test_free(copy);
	return buf;
}

static const struct {
	const char *text, *want;
} rows[] = {
	{ "", "." },
	{ "   ", "." },
	{ "host=a port=1", "<host><a><port><1>." },
	{ "  host =  a   port= 1  ", "<host><a><port><1>." },
	{ "host=a\tport=1", "<host><a\tport=1>." },
	{ "Host=a x.y=b", "<Host><a><x.y><b>." },
	{ "a=b=c", "<a><b=c>." },
	{ "a=b'c\\", "<a><b'c\\>." },
	{ "a='b c'", "<a><b c>." },
	{ "a='it''s' b=c", "<a><it's><b><c>." },
	{ "a='''' b=c", "<a><'><b><c>." },
	{ "a='\\' b='c'", "<a><\\><b><c>." },
	{ "a='b'  c=d", "<a><b><c><d>." },
	{ "a='b'xc=d", "<a><b><c><d>." },
	{ "a='b'", "<a><b>." },
	{ "a=1 a=2", "<a><1><a><2>." },
	{ "host= port=5", "<host><port=5>." },
	{ "a=''", "!" },
	{ "a='' b=c", "!" },
	{ "a=", "!" },
	{ "a=b c=  ", "<a><b>!" },
	{ "a='b", "!" },
	{ "a='b''", "!" },
	{ "a", "!" },
	{ "a b=c", "!" },
	{ "=b", "!" },
	{ "a=b c", "<a><b>!" },
};

static void test_each_row_of_the_table(void **state)
{
	char buf[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(pairs_of(rows[i].text, buf, sizeof(buf)),
		    rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_row_of_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
