/* test_proxy_header.c - the PROXY protocol, versions 1 and 2.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/proxy_header.h"

#define V2 "\r\n\r\n\0\r\nQUIT\n"
#define IPV4 "\xc0\x00\x02\x07" "\x7f\x00\x00\x01" "\x30\x39" "\x15\x38"
#define IPV6 "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01" "\x30\x39" "\x15\x38"
#define MAPPED "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x07" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01" "\x30\x39" "\x15\x38"

struct sample {
	const char *bytes;
	size_t len;
	enum proxy_kind kind;
	const char *source;	/* PASSED */
};
#define S(text, ...) { text, sizeof text - 1, __VA_ARGS__ }

/* A copy of exactly that size, so that a byte too many is seen by ASan. */
static struct proxy_header peek(const char *bytes, size_t n)
{
	uint8_t *const copy = malloc(n > 0 ? n : 1);

	assert_non_null(copy);
	if (n > 0)
		memcpy(copy, bytes, n);
	const struct proxy_header h = proxy_header_peek(copy, n);

	free(copy);
	return h;
}

static const struct sample whole[] = {
	S("PROXY TCP4 192.0.2.7 127.0.0.1 12345 5432\r\n", PROXY_PASSED,
	    "192.0.2.7:12345"),
	S("PROXY TCP6 2001:db8::7 ::1 12345 5432\r\n", PROXY_PASSED,
	    "[2001:db8::7]:12345"),
	S("PROXY TCP6 ::ffff:192.0.2.7 ::1 1 2\r\n", PROXY_PASSED,
	    "192.0.2.7:1"),
	S("PROXY UNKNOWN\r\n", PROXY_LOCAL, NULL),
	S("PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535 x y\r\n",
	    PROXY_LOCAL, NULL),
	S(V2 "\x21\x11\x00\x0c" IPV4, PROXY_PASSED, "192.0.2.7:12345"),
	S(V2 "\x21\x21\x00\x24" IPV6, PROXY_PASSED, "[2001:db8::7]:12345"),
	S(V2 "\x21\x21\x00\x24" MAPPED, PROXY_PASSED, "192.0.2.7:12345"),
	/* with a TLV behind the addresses */
	S(V2 "\x21\x11\x00\x10" IPV4 "\x04\x00\x01\x00", PROXY_PASSED,
	    "192.0.2.7:12345"),
	S(V2 "\x20\x00\x00\x00", PROXY_LOCAL, NULL),
	S(V2 "\x20\x11\x00\x0c" IPV4, PROXY_LOCAL, NULL),
	S(V2 "\x21\x00\x00\x03" "abc", PROXY_LOCAL, NULL),
	S(V2 "\x21\x31\x00\x00", PROXY_LOCAL, NULL),
};

static void test_header_ends_where_it_says(void **state)
{
	(void)state;

	char text[NET_TEXT_MAX], more[256];

	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		const struct sample *const s = &whole[i];

		memcpy(more, s->bytes, s->len);
		memcpy(more + s->len, "\0\0\0\x08", 4);
		const struct proxy_header h = peek(more, s->len + 4);

		assert_int_equal(h.kind, s->kind);
		assert_int_equal(h.size, s->len);
		if (s->source != NULL)
			assert_string_equal(net_format(&h.source, text,
			    sizeof text), s->source);
	}
}

static void test_each_part_of_a_header_is_short(void **state)
{
	(void)state;

	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		for (size_t n = 0; n < whole[i].len; n++)
			assert_int_equal(peek(whole[i].bytes, n).kind,
			    PROXY_SHORT);
}

static void test_broken_header_is_told(void **state)
{
	(void)state;

	static const struct sample broken[] = {
		S("PROXY \r\n", PROXY_BROKEN, NULL),
		S("PROXY TCP4\r\n", PROXY_BROKEN, NULL),
		S("PROXY TCP4 192.0.2.7 127.0.0.1 12345 5432\n",
		    PROXY_BROKEN, NULL),
		S("PROXY TCP4 192.0.2.7 127.0.0.1 12345\r\n",
		    PROXY_BROKEN, NULL),
		S("PROXY TCP4 192.0.2.7 127.0.0.1 12345 5432 1\r\n",
		    PROXY_BROKEN, NULL),
		S("PROXY TCP4  192.0.2.7 127.0.0.1 12345 5432\r\n",
		    PROXY_BROKEN, NULL),
		S("PROXY TCP4 2001:db8::7 ::1 12345 5432\r\n", PROXY_BROKEN,
		    NULL),
		S("PROXY TCP6 192.0.2.7 ::1 12345 5432\r\n", PROXY_BROKEN,
		    NULL),
		S("PROXY TCP4 192.0.2.7 127.0.0.1 65536 5432\r\n",
		    PROXY_BROKEN, NULL),
		S("PROXY TCP4 192.0.2.7 127.0.0.1 -1 5432\r\n", PROXY_BROKEN,
		    NULL),
		S("PROXY TCP4 192.0.2.7 nobody 1 5432\r\n", PROXY_BROKEN,
		    NULL),
		S("PROXY TCP4 192.0.2.7\0 127.0.0.1 1 5432\r\n",
		    PROXY_BROKEN, NULL),
		S("PROXY UDP4 192.0.2.7 127.0.0.1 1 5432\r\n", PROXY_BROKEN,
		    NULL),
		S("PROXY TCP4 0000000000000000000000000000000000000000000000"
		    "000000000000000000000000000000000000000000000000000",
		    PROXY_BROKEN, NULL),
		/* another version, command, family; too short; too long */
		S(V2 "\x31\x11\x00\x0c" IPV4, PROXY_BROKEN, NULL),
		S(V2 "\x22\x11\x00\x0c" IPV4, PROXY_BROKEN, NULL),
		S(V2 "\x21\x12\x00\x0c" IPV4, PROXY_BROKEN, NULL),
		S(V2 "\x21\x41\x00\x0c" IPV4, PROXY_BROKEN, NULL),
		S(V2 "\x21\x11\x00\x0b" IPV4, PROXY_BROKEN, NULL),
		S(V2 "\x21\x21\x00\x23" IPV6, PROXY_BROKEN, NULL),
		S(V2 "\x21\x11\x0f\xf1" IPV4, PROXY_BROKEN, NULL),
	};

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		const struct proxy_header h =
		    peek(broken[i].bytes, broken[i].len);

		if (h.kind != PROXY_BROKEN)
			print_message("sample %zu is %d\n", i, h.kind);
		assert_int_equal(h.kind, PROXY_BROKEN);
	}
}

static void test_other_first_bytes_are_no_header(void **state)
{
	(void)state;

	static const struct sample other[] = {
		S("\0\0\0\x08\x04\xd2\x16\x2f", PROXY_OTHER, NULL),
		S("\x16\x03\x01", PROXY_OTHER, NULL),
		S("PROXX", PROXY_OTHER, NULL),
		S("\r\n\r\n\r", PROXY_OTHER, NULL),
		S("p", PROXY_OTHER, NULL),
	};

	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		assert_int_equal(peek(other[i].bytes, other[i].len).kind,
		    PROXY_OTHER);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header_ends_where_it_says),
		cmocka_unit_test(test_each_part_of_a_header_is_short),
		cmocka_unit_test(test_broken_header_is_told),
		cmocka_unit_test(test_other_first_bytes_are_no_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
