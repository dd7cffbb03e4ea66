/* admin_parse.c - the console's grammar: one command a message.
 * SPDX-License-Identifier: ISC */
#include "app/admin_parse.h"

#include <string.h>

#include "base/text.h"

static const char blank[] = " \t\r\n";
static const char word_chars[] = "0123456789_"
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static const char *skip_blank(const char *at)
{
	return at + strspn(at, blank);
}

/* At a quote: up to its partner; a doubled one stands for itself. */
static bool take_quoted(const char **at, struct text *out)
{
	const char quote = **at;

	for (const char *s = *at + 1; *s != '\0'; s++) {
		if (*s == quote && *++s != quote) {
			*at = s;
			return true;
		}
		text_add_bytes(out, s, 1);
	}
	return false;
}

static bool take_word(const char **at, struct text *out)
{
	if (**at == '"')
		return take_quoted(at, out);
	const size_t n = strspn(*at, word_chars);

	text_add_bytes(out, *at, n);
	*at += n;
	return n > 0;
}

/* Between the key and the value of SET. */
static bool take_assign(const char **at)
{
	const char *const s = skip_blank(*at);

	if (*s == '=') {
		*at = skip_blank(s + 1);
		return true;
	}
	if ((s[0] != 't' && s[0] != 'T') || (s[1] != 'o' && s[1] != 'O'))
		return false;
	*at = skip_blank(s + 2);
	return true;
}

static bool take_setting(const char **at, struct text *key,
    struct text *value)
{
	const char *const s = skip_blank(*at);

	if (s == *at)
		return false;
	*at = s;
	if (!take_word(at, key) || !take_assign(at))
		return false;
	return **at == '\'' ? take_quoted(at, value) : take_word(at, value);
}

/* An argument, if there is one; has says so. */
static bool take_argument(const char **at, struct text *arg, bool *has)
{
	const char *const s = skip_blank(*at);

	if (s == *at || *s == '\0' || *s == ';')
		return true;
	*at = s;
	*has = true;
	return take_word(at, arg);
}

static bool is_end(const char *at)
{
	at = skip_blank(at);
	if (*at == ';')
		at = skip_blank(at + 1);
	return *at == '\0';
}

enum admin_parse_result admin_parse(const char *query,
    struct admin_command *out)
{
	struct text verb, arg, value;
	const char *at = skip_blank(query);
	const bool quoted = *at == '"';

	*out = (struct admin_command){ .has_arg = false };
	text_init(&verb, out->verb, sizeof out->verb);
	text_init(&arg, out->arg, sizeof out->arg);
	text_init(&value, out->value, sizeof out->value);

	if (!take_word(&at, &verb))
		return ADMIN_PARSE_INVALID;
	out->is_set = !quoted && text_casecmp(out->verb, "SET") == 0;
	if (out->is_set)
		out->has_arg = take_setting(&at, &arg, &value);
	else if (!take_argument(&at, &arg, &out->has_arg))
		return ADMIN_PARSE_INVALID;
	if ((out->is_set && !out->has_arg) || !is_end(at))
		return ADMIN_PARSE_INVALID;

	if (verb.cut || arg.cut || value.cut || (out->is_set && arg.len == 0))
		return ADMIN_PARSE_TOO_LONG;
	return ADMIN_PARSE_OK;
}
