/* text.c - a string builder over a fixed buffer; what does not fit is cut.
 * SPDX-License-Identifier: ISC */
#include "base/text.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void text_init(struct text *t, char *buf, size_t size)
{
	assert(size > 0);

	*t = (struct text){ .at = buf, .size = size };
	buf[0] = '\0';
}

void text_add_bytes(struct text *t, const void *p, size_t n)
{
	const size_t room = t->size - 1 - t->len;

	if (n > room) {
		n = room;
		t->cut = true;
	}
	if (n > 0)
		memcpy(t->at + t->len, p, n);
	t->len += n;
	t->at[t->len] = '\0';
}

void text_add(struct text *t, const char *s)
{
	text_add_bytes(t, s, strlen(s));
}

void text_vaddf(struct text *t, const char *fmt, va_list ap)
{
	const size_t room = t->size - t->len;
	const int n = vsnprintf(t->at + t->len, room, fmt, ap);

	if (n < 0) { /* nothing usable was written */
		t->at[t->len] = '\0';
		t->cut = true;
	} else if ((size_t)n >= room) {
		t->len = t->size - 1;
		t->cut = true;
	} else {
		t->len += (size_t)n;
	}
}

void text_addf(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	text_vaddf(t, fmt, ap);
	va_end(ap);
}

bool text_copy(char *dst, size_t size, const char *s)
{
	struct text t;

	text_init(&t, dst, size);
	text_add(&t, s);
	return !t.cut;
}

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

int text_casecmp(const char *a, const char *b)
{
	while (*a != '\0' && (*a == *b || lower(*a) == lower(*b))) {
		a++;
		b++;
	}
	return lower(*a) - lower(*b);
}

bool text_list_has(const char *list, const char *word)
{
	static const char separators[] = ", \t\r\n\v\f";
	const size_t len = strlen(word);

	if (list == NULL || len == 0)
		return false;

	for (const char *at = list; *at != '\0';) {
		at += strspn(at, separators);
		const size_t n = strcspn(at, separators);

		if (n == len && memcmp(at, word, n) == 0)
			return true;
		at += n;
	}
	return false;
}

unsigned text_nul_line(const char *at, size_t len)
{
	const char *const nul = len == 0 ? NULL : memchr(at, '\0', len);
	unsigned line = 1;

	if (nul == NULL)
		return 0;
	for (; at < nul; at++)
		line += *at == '\n';
	return line;
}

size_t text_character(const char *at)
{
	const unsigned char *const s = (const unsigned char *)at;
	/* the second byte's range, where it is not 0x80 to 0xbf */
	const unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 :
	    0x80;
	const unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f :
	    0xbf;
	const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 || s[0] > 0xf4 ? 0 :
	    s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (n > 1 && (s[1] < low || s[1] > high))
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

size_t text_fitting(const char *s, size_t max)
{
	size_t len = 0;

	while (s[len] != '\0') {
		const size_t n = text_character(s + len);

		if (len + (n > 0 ? n : 1) > max)
			break;
		len += n > 0 ? n : 1;
	}
	return len;
}

uint32_t text_code_point(const char *at, size_t n)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = (unsigned char)at[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)at[i] & 0x3f);
	return c;
}

/* Unicode: the categories Zl and Zp, and the property Bidi_Control. */
static bool moves_text(uint32_t c)
{
	return (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	    c == 0x200e || c == 0x200f || c == 0x061c;
}

size_t text_control(const char *at, size_t n)
{
	const unsigned char *const s = (const unsigned char *)at;

	if (n > 1 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	if (n > 2 && s[0] == 0xe2 && (s[1] == 0x80 || s[1] == 0x81) &&
	    moves_text(text_code_point(at, 3)))
		return 3;
	if (n > 1 && s[0] == 0xd8 && moves_text(text_code_point(at, 2)))
		return 2;
	return s[0] < ' ' || s[0] == 0x7f;
}
