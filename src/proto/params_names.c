/* params_names.c - the parameters that are tracked, and their special values.
 * SPDX-License-Identifier: ISC */
#include "proto/params_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "sql/sql_words.h"

/* All that PostgreSQL 18 reports and lets a client set; and what drivers send. */
static const char *const always[] = { [PARAMS_DATESTYLE] = "DateStyle",
	[PARAMS_CLIENT_ENCODING] = "client_encoding", "TimeZone",
	[PARAMS_STANDARD_STRINGS] = "standard_conforming_strings",
	[PARAMS_APPLICATION_NAME] = "application_name", "search_path",
	"IntervalStyle", "default_transaction_read_only",
	[PARAMS_SCRAM_ITERATIONS] = "scram_iterations",
	[PARAMS_SESSION_AUTHORIZATION] = "session_authorization",
	[PARAMS_EXTRA_FLOAT_DIGITS] = "extra_float_digits" };

static const struct {
	const char *name;
	uint8_t traits;
} known[] = {
	{ "DateStyle", PARAMS_FOLD | PARAMS_READ },
	{ "client_encoding", PARAMS_FOLD | PARAMS_READ },
	{ "TimeZone", PARAMS_FOLD | PARAMS_READ },
	{ "IntervalStyle", PARAMS_FOLD | PARAMS_READ },
	{ "standard_conforming_strings", PARAMS_FOLD | PARAMS_READ },
	{ "default_transaction_read_only", PARAMS_FOLD },
	{ "session_authorization", PARAMS_ACT | PARAMS_READ }, { "role", PARAMS_ACT },
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static uint8_t traits_of(const char *name)
{
	uint8_t traits = sql_is_unseen(name) ? PARAMS_READ : 0;

	for (size_t i = 0; i < COUNT(known); i++)
		if (text_casecmp(known[i].name, name) == 0)
			traits |= known[i].traits;
	return traits;
}

static bool params_names_has_name(const struct params_names *n,
    const char *name)
{
	for (int i = 0; i < n->count; i++)
		if (text_casecmp(n->name[i], name) == 0)
			return true;
	return false;
}

static int params_names_add_name(struct params_names *n, struct intern *strings,
    const char *name)
{
	if (params_names_has_name(n, name) || n->count == PARAMS_MAX)
		return 0;
	n->traits[n->count] = traits_of(name);
	n->name[n->count] = intern_get(strings, name);
	return n->name[n->count] == NULL ? -1 : (n->count++, 0);
}

/* Items of a comma list, trimmed; empty ones are skipped. */
static int add_list(struct params_names *n, struct intern *strings,
    const char *list)
{
	static const char blank[] = " \t\r\n";

	while (*list != '\0') {
		const size_t item = strcspn(list, ",");
		size_t from = strspn(list, blank), to = item;

		while (to > from && strchr(blank, list[to - 1]) != NULL)
			to--;
		if (to > from) {
			char *name = mem_strndup(list + from, to - from);
			const int rc = name == NULL ?
			    -1 : params_names_add_name(n, strings, name);

			mem_free(name);
			if (rc < 0)
				return -1;
		}
		list += item + (list[item] == ',');
	}
	return 0;
}

int params_names_get(struct params_names *n, struct intern *strings,
    const char *extra)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT(always); i++)
		rc = params_names_add_name(n, strings, always[i]);
	return rc < 0 || extra == NULL ? rc : add_list(n, strings, extra);
}

void params_names_put(struct params_names *n, struct intern *strings)
{
	for (int i = 0; i < n->count; i++)
		intern_put(strings, n->name[i]);
}

/* As check_datestyle() of PostgreSQL reads it. */

enum { NOT_SAID = -1 };

enum style { ISO, SQL, POSTGRES, GERMAN };
enum order { YMD, DMY, MDY };

static const char *const style_names[] = {
	[ISO] = "ISO", [SQL] = "SQL", [POSTGRES] = "Postgres",
	[GERMAN] = "German",
};
static const char *const order_names[] = {
	[YMD] = "YMD", [DMY] = "DMY", [MDY] = "MDY",
};

