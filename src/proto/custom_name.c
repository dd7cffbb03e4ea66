/* custom_name.c - one name of a custom parameter, in whatever encoding.
 * SPDX-License-Identifier: ISC */
#include "proto/custom_name.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/writer.h"

#define ENCODING_MAX 32
#define KEPT_MAX (ENCODING_MAX + 1 + 2 * CUSTOM_NAME_MAX + 1)

void custom_name_init(struct custom_name *n, const char *encoding)
{
	n->encoding = encoding;
	n->len = 0;
	n->failed = n->accented = n->dotted = false;
	n->plain = true;
}

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || ch == '_';
}

void custom_name_add(struct custom_name *n, char ch)
{
	const bool first = n->len == 0 || n->text[n->len - 1] == '.';

	/* names are compared so, as far as they are ASCII */
	if (ch >= 'A' && ch <= 'Z')
		ch = (char)(ch + ('a' - 'A'));
	n->plain = n->plain && (is_letter(ch) || (!first && (ch == '.' ||
	    ch == '$' || (ch >= '0' && ch <= '9'))));
	n->accented = n->accented || (uint8_t)ch >= 0x80;
	n->dotted = n->dotted || ch == '.';
	n->failed = n->failed || n->len == sizeof n->text;
	if (!n->failed)
		n->text[n->len++] = ch;
}

bool custom_name_cut(struct custom_name *n, size_t before, size_t max)
{
	if (n->len - before <= max)
		return true;
	n->len = before + max;
	return !n->accented;
}

bool custom_name_is_custom(const struct custom_name *n)
{
	return n->dotted;
}

bool custom_name_equals(const struct custom_name *n, const char *word)
{
	return !n->failed && n->len == strlen(word) &&
	    memcmp(n->text, word, n->len) == 0;
}

/*
 * In these the second byte of a character may be a backslash or another one of
 * ASCII, so that what looks like the end of a name may not be one.
 */
bool custom_encoding_is_safe(const char *encoding)
{
	static const char *const others[] = { "BIG5", "GB18030", "GBK", "JOHAB",
		"SHIFT_JIS_2004", "SJIS", "UHC" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcasecmp(encoding, others[i]) == 0)
			return false;
	for (const char *s = encoding; *s != '\0'; s++)
		if (!is_letter((char)(*s | 0x20)) && *s != '_' &&
		    !(*s >= '0' && *s <= '9'))
			return false;
	return encoding[0] != '\0' && strlen(encoding) < ENCODING_MAX;
}

enum custom_found custom_name_take(const struct custom_name *n,
    const struct custom_reader *r)
{
	char kept[KEPT_MAX];

	if (n->failed || (n->accented && (n->encoding == NULL ||
	    !custom_encoding_is_safe(n->encoding))))
		return CUSTOM_UNKNOWN;
	if (n->plain) {
		memcpy(kept, n->text, n->len);
		kept[n->len] = '\0';
	} else {
		int at = snprintf(kept, sizeof kept, "%s:", n->accented ?
		    n->encoding : "SQL_ASCII");

		for (size_t i = 0; i < n->len; i++)
			at += snprintf(kept + at, sizeof kept - (size_t)at,
			    "%02x", (unsigned)(uint8_t)n->text[i]);
	}
	return r->take(r->arg, kept) ? CUSTOM_KNOWN : CUSTOM_UNKNOWN;
}

bool custom_name_is_plain(const char *kept)
{
	return strchr(kept, ':') == NULL;
}

void custom_name_write(const char *kept, struct writer *w)
{
	static const char decode[] =
	    "pg_catalog.convert_from(pg_catalog.decode('";
	const char *const hex = strchr(kept, ':') + 1;

	writer_bytes(w, decode, sizeof decode - 1);
	writer_bytes(w, hex, strlen(hex));
	writer_bytes(w, "','hex'),'", 10);
	writer_bytes(w, kept, (size_t)(hex - 1 - kept));
	writer_bytes(w, "')", 2);
}
