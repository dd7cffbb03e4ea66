/* json.c - JSON, written as it goes.
 * SPDX-License-Identifier: ISC */
#include "http/json.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proto/msg.h"

/* (RFC 8259 section 7) */
size_t json_character(const char **at, char out[JSON_CHARACTER])
{
	const char *const s = *at;
	const unsigned char c = (unsigned char)s[0];
	const size_t n = text_character(s);

	*at += n > 0 ? n : 1;
	if (n == 0)
		return (size_t)snprintf(out, JSON_CHARACTER, "\\ufffd");
	if (c == '"' || c == '\\')
		return (size_t)snprintf(out, JSON_CHARACTER, "\\%c", c);
	if (c < ' ' || c == 0x7f)
		return (size_t)snprintf(out, JSON_CHARACTER, "\\u%04x", c);
	memcpy(out, s, n);
	return n;
}

void json_put_raw(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s));
}

static bool json_is_plain(char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void json_put_string(struct writer *w, const char *s)
{
	if (s == NULL) {
		json_put_raw(w, "null");
		return;
	}
	writer_u8(w, '"');
	while (*s != '\0') {
		char out[JSON_CHARACTER];
		size_t n = 0;

		while (json_is_plain(s[n]))
			n++;
		writer_bytes(w, s, n);
		s += n;
		if (*s != '\0') {
			n = json_character(&s, out);
			writer_bytes(w, out, n);
		}
	}
	writer_u8(w, '"');
}

void json_put_number(struct writer *w, int64_t n)
{
	char buf[24];

	snprintf(buf, sizeof buf, "%" PRId64, n);
	json_put_raw(w, buf);
}

void json_put_unsigned(struct writer *w, uint64_t n)
{
	char buf[24];

	snprintf(buf, sizeof buf, "%" PRIu64, n);
	json_put_raw(w, buf);
}
