/* admin_lex.c - the words, quotes and signs that console commands are made of.
 * SPDX-License-Identifier: ISC */
#include "console/admin_lex.h"

#include <string.h>

#include "base/text.h"

static const char blank[] = " \t\r\n";
static const char digits[] = "0123456789";
static const char word_chars[] = "0123456789_"
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool lex_blank(struct lex *l)
{
	const size_t n = strspn(l->at, blank);

	l->at += n;
	return n > 0;
}

bool lex_keyword(struct lex *l, const char *word)
{
	const size_t n = strlen(word);
	char found[32];
	struct text t;

	lex_blank(l);
	if (strspn(l->at, word_chars) != n)
		return false;
	text_init(&t, found, sizeof found);
	text_add_bytes(&t, l->at, n);
	if (text_casecmp(found, word) != 0)
		return false;
	l->at += n;
	return true;
}

bool lex_sign(struct lex *l, const char *sign)
{
	const size_t n = strlen(sign);

	lex_blank(l);
	if (strncmp(l->at, sign, n) != 0)
		return false;
	l->at += n;
	return true;
}

/* Put n bytes into place; what doesn't fit is noted. */
static bool put(struct lex *l, struct lex_word *out, const char *p, size_t n)
{
	struct text t;

	text_init(&t, out->buf, out->size);
	text_add_bytes(&t, p, n);
	l->cut |= t.cut;
	out->param = 0;
	return true;
}

/* At a quote: up to its partner; a doubled one stands for itself. */
static bool take_quoted(struct lex *l, struct lex_word *out)
{
	const char quote = *l->at;
	struct text t;

	text_init(&t, out->buf, out->size);
	out->param = 0;
	for (const char *s = l->at + 1; *s != '\0'; s++) {
		if (*s == quote && *++s != quote) {
			l->at = s;
			l->cut |= t.cut;
			return true;
		}
		text_add_bytes(&t, s, 1);
	}
	return false;
}

/* The number behind a '$' at s, of *n digits; 0: it is no parameter. */
static unsigned param_number(const char *s, size_t *n)
{
	unsigned which = 0;

	*n = strspn(s + 1, digits);
	for (size_t i = 1; i <= *n && which <= ADMIN_PARAMS_MAX; i++)
		which = which * 10 + (unsigned)(s[i] - '0');
	return which <= ADMIN_PARAMS_MAX ? which : 0;
}

/* "$1": the first. */
static bool take_param(struct lex *l, struct lex_word *out)
{
	size_t n;
	const unsigned which = l->params == NULL ? 0 :
	    param_number(l->at, &n);

	if (which == 0)
		return false;
	const char *value = "";

	if (l->params->values != NULL) {
		if (which > l->params->count)
			return false;
		value = l->params->values[which - 1];
		if (value == NULL)	/* nothing compares with NULL */
			return false;
	}
	l->at += 1 + n;
	if (which > l->used)
		l->used = which;
	put(l, out, value, strlen(value));
	out->param = which;
	return true;
}

static bool take_span(struct lex *l, struct lex_word *out, size_t n)
{
	if (n == 0)
		return false;
	put(l, out, l->at, n);
	l->at += n;
	return true;
}

bool lex_word(struct lex *l, struct lex_word *out)
{
	if (*l->at == '"')
		return take_quoted(l, out);
	if (*l->at == '$')
		return take_param(l, out);
	return take_span(l, out, strspn(l->at, word_chars));
}

bool lex_value(struct lex *l, struct lex_word *out)
{
	if (*l->at == '\'')
		return take_quoted(l, out);
	if (*l->at == '-' && strspn(l->at + 1, digits) > 0)
		return take_span(l, out, 1 + strspn(l->at + 1, digits));
	return lex_word(l, out);
}

bool lex_operand(struct lex *l, struct lex_word *out)
{
	lex_blank(l);
	const bool enclosed = *l->at == '(';

	if (enclosed) {
		l->at++;
		lex_blank(l);
	}
	if (!lex_value(l, out))
		return false;
	if (strncmp(l->at, "::", 2) == 0)
		l->at += 2 + strspn(l->at + 2, word_chars);
	return !enclosed || lex_sign(l, ")");
}

bool lex_bare(struct lex *l, struct lex_word *out)
{
	if (strchr("'\"$", *l->at) != NULL && *l->at != '\0')
		return lex_value(l, out);
	return take_span(l, out, strcspn(l->at, " \t\r\n;'\""));
}

bool lex_rest(struct lex *l, struct lex_word *out)
{
	size_t n = strlen(l->at);

	if (*l->at == '\'' || *l->at == '$')
		return lex_value(l, out);
	while (n > 0 && strchr(blank, l->at[n - 1]) != NULL)
		n--;
	if (n > 0 && l->at[n - 1] == ';')
		n--;
	while (n > 0 && strchr(blank, l->at[n - 1]) != NULL)
		n--;
	return take_span(l, out, n);
}

bool lex_end(struct lex *l)
{
	lex_blank(l);
	if (*l->at == ';')
		l->at++;
	lex_blank(l);
	return *l->at == '\0';
}

unsigned lex_params(const char *query)
{
	unsigned most = 0;
	size_t n;

	for (; (query = strchr(query, '$')) != NULL; query++) {
		const unsigned which = param_number(query, &n);

		if (which > most)
			most = which;
	}
	return most;
}
