/* text.h - a string builder over a fixed buffer; what does not fit is cut.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;    /* borrowed from the caller; always NUL terminated */
	size_t size; /* bytes at at, the NUL included; > 0 */
	size_t len;  /* without the NUL */
	bool cut;    /* something did not fit */
};

void text_init(struct text *t, char *buf, size_t size);
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const void *p, size_t n);
void text_addf(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void text_vaddf(struct text *t, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

/* Copy s into dst of size bytes, cut and terminated. Returns false when cut. */
bool text_copy(char *dst, size_t size, const char *s);

/* ASCII only, whatever the locale. */
int text_casecmp(const char *a, const char *b);

/*
 * How many bytes the character at s has, in UTF-8 (RFC 3629 section 4); 0: no
 * character. s ends with NUL, a character of one byte.
 */
size_t text_character(const char *s);

/* How many bytes of s fit into max, no character of UTF-8 cut in two. */
size_t text_fitting(const char *s, size_t max);

/* The code point of a valid character of n bytes. */
uint32_t text_code_point(const char *s, size_t n);

/*
 * How many of the n bytes at s (1 or more) are one control character: C0, DEL,
 * or as UTF-8 one of C1, a separator of lines, or one that turns text around.
 * 0: no control character.
 */
size_t text_control(const char *s, size_t n);

/* The line, from 1, in which the first NUL of len bytes stands; 0: none. */
unsigned text_nul_line(const char *at, size_t len);

/*
 * Is word an item of list? Items are separated by commas and white space,
 * compared byte by byte (spec/settings.md, "membership list").
 */
bool text_list_has(const char *list, const char *word);

#endif
