/* test_password.c - RFC 4013's examples, and what PostgreSQL does with them.
 * SPDX-License-Identifier: ISC */
#include "proto/password.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crypto.h"
#include "base/mem.h"

struct example {
	const char *in, *out;
};

static void expect(const struct example *examples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *out = saslprep(examples[i].in);
		assert_non_null(out);
		assert_string_equal(out, examples[i].out);
		secret_free(out);
	}
}

#define EXPECT(examples) expect(examples, sizeof examples / sizeof *examples)

static void test_ascii_is_kept_whatever_it_holds(void **state)
{
	static const struct example examples[] = {
		{ "", "" },
		{ "user", "user" },
		{ "USER", "USER" },
		{ " a, b= ", " a, b= " },
		{ "tab\there\x7f", "tab\there\x7f" },
	};

	(void)state;
	EXPECT(examples);
}

/* RFC 4013 §3 */
static void test_examples_of_the_rfc_are_mapped(void **state)
{
	static const struct example examples[] = {
		{ "I\xc2\xadX", "IX" },
		{ "\xc2\xaa", "a" },
		{ "\xe2\x85\xa8", "IX" },
	};

	(void)state;
	EXPECT(examples);
}

static void test_spaces_of_unicode_become_ascii_spaces(void **state)
{
	static const struct example examples[] = {
		{ "a\xc2\xa0"
		  "b",
		    "a b" },
		{ "a\xe3\x80\x80"
		  "b",
		    "a b" },
		{ "a\xe2\x80\x8b"
		  "b",
		    "a b" },
	};

	(void)state;
	EXPECT(examples);
}

static void test_decomposed_text_is_composed(void **state)
{
	static const struct example examples[] = {
		{ "e\xcc\x81", "\xc3\xa9" },
		{ "\xef\xac\x81", "fi" },
	};

	(void)state;
	EXPECT(examples);
}

static void test_forbidden_characters_leave_the_password_raw(void **state)
{
	static const struct example examples[] = {
		/* a control character beside one that would be mapped */
		{ "\x07\xc2\xaa", "\x07\xc2\xaa" },
		/* RFC 3454 §6: right-to-left text must end so as well */
		{ "\xd8\xa7\x31\xc2\xad", "\xd8\xa7\x31\xc2\xad" },
		/* private use, and a code point unassigned in Unicode 3.2 */
		{ "\xee\x80\x80\xc2\xaa", "\xee\x80\x80\xc2\xaa" },
		{ "\xc8\xa1\xc2\xaa", "\xc8\xa1\xc2\xaa" },
	};

	(void)state;
	EXPECT(examples);
}

/* These are allowed, or not, only by what they are before normalisation. */
static void test_checks_precede_normalisation_as_in_postgresql(void **state)
{
	static const struct example examples[] = {
		{ "a\xcd\x80", "a\xcd\x80" },	  /* U+0340 */
		{ "a\xe2\x84\xb5", "a\xd7\x90" }, /* U+2135 */
	};

	(void)state;
	EXPECT(examples);
}

/* Unicode Corrigendum 4, U+2F868 and U+2F9BF */
static void test_corrected_ideographs_are_mapped_as_in_postgresql(void **state)
{
	static const struct example examples[] = {
		{ "\xf0\xaf\xa1\xa8", "\xe3\x9b\xbc" },
		{ "\xf0\xaf\xa6\xbf", "\xe4\x97\x97" },
	};

	(void)state;
	EXPECT(examples);
}

static void test_text_that_is_not_utf8_stays_raw(void **state)
{
	static const struct example examples[] = {
		{ "\xff", "\xff" },
		{ "\xc2\xaa\xc2", "\xc2\xaa\xc2" },
		{ "\xc0\x80\xc2\xaa", "\xc0\x80\xc2\xaa" },
		{ "\xed\xa0\x80\xc2\xaa", "\xed\xa0\x80\xc2\xaa" },
		{ "\xf4\x90\x80\x80\xc2\xaa", "\xf4\x90\x80\x80\xc2\xaa" },
	};

	(void)state;
	EXPECT(examples);
}

static void test_password_that_would_become_empty_stays_raw(void **state)
{
	static const struct example examples[] = {
		{ "\xc2\xad", "\xc2\xad" },
	};

	(void)state;
	EXPECT(examples);
}

/* Soft hyphens (dropped), each two bytes, so many of them and an x. */
static char *hyphens_and_x(size_t n)
{
	char *s = mem_alloc(2 * n + 2);

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		memcpy(s + 2 * i, "\xc2\xad", 2);
	memcpy(s + 2 * n, "x", 2);
	return s;
}

static void test_password_at_the_limit_is_prepared(void **state)
{
	char *in = hyphens_and_x((SASLPREP_BYTES_MAX - 1) / 2);
	char *out = saslprep(in);

	(void)state;
	assert_string_equal(out, "x");
	secret_free(out);
	secret_free(in);
}

static void test_password_beyond_the_limit_stays_raw(void **state)
{
	char *in = hyphens_and_x(SASLPREP_BYTES_MAX / 2);
	char *out = saslprep(in);

	(void)state;
	assert_string_equal(out, in);
	secret_free(out);
	secret_free(in);
}