static const struct word {
	const char *text;
	size_t prefix;	/* bytes of it that are enough; 0 = the whole word */
	int style, order;
} words[] = {
	{ "iso", 0, ISO, NOT_SAID },
	{ "sql", 0, SQL, NOT_SAID },
	{ "postgres", 8, POSTGRES, NOT_SAID },
	{ "german", 0, GERMAN, NOT_SAID },
	{ "ymd", 0, NOT_SAID, YMD },
	{ "dmy", 0, NOT_SAID, DMY },
	{ "euro", 4, NOT_SAID, DMY },
	{ "mdy", 0, NOT_SAID, MDY },
	{ "us", 0, NOT_SAID, MDY },
	{ "noneuro", 7, NOT_SAID, MDY },
};

static bool params_names_is_word(const struct word *w, const char *s, size_t n)
{
	return w->prefix > 0 ?
	    n >= w->prefix && strncasecmp(s, w->text, w->prefix) == 0 :
	    n == strlen(w->text) && strncasecmp(s, w->text, n) == 0;
}

static const struct word *params_names_find_word(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (params_names_is_word(&words[i], s, n))
			return &words[i];
	return NULL;
}

/* Note what is said. False: something else was said before. */
static bool params_names_take(int *half, int said)
{
	if (said == NOT_SAID)
		return true;
	if (*half != NOT_SAID && *half != said)
		return false;
	*half = said;
	return true;
}

/* Words, with commas between them. */
static bool params_names_read_value(const char *s, int *style, int *order)
{
	static const char blank[] = " \t\n\r\f\v";

	*style = *order = NOT_SAID;
	for (;; s++) {
		s += strspn(s, blank);
		const size_t n = strcspn(s, ", \t\n\r\f\v");
		const struct word *const w = params_names_find_word(s, n);

		if (w == NULL || !params_names_take(style, w->style) ||
		    !params_names_take(order, w->order))
			return false;
		s += n;
		s += strspn(s, blank);
		if (*s == '\0')
			return true;
		if (*s != ',')
			return false;
	}
}

bool datestyle_join(const char *value, const char *have,
    char out[DATESTYLE_MAX])
{
	int style, order, old_style, old_order;

	if (!params_names_read_value(value, &style, &order) ||
	    !params_names_read_value(have, &old_style, &old_order))
		return false;
	if (old_style == GERMAN && old_order == NOT_SAID)
		old_order = DMY;
	if (style == GERMAN && order == NOT_SAID)
		order = DMY;
	style = style == NOT_SAID ? old_style : style;
	order = order == NOT_SAID ? old_order : order;
	snprintf(out, DATESTYLE_MAX, "%s%s%s",
	    style == NOT_SAID ? "" : style_names[style],
	    style == NOT_SAID || order == NOT_SAID ? "" : ", ",
	    order == NOT_SAID ? "" : order_names[order]);
	return true;
}

bool datestyle_complete(const char *value, const char *have,
    char out[DATESTYLE_MAX])
{
	char both[DATESTYLE_MAX];

	if (!datestyle_join(value, have, both) || strchr(both, ',') == NULL)
		return false;
	memcpy(out, both, sizeof both);
	return true;
}

/*
 * As pg_char_to_encoding() of PostgreSQL (src/common/encnames.c): letters and
 * digits count, in lower case.
 */

#define ALIAS_MAX 32	/* bytes of the longest and more */

struct alias {
	const char *alias, *name;
};

