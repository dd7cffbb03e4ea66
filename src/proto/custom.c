/* custom.c - names of custom parameters, which no view of PostgreSQL lists.
 * SPDX-License-Identifier: ISC */
#include "proto/custom.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static bool is_inner(char ch)
{
	return is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '$';
}

static const char *skip_blanks(const char *s, const char *end)
{
	while (s < end && (*s == ' ' || (*s >= '\t' && *s <= '\r')))
		s++;
	return s;
}

/* Identifiers with points between; how many bytes. */
static size_t name_length(const char *s, const char *end, bool *custom)
{
	const char *at = s;

	*custom = false;
	while (at < end && is_letter(*at)) {
		while (at < end && is_inner(*at))
			at++;
		if (at == end || *at != '.')
			break;
		*custom = true;
		at++;
	}
	return (size_t)(at - s);
}

/* text, unless it is there; whoever comes first has the place. */
static bool put(struct custom *t, const char *text)
{
	char *mine = NULL;
	bool known = false;

	for (unsigned i = 0; !known && i < CUSTOM_MAX; i++) {
		char *there = atomic_load_explicit(&t->names[i],
		    memory_order_acquire);

		if (there == NULL && mine == NULL &&
		    (mine = mem_strdup(text)) == NULL)
			return false;
		if (there == NULL && atomic_compare_exchange_strong(
		    &t->names[i], &there, mine))
			return true;
		known = strcmp(there, text) == 0;
	}
	mem_free(mine);
	return known;
}

bool custom_is_full(const struct custom *t)
{
	return atomic_load_explicit(&t->names[CUSTOM_MAX - 1],
	    memory_order_acquire) != NULL;
}

bool custom_add(struct custom *t, const char *name, size_t n)
{
	char text[128];
	bool custom;

	/* the name will be a part of SQL */
	if (n == 0 || n >= sizeof text ||
	    name_length(name, name + n, &custom) != n || !custom)
		return false;
	for (size_t i = 0; i < n; i++)
		text[i] = name[i] >= 'A' && name[i] <= 'Z' ?
		    (char)(name[i] + 32) : name[i];
	text[n] = '\0';
	return put(t, text);
}

static bool skip_word(const char **s, const char *end, const char *word)
{
	const size_t n = strlen(word);
	const char *const at = skip_blanks(*s, end);

	if ((size_t)(end - at) <= n || strncasecmp(at, word, n) != 0 ||
	    is_inner(at[n]))
		return false;
	*s = skip_blanks(at + n, end);
	return true;
}

static bool is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

/* Behind a name of n bytes: is the name whole, and how does the text go on? */
static bool is_whole(const char *name, size_t n, const char *end, bool custom)
{
	const char *next = skip_blanks(name + n, end);

	if (name[n - 1] == '.')		/* a."b" */
		return false;
	if (next < end && *next == '=')
		return true;
	if (custom)
		return is_blank(name[n]) && skip_word(&next, end, "to");
	/* more words, or nothing; a . b, a comment and so on are no such */
	return name + n == end || name[n] == ';' || name[n] == '\0' ||
	    (is_blank(name[n]) && (next == end ||
	    strchr("./-\"", *next) == NULL));
}

/* Behind SET: a name, perhaps in a way that is not understood here. */
static bool learn_set(struct custom *t, const char *at, const char *end)
{
	const char *const set = at;
	bool custom;

	if ((skip_word(&at, end, "session") || skip_word(&at, end, "local")) &&
	    at < end && *at == '.')
		at = set;	/* SET local.x */
	const size_t n = name_length(at, end, &custom);

	if (n == 0)	/* UPDATE t SET (a, b) = ... */
		return at < end && *at == '(';
	return is_whole(at, n, end, custom) &&
	    (!custom || custom_add(t, at, n));
}

/* Behind set_config: a string that is the name. */
static bool learn_call(struct custom *t, const char *at,
    const char *end)
{
	bool custom;

	at = skip_blanks(at, end);
	if (at == end || *at != '(')
		return false;
	at = skip_blanks(at + 1, end);
	if (at == end || *at != '\'')
		return false;
	const size_t n = name_length(++at, end, &custom);

	if (at + n == end || at[n] != '\'')
		return false;
	const char *const next = skip_blanks(at + n + 1, end);

	/* else this is a part of the name only */
	return next < end && *next == ',' && (!custom || custom_add(t, at, n));
}

enum found { FOUND_NONE, FOUND_SET, FOUND_CALL, FOUND_ESCAPE };

/* The next of these; *at is behind it then, or where the text has no more. */
static enum found find(const char *sql, const char **at, const char *end)
{
	for (const char *s = *at; end - s > 4; s++) {
		*at = s + 1;
		/* U&"set\005fconfig" */
		if (s[1] == '&' && (*s | 0x20) == 'u')
			return FOUND_ESCAPE;
		if ((*s | 0x20) != 's' || (s > sql && is_inner(s[-1])))
			continue;
		*at = s;
		if (skip_word(at, end, "set"))
			return FOUND_SET;
		if (skip_word(at, end, "set_config"))
			return FOUND_CALL;
	}
	return FOUND_NONE;
}

bool custom_is_any(const char *sql, size_t n)
{
	return find(sql, &sql, sql + n) != FOUND_NONE;
}

bool custom_learn(struct custom *t, const char *sql, size_t n)
{
	const char *const end = sql + n;
	const char *at = sql;
	bool sure = true;
	enum found what;

	while ((what = find(sql, &at, end)) != FOUND_NONE) {
		if (what == FOUND_SET)
			sure = learn_set(t, at, end) && sure;
		else if (what == FOUND_CALL)
			sure = learn_call(t, at, end) && sure;
		else
			sure = false;
	}
	return sure;
}

const char *custom_next(const struct custom *t, unsigned *at)
{
	const char *const name = *at < CUSTOM_MAX ? atomic_load_explicit(
	    &t->names[*at], memory_order_acquire) : NULL;

	*at += name != NULL;
	return name;
}

void custom_fini(struct custom *t)
{
	for (unsigned i = 0; i < CUSTOM_MAX; i++) {
		mem_free(atomic_load(&t->names[i]));
		atomic_init(&t->names[i], NULL);
	}
}
