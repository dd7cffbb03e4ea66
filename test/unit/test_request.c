/* test_request.c - heads of HTTP requests: those that are answered, or not.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "http/request.h"

static char buf[1024];
static struct request r;
static size_t used;

static int parse(const char *text)
{
	text_copy(buf, sizeof buf, text);
	used = 0;
	return request_parse(buf, strlen(text), &r, &used);
}

static void test_get_with_fields_is_taken_apart(void **state)
{
	(void)state;

	const char text[] = "GET /readyz?database=a%20b HTTP/1.1\r\n"
	    "Host: evil\r\nACCEPT:  text/plain \r\n"
	    "Authorization: Bearer x\r\n\r\nGET";

	assert_int_equal(parse(text), REQUEST_READY);
	assert_int_equal(used, strlen(text) - 3);
	assert_memory_equal(buf + used, "GET", 3);
	assert_string_equal(r.path, "/readyz");
	assert_string_equal(r.query, "database=a%20b");
	assert_string_equal(r.accept, "text/plain");
	assert_string_equal(r.authorization, "Bearer x");
	assert_true(r.keep && r.chunks && !r.head);
}

static void test_old_version_and_close_end_the_connection(void **state)
{
	(void)state;

	assert_int_equal(parse("HEAD / HTTP/1.0\r\n\r\n"), REQUEST_READY);
	assert_true(r.head && !r.keep && !r.chunks);
	assert_int_equal(parse("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"),
	    REQUEST_READY);
	assert_true(!r.keep && r.chunks);
	assert_string_equal(r.accept, "");
	assert_string_equal(r.query, "");
	parse("GET / HTTP/1.1\r\nConnection: keep-alive ,\tCLOSE\r\n\r\n");
	assert_false(r.keep);
	parse("GET / HTTP/1.1\r\nConnection: , closed\r\n\r\n");
	assert_true(r.keep);
}

static void test_what_a_proxy_passes_on_is_known(void **state)
{
	static const char *const names[] = { "Forwarded", "via",
		"X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Port",
		"X-Forwarded-Proto", "X-Forwarded-Server", "X-Real-IP" };
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(text, sizeof text, "GET / HTTP/1.1\r\n%s:\r\n\r\n",
		    names[i]);
		assert_int_equal(parse(text), REQUEST_READY);
		assert_true(r.forwarded);
	}
	parse("GET / HTTP/1.1\r\nForward: x\r\n\r\n");
	assert_false(r.forwarded);
}

static void test_part_of_a_head_is_left_alone(void **state)
{
	(void)state;

	const char whole[] = "GET / HTTP/1.1\r\nA: b\r\n\r\n";

	for (size_t n = 0; n < strlen(whole); n++) {
		memcpy(buf, whole, sizeof whole);
		assert_int_equal(request_parse(buf, n, &r, &used),
		    REQUEST_MORE);
		assert_memory_equal(buf, whole, sizeof whole);
	}
}

static void test_what_is_not_answered_has_its_status(void **state)
{
	(void)state;

	static const struct {
		const char *text;
		int status;
	} rows[] = {
		{ "\r\n\r\n", 400 },
		{ "GET\r\n\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n\r\n", 400 },
		{ "GET http://a/ HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1 x\r\n\r\n", 505 },
		{ "GET / HTTP/2.0\r\n\r\n", 505 },
		{ "GET / ftp\r\n\r\n", 400 },
		{ "POST / HTTP/1.1\r\n\r\n", 405 },
		{ "get / HTTP/1.1\r\n\r\n", 405 },
		{ "GET / HTTP/1.1\r\nno colon\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n: x\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nContent-Length : 5\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA\t: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA B: c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost:\r\nhost: a\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: b\nB: c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: b\rB: c\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA: \x01\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 413 },
		{ "GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 200 },
		{ "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 413 },
		{ "GET / HTTP/1.1\r\nAuthorization:\r\nAuthorization: b"
		    "\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b"
		  "\r\n\r\n", 400 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		assert_int_equal(parse(rows[i].text), rows[i].status);
}

static void test_parameters_are_decoded(void **state)
{
	(void)state;

	char out[8];

	parse("GET /?a=1&database=x%2By+z&e=&bad=%4&nul=%00 HTTP/1.1\r\n\r\n");
	assert_true(request_parameter(&r, "database", out, sizeof out));
	assert_string_equal(out, "x+y z");
	assert_true(request_parameter(&r, "a", out, sizeof out));
	assert_string_equal(out, "1");
	assert_true(request_parameter(&r, "e", out, sizeof out));
	assert_string_equal(out, "");
	assert_false(request_parameter(&r, "bad", out, sizeof out));
	assert_false(request_parameter(&r, "nul", out, sizeof out));
	assert_false(request_parameter(&r, "data", out, sizeof out));
	assert_false(request_parameter(&r, "database", out, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_with_fields_is_taken_apart),
		cmocka_unit_test(test_old_version_and_close_end_the_connection),
		cmocka_unit_test(test_what_a_proxy_passes_on_is_known),
		cmocka_unit_test(test_part_of_a_head_is_left_alone),
		cmocka_unit_test(test_what_is_not_answered_has_its_status),
		cmocka_unit_test(test_parameters_are_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
