/* test_bearer.c - responses of OAUTHBEARER, right and broken.
 * SPDX-License-Identifier: ISC */
#include "proto/bearer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/msg.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

/* A string that has a NUL in it, or none behind it. */
#define TEXT(s) s, sizeof(s) - 1

static void test_response_is_read_as_by_postgresql(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		enum bearer_kind kind;
		const char *said;	/* the token, or a part of why */
	} rows[] = {
		{ TEXT("n,,\1auth=Bearer abc\1\1"), BEARER_TOKEN, "abc" },
		{ TEXT("y,,\1auth=Bearer abc\1\1"), BEARER_TOKEN, "abc" },
		{ TEXT("n,,\1auth=bEARER   a.b_c-~+/==\1\1"), BEARER_TOKEN,
		    "a.b_c-~+/==" },
		{ TEXT("n,,\1host=a\1port=1\1auth=Bearer abc\1x=\1\1"),
		    BEARER_TOKEN, "abc" },
		{ TEXT("n,,\1auth=\1\1"), BEARER_ASKS, "" },
		{ TEXT("n,,\1auth=Bearer\1\1"), BEARER_OTHER, "not Bearer" },
		{ TEXT("n,,\1auth=Bearer \1\1"), BEARER_OTHER, "empty" },
		{ TEXT("n,,\1auth=Bearer    \1\1"), BEARER_OTHER, "empty" },
		{ TEXT("n,,\1auth=Basic abc\1\1"), BEARER_OTHER, "not Bearer" },
		{ TEXT("n,,\1auth=B\1\1"), BEARER_OTHER, "not Bearer" },
		{ TEXT("n,,\1auth=Bearer a b\1\1"), BEARER_OTHER,
		    "not allowed" },
		{ TEXT("n,,\1auth=Bearer a=b\1\1"), BEARER_OTHER,
		    "not allowed" },
		{ TEXT("n,,\1auth=Bearer ==\1\1"), BEARER_OTHER,
		    "not allowed" },
		{ TEXT(""), BEARER_MALFORMED, "is empty" },
		{ TEXT("n,,\1auth=Bearer a\0\1\1"), BEARER_MALFORMED,
		    "does not match input length" },
		{ TEXT("p=tls-exporter,,\1auth=Bearer a\1\1"),
		    BEARER_MALFORMED, "channel binding data" },
		{ TEXT("x,,\1auth=Bearer a\1\1"), BEARER_MALFORMED,
		    "channel-binding flag" },
		{ TEXT("n"), BEARER_MALFORMED, "Comma expected" },
		{ TEXT("n\1"), BEARER_MALFORMED, "Comma expected" },
		{ TEXT("n,"), BEARER_MALFORMED, "Unexpected attribute" },
		{ TEXT("n,a=ann,\1auth=Bearer a\1\1"), BEARER_MALFORMED,
		    "authorization identity" },
		{ TEXT("n,x"), BEARER_MALFORMED, "Unexpected attribute" },
		{ TEXT("n,,"), BEARER_MALFORMED, "separator expected" },
		{ TEXT("n,,auth=Bearer a\1\1"), BEARER_MALFORMED,
		    "separator expected" },
		{ TEXT("n,,\1"), BEARER_MALFORMED, "final terminator" },
		{ TEXT("n,,\1\1"), BEARER_MALFORMED, "an auth value" },
		{ TEXT("n,,\1host=a\1\1"), BEARER_MALFORMED, "an auth value" },
		{ TEXT("n,,\1auth=Bearer a"), BEARER_MALFORMED,
		    "unterminated" },
		{ TEXT("n,,\1auth=Bearer a\1"), BEARER_MALFORMED,
		    "final terminator" },
		{ TEXT("n,,\1auth=Bearer a\1\1x"), BEARER_MALFORMED,
		    "additional data" },
		{ TEXT("n,,\1auth=Bearer a\1auth=Bearer b\1\1"),
		    BEARER_MALFORMED, "multiple auth" },
		{ TEXT("n,,\1auth=\1auth=Bearer b\1\1"), BEARER_MALFORMED,
		    "multiple auth" },
		{ TEXT("n,,\1auth\1\1"), BEARER_MALFORMED, "without a value" },
		{ TEXT("n,,\1=Bearer a\1\1"), BEARER_MALFORMED,
		    "empty key name" },
		{ TEXT("n,,\1au1h=Bearer a\1\1"), BEARER_MALFORMED,
		    "invalid key name" },
		{ TEXT("n,,\1auth=Bearer \xc3\xa9\1\1"), BEARER_MALFORMED,
		    "invalid value" },
		{ TEXT("n,,\1auth=Bearer \x7f\1\1"), BEARER_MALFORMED,
		    "invalid value" },
		{ TEXT("\1"), BEARER_MALFORMED, "channel-binding flag" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		/* exactly as long as it is: the sanitizer sees a byte too far */
		char *copy = malloc(rows[i].len + (rows[i].len == 0));
		struct bearer b;

		memcpy(copy, rows[i].text, rows[i].len);
		const enum bearer_kind kind = bearer_read(&b, copy,
		    rows[i].len);

		if (kind != rows[i].kind)
			fail_msg("row %zu: %d: %s", i, (int)kind, b.why.text);
		if (kind == BEARER_TOKEN) {
			assert_int_equal(b.len, strlen(rows[i].said));
			assert_memory_equal(b.token, rows[i].said, b.len);
		} else if (strstr(b.why.text, rows[i].said) == NULL &&
		    strstr(b.detail, rows[i].said) == NULL) {
			fail_msg("row %zu: %s %s", i, b.why.text, b.detail);
		}
		free(copy);
	}
}

static void test_refusals_have_the_codes_of_postgresql(void **state)
{
	struct bearer b;

	(void)state;
	bearer_read(&b, TEXT("n,a=x,\1auth=Bearer a\1\1"));
	assert_string_equal(b.why.code, "0A000");
	bearer_read(&b, TEXT("x"));
	assert_string_equal(b.why.code, "08P01");
}

static void assert_status(const char *issuer, const char *expected)
{
	struct writer w;

	writer_init(&w, 1024);
	bearer_write_status(&w, issuer, "openid sql");
	assert_int_equal(w.len, strlen(expected));
	assert_memory_equal(w.at, expected, w.len);
	writer_fini(&w);
}

static void test_status_says_where_a_token_can_be_had(void **state)
{
	(void)state;
	assert_status("https://i.example", "{ \"status\": \"invalid_token\", "
	    "\"openid-configuration\": "
	    "\"https://i.example/.well-known/openid-configuration\", "
	    "\"scope\": \"openid sql\" }");
	/* a discovery URL stands as it is */
	assert_status("https://i.example/.well-known/x",
	    "{ \"status\": \"invalid_token\", \"openid-configuration\": "
	    "\"https://i.example/.well-known/x\", \"scope\": \"openid sql\" }");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_response_is_read_as_by_postgresql),
		cmocka_unit_test(test_refusals_have_the_codes_of_postgresql),
		cmocka_unit_test(test_status_says_where_a_token_can_be_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
