/* hba_line.c - the words of one line of an HBA or an ident map file.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_line.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(struct hba_line *l)
{
	while (l->at < l->end && is_blank(*l->at))
		l->at++;
}

/*
 * A word, or a part of one, in quotes: moved to out, without them. NULL: the
 * end of it is missing; else what follows in out.
 */
static char *take_quoted(struct hba_line *l, char *out)
{
	for (l->at++; l->at < l->end; l->at++) {
		if (*l->at == '"') {
			if (l->at + 1 == l->end || l->at[1] != '"') {
				l->at++;
				return out;
			}
			l->at++;
		}
		*out++ = *l->at;
	}
	return NULL;
}

static bool ends_word(char c)
{
	return is_blank(c) || c == ',' || c == '#';
}

enum hba_step hba_line_next(struct hba_line *l, struct hba_word *w)
{
	skip_blanks(l);
	if (l->at == l->end || *l->at == '#')
		return HBA_END;
	*w = (struct hba_word){ .at = l->at, .len = 1 };
	if (*l->at == ',') {
		w->comma = true;
		l->at++;
		return HBA_WORD;
	}
	w->opens_quoted = *l->at == '"';

	char *out = l->at;
	while (l->at < l->end && !ends_word(*l->at)) {
		if (*l->at != '"') {
			*out++ = *l->at++;
			continue;
		}
		w->quoted = true;
		out = take_quoted(l, out);
		if (out == NULL)
			return HBA_BROKEN;
	}
	w->len = (size_t)(out - w->at);
	return memchr(w->at, '\0', w->len) == NULL ? HBA_WORD : HBA_BROKEN;
}

bool hba_line_take_comma(struct hba_line *l)
{
	skip_blanks(l);
	if (l->at == l->end || *l->at != ',')
		return false;
	l->at++;
	return true;
}

struct hba_word hba_line_rest(struct hba_line *l)
{
	bool inside = false;
	const char *end;

	skip_blanks(l);
	for (end = l->at; end < l->end; end++) {
		if (*end == '"')
			inside = !inside;
		if (*end == '#' && !inside)
			break;
	}
	while (end > l->at && is_blank(end[-1]))
		end--;

	const struct hba_word w = {
		.at = l->at, .len = (size_t)(end - l->at), .quoted = true,
	};
	l->at = l->end;
	return w;
}

bool hba_word_is(const struct hba_word *w, const char *keyword)
{
	return !w->quoted && w->len == strlen(keyword) &&
	    memcmp(w->at, keyword, w->len) == 0;
}

bool hba_line_take(char **text, char *end, struct hba_line *l)
{
	if (*text >= end)
		return false;

	char *const nl = memchr(*text, '\n', (size_t)(end - *text));
	*l = (struct hba_line){ .at = *text, .end = nl != NULL ? nl : end };
	*text = nl != NULL ? nl + 1 : end;
	return true;
}