/* In order of their aliases. */
static const struct alias aliases[] = {
	{ "abc", "WIN1258" },
	{ "alt", "WIN866" },
	{ "big5", "BIG5" },
	{ "euccn", "EUC_CN" },
	{ "eucjis2004", "EUC_JIS_2004" },
	{ "eucjp", "EUC_JP" },
	{ "euckr", "EUC_KR" },
	{ "euctw", "EUC_TW" },
	{ "gb18030", "GB18030" },
	{ "gbk", "GBK" },
	{ "iso88591", "LATIN1" },
	{ "iso885910", "LATIN6" },
	{ "iso885913", "LATIN7" },
	{ "iso885914", "LATIN8" },
	{ "iso885915", "LATIN9" },
	{ "iso885916", "LATIN10" },
	{ "iso88592", "LATIN2" },
	{ "iso88593", "LATIN3" },
	{ "iso88594", "LATIN4" },
	{ "iso88595", "ISO_8859_5" },
	{ "iso88596", "ISO_8859_6" },
	{ "iso88597", "ISO_8859_7" },
	{ "iso88598", "ISO_8859_8" },
	{ "iso88599", "LATIN5" },
	{ "johab", "JOHAB" },
	{ "koi8", "KOI8R" },
	{ "koi8r", "KOI8R" },
	{ "koi8u", "KOI8U" },
	{ "latin1", "LATIN1" },
	{ "latin10", "LATIN10" },
	{ "latin2", "LATIN2" },
	{ "latin3", "LATIN3" },
	{ "latin4", "LATIN4" },
	{ "latin5", "LATIN5" },
	{ "latin6", "LATIN6" },
	{ "latin7", "LATIN7" },
	{ "latin8", "LATIN8" },
	{ "latin9", "LATIN9" },
	{ "mskanji", "SJIS" },
	{ "muleinternal", "MULE_INTERNAL" },
	{ "shiftjis", "SJIS" },
	{ "shiftjis2004", "SHIFT_JIS_2004" },
	{ "sjis", "SJIS" },
	{ "sqlascii", "SQL_ASCII" },
	{ "tcvn", "WIN1258" },
	{ "tcvn5712", "WIN1258" },
	{ "uhc", "UHC" },
	{ "unicode", "UTF8" },
	{ "utf8", "UTF8" },
	{ "vscii", "WIN1258" },
	{ "win", "WIN1251" },
	{ "win1250", "WIN1250" },
	{ "win1251", "WIN1251" },
	{ "win1252", "WIN1252" },
	{ "win1253", "WIN1253" },
	{ "win1254", "WIN1254" },
	{ "win1255", "WIN1255" },
	{ "win1256", "WIN1256" },
	{ "win1257", "WIN1257" },
	{ "win1258", "WIN1258" },
	{ "win866", "WIN866" },
	{ "win874", "WIN874" },
	{ "win932", "SJIS" },
	{ "win936", "GBK" },
	{ "win949", "UHC" },
	{ "win950", "BIG5" },
	{ "windows1250", "WIN1250" },
	{ "windows1251", "WIN1251" },
	{ "windows1252", "WIN1252" },
	{ "windows1253", "WIN1253" },
	{ "windows1254", "WIN1254" },
	{ "windows1255", "WIN1255" },
	{ "windows1256", "WIN1256" },
	{ "windows1257", "WIN1257" },
	{ "windows1258", "WIN1258" },
	{ "windows866", "WIN866" },
	{ "windows874", "WIN874" },
	{ "windows932", "SJIS" },
	{ "windows936", "GBK" },
	{ "windows949", "UHC" },
	{ "windows950", "BIG5" },
};

/* The part of a name that counts. False: alias is too long for a name. */
static bool reduce(char out[ALIAS_MAX], const char *alias)
{
	size_t n = 0;

	for (; *alias != '\0'; alias++) {
		const char c = *alias >= 'A' && *alias <= 'Z' ?
		    (char)(*alias + ('a' - 'A')) : *alias;

		if ((c < 'a' || c > 'z') && (c < '0' || c > '9'))
			continue;
		if (n == ALIAS_MAX - 1)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

static int params_names_compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct alias *)row)->alias);
}

const char *encoding_name(const char *alias)
{
	char reduced[ALIAS_MAX];

	if (!reduce(reduced, alias))
		return NULL;
	const struct alias *row =
	    bsearch(reduced, aliases, sizeof aliases / sizeof *aliases,
		sizeof *aliases, params_names_compare);

	return row == NULL ? NULL : row->name;
}

bool encoding_has_pairs(const char *alias)
{
	static const char *const pairs[] = { "SJIS", "SHIFT_JIS_2004", "BIG5",
		"GBK", "GB18030", "JOHAB", "UHC" };
	const char *const name = encoding_name(alias);

	for (size_t i = 0; name != NULL &&
	    i < sizeof pairs / sizeof *pairs; i++)
		if (strcmp(pairs[i], name) == 0)
			return true;
	return false;
}
