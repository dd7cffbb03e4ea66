/* params_sql.c - a tracked parameter's value as SQL.
 * SPDX-License-Identifier: ISC */
#include "proto/params_sql.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proto/msg.h"
#include "proto/params_names.h"

#define IDENTIFIER_MAX 63	/* bytes of a name */

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

/*
 * Words of the language that are no name without quotes, in any release, so that
 * PostgreSQL prints them with quotes (quote_identifier()).
 */
static const char words[] =
    " all analyse analyze and any array as asc asymmetric authorization between"
    " bigint binary bit boolean both case cast char character check coalesce"
    " collate collation column concurrently constraint create cross"
    " current_catalog current_date current_role current_schema current_time"
    " current_timestamp current_user dec decimal default deferrable desc"
    " distinct do else end except exists extract false fetch float for foreign"
    " freeze from full grant greatest group grouping having ilike in initially"
    " inner inout int integer intersect interval into is isnull join json"
    " json_array json_arrayagg json_exists json_object json_objectagg"
    " json_query json_scalar json_serialize json_table json_value lateral"
    " leading least left like limit localtime localtimestamp merge_action"
    " national natural nchar none normalize not notnull null nullif numeric"
    " offset on only or order out outer overlaps overlay placing position"
    " precision primary real references returning right row select"
    " session_user setof similar smallint some substring symmetric system_user"
    " table tablesample then time timestamp to trailing treat trim true union"
    " unique user using values varchar variadic verbose when where window with"
    " xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces"
    " xmlparse xmlpi xmlroot xmlserialize xmltable ";

static bool is_word(const char *s, size_t n)
{
	char word[IDENTIFIER_MAX + 3];

	snprintf(word, sizeof word, " %.*s ", (int)n, s);
	return strstr(words, word) != NULL;
}

/* Does PostgreSQL print the item of a SET as it stands from s to end? */
static bool prints_item(const char *s, const char *end)
{
	const bool quoted = *s == '"';
	const char *const name = s + quoted;
	const size_t n = (size_t)(end - s) - (quoted ? 2 : 0);
	const bool plain = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")
	    >= n && (*name < '0' || *name > '9');

	if (n == 0 || n > IDENTIFIER_MAX)
		return false;
	return quoted ? !plain : plain && !is_word(name, n);
}

/* Is value, a list, what SHOW says behind a SET of its items? */
static bool prints_itself(const char *value)
{
	if (*value == '\0')
		return false;
	for (;;) {
		const char *const end = skip_blank(value) != value ? NULL :
		    skip_item(value);

		if (end == NULL || !prints_item(value, end))
			return false;
		if (*end == '\0')
			return true;
		if (end[0] != ',' || end[1] != ' ')
			return false;
		value = end + 2;
	}
}

static void write_text(struct writer *w, const char *text)
{
	writer_bytes(w, text, strlen(text));
}

/*
 * SET takes names, and PostgreSQL prints them in its own way. What a StartupMessage
 * has is printed as it stands there, as is the argument of set_config().
 */
static void write_path(struct writer *w, const char *value,
    const struct params_dialect *d)
{
	const bool list = params_sql_is_list(value);

	if (list && !d->open && !prints_itself(value)) {
		write_text(w, "SELECT pg_catalog.set_config('search_path',");
		write_literal(w, value, d->standard);
		write_text(w, ",false)");
		return;
	}
	write_text(w, "SET search_path=");
	if (list)
		write_identifiers(w, value, d);
	else	/* one name, any bytes: the name must not become SQL */
		write_literal(w, value, d->standard);
}

void params_sql_set(struct writer *w, const char *name, const char *value,
    const struct params_dialect *d)
{
	if (text_casecmp(name, "search_path") == 0) {
		write_path(w, value, d);
	} else {
		write_text(w, "SET ");
		write_text(w, name);
		writer_u8(w, '=');
		write_literal(w, value, d->standard);
	}
	writer_u8(w, ';');
}
