/* test_tls_context.c - the words of *_tls_protocols.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/tls_parts.h"

#define ALL (TLS_V1_0 | TLS_V1_1 | TLS_V1_2 | TLS_V1_3)
#define SECURE (TLS_V1_2 | TLS_V1_3)

static void test_words_make_a_set(void **state)
{
	static const struct {
		const char *text;
		unsigned set;
	} rows[] = {
		{ NULL, SECURE },
		{ "", SECURE },
		{ "secure", SECURE },
		{ "DEFAULT", SECURE },
		{ "all", ALL },
		{ "tlsv1", ALL },
		{ "legacy", ALL },
		{ "TLSv1.0", TLS_V1_0 },
		{ "tlsv1.1,tlsv1.3", TLS_V1_1 | TLS_V1_3 },
		{ "tlsv1.2:tlsv1.3", SECURE },
		{ "tlsv1.2, tlsv1.3", SECURE },
		{ "all,!tlsv1.0", ALL & ~TLS_V1_0 },
		{ "!tlsv1.3", ALL & ~TLS_V1_3 },
		{ "!tlsv1.0,!tlsv1.1", SECURE },
		{ "secure:!tlsv1.2", TLS_V1_3 },
		{ "tlsv1.2,!tlsv1.2,tlsv1.3", TLS_V1_3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		unsigned set = 0;

		assert_int_equal(tls_protocols_parse(rows[i].text, &set), 0);
		assert_int_equal(set, rows[i].set);
	}
}

static void test_other_words_are_refused(void **state)
{
	static const char *const bad[] = {
		"tlsv1.4", "sslv3", "tlsv1.2,", ",tlsv1.2", "tlsv1.2 ",
		"tlsv1.2;tlsv1.3", "!", "all,!all", "tlsv1.2 ,tlsv1.3", " ",
		"tlsv1.", "!!tlsv1.2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		unsigned set = 77;

		assert_int_equal(tls_protocols_parse(bad[i], &set), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_make_a_set),
		cmocka_unit_test(test_other_words_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