static void test_every_failed_allocation_gives_null(void **state)
{
	static const char *const passwords[] = {
		"ascii",
		"e\xcc\x81",
		"\xff",
		"\x07\xc2\xaa",
	};

	(void)state;
	for (size_t i = 0; i < sizeof passwords / sizeof *passwords; i++) {
		mem_fail_at(0);
		secret_free(saslprep(passwords[i]));
		const unsigned long n = mem_fail_at(0);
		assert_true(n > 0);
		for (unsigned long nth = 1; nth <= n; nth++) {
			mem_fail_at(nth);
			char *out = saslprep(passwords[i]);
			mem_fail_at(0);
			assert_null(out);
		}
	}
}

/* CREATE ROLE postgres PASSWORD 'password' with password_encryption = md5 */
#define SECRET "md532e12f215ba27cb750c9e093ce4b5127"

static void test_secret_equals_what_postgresql_stores(void **state)
{
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_secret("password", "postgres", out), 0);
	assert_string_equal(out, SECRET);
}

static void test_secret_of_empty_password_is_that_of_the_name(void **state)
{
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_secret("", "a", out), 0);
	assert_string_equal(out, "md50cc175b9c0f1b6a831c399e269772661");
}

static void test_secret_of_long_password_is_computed(void **state)
{
	static char password[65531];
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	memset(password, 'x', sizeof password - 1);
	assert_int_equal(md5_secret(password, "u", out), 0);
	assert_true(md5_is_secret(out));
}

/* md5("32e1...5127" followed by the bytes 1 2 3 4) */
static void test_response_is_the_hash_of_hex_and_salt(void **state)
{
	static const uint8_t salt[4] = { 1, 2, 3, 4 };
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_response(SECRET, salt, out), 0);
	assert_string_equal(out, "md598511ceaec347a656f032c7f2a16ef17");
}

static void test_response_differs_for_another_salt(void **state)
{
	static const uint8_t a[4] = { 0, 0, 0, 0 }, b[4] = { 0, 0, 0, 1 };
	char out_a[MD5_SECRET_LEN + 1], out_b[MD5_SECRET_LEN + 1];

	(void)state;
	assert_int_equal(md5_response(SECRET, a, out_a), 0);
	assert_int_equal(md5_response(SECRET, b, out_b), 0);
	assert_string_not_equal(out_a, out_b);
}

static const char *const not_secrets[] = {
	"",
	"md5",
	"password",
	"md532e12f215ba27cb750c9e093ce4b512",
	"md532e12f215ba27cb750c9e093ce4b51270",
	"md532E12F215BA27CB750C9E093CE4B5127",
	"md532e12f215ba27cb750c9e093ce4b512g",
	"md432e12f215ba27cb750c9e093ce4b5127",
	"MD532e12f215ba27cb750c9e093ce4b5127",
};

static void test_text_of_another_form_is_no_secret(void **state)
{
	(void)state;
	assert_true(md5_is_secret(SECRET));
	for (size_t i = 0; i < sizeof not_secrets / sizeof *not_secrets; i++)
		assert_false(md5_is_secret(not_secrets[i]));
}

static void test_response_from_another_form_fails_and_is_empty(void **state)
{
	static const uint8_t salt[4] = { 1, 2, 3, 4 };
	char out[MD5_SECRET_LEN + 1];

	(void)state;
	for (size_t i = 0; i < sizeof not_secrets / sizeof *not_secrets; i++) {
		memset(out, 'x', sizeof out);
		assert_int_equal(md5_response(not_secrets[i], salt, out), -1);
		assert_string_equal(out, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ascii_is_kept_whatever_it_holds),
		cmocka_unit_test(test_examples_of_the_rfc_are_mapped),
		cmocka_unit_test(test_spaces_of_unicode_become_ascii_spaces),
		cmocka_unit_test(test_decomposed_text_is_composed),
		cmocka_unit_test(
		    test_forbidden_characters_leave_the_password_raw),
		cmocka_unit_test(
		    test_checks_precede_normalisation_as_in_postgresql),
		cmocka_unit_test(
		    test_corrected_ideographs_are_mapped_as_in_postgresql),
		cmocka_unit_test(test_text_that_is_not_utf8_stays_raw),
		cmocka_unit_test(
		    test_password_that_would_become_empty_stays_raw),
		cmocka_unit_test(test_password_at_the_limit_is_prepared),
		cmocka_unit_test(test_password_beyond_the_limit_stays_raw),
		cmocka_unit_test(test_every_failed_allocation_gives_null),
		cmocka_unit_test(test_secret_equals_what_postgresql_stores),
		cmocka_unit_test(
		    test_secret_of_empty_password_is_that_of_the_name),
		cmocka_unit_test(test_secret_of_long_password_is_computed),
		cmocka_unit_test(test_response_is_the_hash_of_hex_and_salt),
		cmocka_unit_test(test_response_differs_for_another_salt),
		cmocka_unit_test(test_text_of_another_form_is_no_secret),
		cmocka_unit_test(
		    test_response_from_another_form_fails_and_is_empty),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
