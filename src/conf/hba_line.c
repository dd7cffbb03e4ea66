/* hba_line.c - lines and words of an HBA or an ident map file.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_line.h"

#include <string.h>

/* PostgreSQL's blanks: other characters are a part of the word. */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct hba_line *l)
{
	while (l->at < l->end && is_blank(*l->at))
		l->at++;
}

/* Move what is up to the next line feed behind what l has. */
static void append(struct hba_line *l, struct hba_text *t)
{
	const size_t left = (size_t)(t->end - t->at);
	char *const nl = memchr(t->at, '\n', left);
	const size_t len = nl != NULL ? (size_t)(nl - t->at) : left;

	memmove(l->end, t->at, len);
	l->end += len;
	t->at += len + (nl != NULL);
	t->next++;
	while (l->end > l->at && l->end[-1] == '\r')
		l->end--;
}

bool hba_text_next(struct hba_text *t, struct hba_line *l)
{
	const char *joined = t->at;	/* no backslash before it counts */

	if (t->at >= t->end)
		return false;
	*l = (struct hba_line){
		.at = t->at, .end = t->at, .number = t->next,
	};
	do {
		append(l, t);
		if (l->end <= joined || l->end[-1] != '\\')
			break;
		joined = --l->end;
	} while (t->at < t->end);
	return true;
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
	w->quoted = *l->at == '"';

	char *out = l->at;
	while (l->at < l->end && !ends_word(*l->at)) {
		if (*l->at != '"') {
			*out++ = *l->at++;
			continue;
		}
		out = take_quoted(l, out);
		if (out == NULL)
			return HBA_BROKEN;
	}
	w->len = (size_t)(out - w->at);
	return memchr(w->at, '\0', w->len) == NULL ? HBA_WORD : HBA_BROKEN;
}

bool hba_line_take_comma(struct hba_line *l)
{
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

bool hba_word_equals(const struct hba_word *w, const char *text)
{
	return !w->comma && w->len == strlen(text) &&
	    memcmp(w->at, text, w->len) == 0;
}

bool hba_word_is(const struct hba_word *w, const char *keyword)
{
	return !w->quoted && hba_word_equals(w, keyword);
}
