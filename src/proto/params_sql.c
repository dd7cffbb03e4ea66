/* params_sql.c - a tracked parameter's value as SQL.
 * SPDX-License-Identifier: ISC */
#include "proto/params_sql.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "proto/encoding.h"
#include "proto/writer.h"

/*
 * Where standard strings are known to be on, a backslash is a byte as others,
 * also as the second half of a character (SJIS, BIG5, GBK); a quote is never
 * half of one, as no encoding has it there. Elsewhere the literal means value
 * whatever the setting: a backslash is doubled, but behind a byte that is not
 * ASCII one of the two might stand alone then, and escape what follows. Written
 * as \x5c it can't.
 */
static void write_literal(struct writer *w, const char *value, bool standard)
{
	uint8_t last = 0;

	if (!standard && strchr(value, '\\') != NULL)
		writer_u8(w, 'E');
	writer_u8(w, '\'');
	for (const char *s = value; *s != '\0'; s++) {
		if (*s == '\\' && last >= 0x80 && !standard) {
			writer_bytes(w, "\\x5c", 4);
		} else {
			if (*s == '\'' || (*s == '\\' && !standard))
				writer_u8(w, (uint8_t)*s);
			writer_u8(w, (uint8_t)*s);
		}
		last = (uint8_t)*s;
	}
	writer_u8(w, '\'');
}

static const char *skip_blank(const char *s)
{
	return s + strspn(s, " \t\n\r\f\v");
}

/* The end of the item of a list at s; NULL: no item. */
static const char *skip_item(const char *s)
{
	if (*s != '"') {
		const size_t n = strcspn(s, ", \t\n\r\f\v");

		return n == 0 ? NULL : s + n;
	}
	for (s++; *s != '\0'; s++)
		if (*s == '"' && *++s != '"')
			return s;
	return NULL;
}

bool params_sql_is_list(const char *value)
{
	value = skip_blank(value);
	if (*value == '\0')
		return true;
	for (;;) {
		value = skip_item(value);
		if (value == NULL)
			return false;
		value = skip_blank(value);
		if (*value == '\0')
			return true;
		if (*value != ',')
			return false;
		value = skip_blank(value + 1);
	}
}

/*
 * An item without quotes is put into them: in SQL it might be a word of the
 * language, or no identifier at all. What it is in lower case counts.
 */
static void write_item(struct writer *w, const char *s, const char *end,
    bool pairs)
{
	if (*s == '"') {
		writer_bytes(w, s, (size_t)(end - s));
		return;
	}
	writer_u8(w, '"');
	for (uint8_t last = 0; s < end; s++) {
		const bool half = pairs && last >= 0x80;

		if (*s == '"')
			writer_u8(w, '"');
		writer_u8(w, *s >= 'A' && *s <= 'Z' && !half ?
		    (uint8_t)(*s + ('a' - 'A')) : (uint8_t)*s);
		last = half ? 0 : (uint8_t)*s;
	}
	writer_u8(w, '"');
}

/* There is no schema "": a list of that alone means the empty path. */
static void write_identifiers(struct writer *w, const char *value,
    const struct params_dialect *d)
{
	const bool pairs = d->encoding != NULL && encoding_has_pairs(d->encoding);
	bool any = false;

	for (value = skip_blank(value); *value != '\0';
	    value = skip_blank(value)) {
		const char *const end = skip_item(value);

		if (end - value != 2 || *value != '"') {
			if (any)
				writer_u8(w, ',');
			write_item(w, value, end, pairs);
			any = true;
		}
		value = skip_blank(end);
		value += *value == ',';
	}
	if (!any)
		writer_bytes(w, "''", 2);
}

void params_sql_set(struct writer *w, const char *name, const char *value,
    const struct params_dialect *d)
{
	writer_bytes(w, "SET ", 4);
	writer_bytes(w, name, strlen(name));
	writer_u8(w, '=');
	if (text_casecmp(name, "search_path") != 0)
		write_literal(w, value, d->standard);
	else if (params_sql_is_list(value))
		write_identifiers(w, value, d);
	else	/* one name, any bytes: the name must not become SQL */
		write_literal(w, value, d->standard);
	writer_u8(w, ';');
}
