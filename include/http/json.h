/* json.h - JSON, written as it goes.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_JSON_H
#define HTTP_JSON_H

#include <stddef.h>
#include <stdint.h>

struct writer;

#define JSON_CHARACTER 8	/* bytes of a character, at most */

/*
 * The character at *at as it stands in a string, and on to the next. What is
 * not UTF-8 is U+FFFD, byte by byte. Returns its length, without a NUL.
 */
size_t json_character(const char **at, char out[JSON_CHARACTER]);

void json_put_raw(struct writer *w, const char *s);
/* NULL: null */
void json_put_string(struct writer *w, const char *s);
void json_put_number(struct writer *w, int64_t n);
void json_put_unsigned(struct writer *w, uint64_t n);

#endif
