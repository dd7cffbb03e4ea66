/* traceparent.c - the trace that a statement says it belongs to.
 * SPDX-License-Identifier: ISC */
#include "proto/traceparent.h"

#include <stdint.h>
#include <string.h>

#define REACH 2048	/* bytes from either end in which a comment is looked for */

static const char form[] =
    "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";

_Static_assert(sizeof form == TRACEPARENT_BYTES, "the form is not as long");

/* Text that is left to read. */
struct span {
	const char *at, *end;
};

static bool traceparent_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool traceparent_is_next(const struct span *s, const char *text,
    size_t n)
{
	return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

static void traceparent_skip_blanks(struct span *s)
{
	while (s->at < s->end && traceparent_is_blank(*s->at))
		s->at++;
}

/* --- the value --- */

/* A hex digit in any case, or -1. */
static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of a URL-encoded value; NUL: there is none. */
static char take_byte(struct span *s)
{
	if (s->at == s->end)
		return '\0';
	if (*s->at != '%')
		return *s->at++;
	const int high = s->end - s->at < 3 ? -1 : digit(s->at[1]);
	const int low = high < 0 ? -1 : digit(s->at[2]);

	if (low < 0)
		return '\0';
	s->at += 3;
	return (char)(high * 16 + low);
}

static bool is_zero(const char *at, size_t n)
{
	return strspn(at, "0") >= n;
}

/* (W3C Trace Context, section 3.2.2) */
static bool is_valid(const char *value)
{
	return memcmp(value, "ff", 2) != 0 && !is_zero(value + 3, 32) &&
	    !is_zero(value + 36, 16);
}

bool traceparent_read(const char *value, size_t n, char *out)
{
	struct span s = { value, value + n };

	for (size_t i = 0; form[i] != '\0'; i++) {
		const char c = take_byte(&s);

		if (form[i] == '-' ? c != '-' : !is_hex(c))
			return false;
		out[i] = c;
	}
	out[TRACEPARENT_BYTES - 1] = '\0';
	return s.at < s.end && *s.at == '\'' && is_valid(out);
}

/* --- where it stands --- */

/* --- where it stands --- */

/* Behind the value that s is in, and the comma behind that. */
static void skip_pair(struct span *s)
{
	const char *const comma = memchr(s->at, ',', (size_t)(s->end - s->at));

	s->at = comma == NULL ? s->end : comma + 1;
}

/* key='value',key='value' (sqlcommenter: a comma in a value is %2C) */
static const char *seek_in(struct span s, size_t *len)
{
	static const char key[] = "traceparent='";

	while (s.at < s.end) {
		traceparent_skip_blanks(&s);
		if (traceparent_is_next(&s, key, sizeof key - 1)) {
			s.at += sizeof key - 1;
			*len = (size_t)(s.end - s.at);
			return s.at;
		}
		skip_pair(&s);
	}
	return NULL;
}

static const char *seek_first(struct span s, size_t *len)
{
	traceparent_skip_blanks(&s);
	if (!traceparent_is_next(&s, "/*", 2))
		return NULL;
	s.at += 2;
	if (s.end - s.at > REACH)
		s.end = s.at + REACH;
	const char *const end = memmem(s.at, (size_t)(s.end - s.at), "*/", 2);

	if (end == NULL)
		return NULL;
	s.end = end;
	return seek_in(s, len);
}

/* A semicolon may follow the traceparent. */
static const char *seek_last(struct span s, size_t *len)
{
	while (s.end > s.at &&
	    (traceparent_is_blank(s.end[-1]) || s.end[-1] == ';'))
		s.end--;
	if (s.end - s.at < 4 || memcmp(s.end - 2, "*/", 2) != 0)
		return NULL;
	s.end -= 2;
	const char *const from = s.end - s.at > REACH ? s.end - REACH : s.at;

	for (const char *p = s.end;
	    (p = memrchr(from, '*', (size_t)(p - from))) != NULL;) {
		if (p == from || p[-1] != '/')
			continue;
		s.at = p + 1;
		return seek_in(s, len);
	}
	return NULL;
}

const char *traceparent_seek(const char *sql, size_t n, size_t *len)
{
	const struct span s = { sql, sql + strnlen(sql, n) };
	const char *const last = seek_last(s, len);

	return last != NULL ? last : seek_first(s, len);
}
