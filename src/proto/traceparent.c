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

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_next(const struct span *s, const char *text, size_t n)
{
	return (size_t)(s->end - s->at) >= n && memcmp(s->at, text, n) == 0;
}

static void skip_blanks(struct span *s)
{
	while (s->at < s->end && is_blank(*s->at))
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

static bool take_value(struct span *s, char *out)
{
	for (size_t i = 0; form[i] != '\0'; i++) {
		const char c = take_byte(s);

		if (form[i] == '-' ? c != '-' : !is_hex(c))
			return false;
		out[i] = c;
	}
	out[TRACEPARENT_BYTES - 1] = '\0';
	return s->at < s->end && *s->at == '\'' && is_valid(out);
}

/* --- where it stands --- */

/* Behind the value that s is in, and the comma behind that. */
static void skip_pair(struct span *s)
{
	const char *const comma = memchr(s->at, ',', (size_t)(s->end - s->at));

	s->at = comma == NULL ? s->end : comma + 1;
}

/* key='value',key='value' (sqlcommenter: a comma in a value is %2C) */
static bool find_in(struct span s, char *out)
{
	static const char key[] = "traceparent='";

	while (s.at < s.end) {
		skip_blanks(&s);
		if (is_next(&s, key, sizeof key - 1)) {
			s.at += sizeof key - 1;
			if (take_value(&s, out))
				return true;
		}
		skip_pair(&s);
	}
	return false;
}

static bool find_first(struct span s, char *out)
{
	skip_blanks(&s);
	if (!is_next(&s, "/*", 2))
		return false;
	s.at += 2;
	if (s.end - s.at > REACH)
		s.end = s.at + REACH;
	const char *const end = memmem(s.at, (size_t)(s.end - s.at), "*/", 2);

	if (end == NULL)
		return false;
	s.end = end;
	return find_in(s, out);
}

/* A semicolon may follow the traceparent. */
static bool find_last(struct span s, char *out)
{
	while (s.end > s.at && (is_blank(s.end[-1]) || s.end[-1] == ';'))
		s.end--;
	if (s.end - s.at < 4 || memcmp(s.end - 2, "*/", 2) != 0)
		return false;
	s.end -= 2;
	const char *const from = s.end - s.at > REACH ? s.end - REACH : s.at;

	for (const char *p = s.end - 2; p >= from; p--) {
		if (memcmp(p, "/*", 2) != 0)
			continue;
		s.at = p + 2;
		return find_in(s, out);
	}
	return false;
}

bool traceparent_find(const char *sql, size_t n, char *out)
{
	const struct span s = { sql, sql + strnlen(sql, n) };

	return find_last(s, out) || find_first(s, out);
}
