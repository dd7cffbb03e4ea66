/* datestyle.c - DateStyle, a value of two halves.
 *
 * As check_datestyle() of PostgreSQL reads it.
 * SPDX-License-Identifier: ISC */
#include "proto/datestyle.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static bool is_word(const struct word *w, const char *s, size_t n)
{
	return w->prefix > 0 ?
	    n >= w->prefix && strncasecmp(s, w->text, w->prefix) == 0 :
	    n == strlen(w->text) && strncasecmp(s, w->text, n) == 0;
}

static const struct word *find_word(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (is_word(&words[i], s, n))
			return &words[i];
	return NULL;
}

/* Note what is said. False: something else was said before. */
static bool take(int *half, int said)
{
	if (said == NOT_SAID)
		return true;
	if (*half != NOT_SAID && *half != said)
		return false;
	*half = said;
	return true;
}

/* Words, with commas between them. */
static bool read_value(const char *s, int *style, int *order)
{
	static const char blank[] = " \t\n\r\f\v";

	*style = *order = NOT_SAID;
	for (;; s++) {
		s += strspn(s, blank);
		const size_t n = strcspn(s, ", \t\n\r\f\v");
		const struct word *const w = find_word(s, n);

		if (w == NULL || !take(style, w->style) ||
		    !take(order, w->order))
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

	if (!read_value(value, &style, &order) ||
	    !read_value(have, &old_style, &old_order))
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
