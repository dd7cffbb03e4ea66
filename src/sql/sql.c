/* sql.c - the few statements that a pooler must know when it sees them.
 * SPDX-License-Identifier: ISC */
#include "sql/sql.h"

#include <string.h>
#include <strings.h>

#include "sql/sql_chars.h"

/* Text that is left to read. */
struct cursor {
	const char *at, *end;
	bool open;	/* a comment without an end: PostgreSQL runs nothing */
	bool strict;	/* comments are not skipped */
};

static bool is_blank(char ch)
{
	return sql_char_is(ch, SQL_CHAR_BLANK);
}

/* The next two bytes, as in "--". */
static bool is_next(const struct cursor *c, const char *two)
{
	return c->end - c->at >= 2 && memcmp(c->at, two, 2) == 0;
}

/* Up to the end of the line. */
static void skip_line(struct cursor *c)
{
	while (c->at < c->end && *c->at != '\n' && *c->at != '\r' &&
	    *c->at != '\0')
		c->at++;
}

/* Comments nest. All is read once, whatever is in it. */
static void skip_comment(struct cursor *c)
{
	unsigned depth = 0;

	do {
		const bool opens = is_next(c, "/*"), ends = is_next(c, "*/");

		depth += opens;
		depth -= ends;
		c->at += opens || ends ? 2 : 1;
	} while (depth > 0 && c->at < c->end && *c->at != '\0');
	c->open = c->open || depth > 0;
}

static __attribute__((noinline)) void skip_many_blanks(struct cursor *c)
{
	for (;;) {
		while (c->at < c->end && is_blank(*c->at))
			c->at++;
		if (c->strict)
			return;
		if (is_next(c, "--"))
			skip_line(c);
		else if (is_next(c, "/*"))
			skip_comment(c);
		else
			return;
	}
}

/* Hot: mostly there are none. */
static inline void skip_blanks(struct cursor *c)
{
	if (c->at < c->end && (is_blank(*c->at) || *c->at == '-' ||
	    *c->at == '/'))
		skip_many_blanks(c);
}

static bool is_letter(char ch)
{
	return sql_char_is(ch, SQL_CHAR_LETTER);
}

/* Of an identifier; what is not ASCII may be a letter, says PostgreSQL. */
static bool is_inner(char ch)
{
	return sql_char_is(ch, SQL_CHAR_INNER);
}

/* Step over word if word comes next. */
static bool take_word(struct cursor *c, const char *word)
{
	skip_blanks(c);
	/* a call for each word that it is not would be dear */
	if (c->at == c->end || (*c->at | 0x20) != *word)
		return false;
	const size_t n = strlen(word);

	if ((size_t)(c->end - c->at) < n || strncasecmp(c->at, word, n) != 0 ||
	    (c->at + n < c->end && is_inner(c->at[n])))
		return false;
	c->at += n;
	return true;
}

/* Only blanks and semicolons are left, and the NUL of the message. */
static bool is_end(struct cursor *c)
{
	skip_blanks(c);
	while (c->at < c->end && *c->at == ';') {
		c->at++;
		skip_blanks(c);
	}
	return !c->open && (c->at == c->end || *c->at == '\0');
}

static bool forgets_all(struct cursor *c)
{
	if (take_word(c, "deallocate"))
		(void)take_word(c, "prepare");
	else if (!take_word(c, "discard"))
		return false;
	return take_word(c, "all");
}

/* PostgreSQL docs, Lexical Structure, Identifiers and Key Words */
static bool take_plain(struct cursor *c, char name[SQL_NAME_MAX])
{
	size_t n = 0;

	if (c->at == c->end || (!is_letter(*c->at) && *c->at != '_'))
		return false;
	while (c->at < c->end && is_inner(*c->at)) {
		const char ch = *c->at++;

		if ((unsigned char)ch >= 0x80)
			return false;
		if (n < SQL_NAME_MAX - 1)
			name[n++] = ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) :
			    ch;
	}
	name[n] = '\0';
	/* a quote would make it a string or a Unicode identifier: U&"..." */
	return c->at == c->end || (*c->at != '"' && *c->at != '\'' &&
	    *c->at != '&');
}

static bool take_quoted(struct cursor *c, char name[SQL_NAME_MAX])
{
	bool ascii = true, cut = false;
	size_t n = 0;

	for (c->at++; c->at < c->end && *c->at != '\0'; c->at++) {
		if (*c->at == '"' && is_next(c, "\"\""))
			c->at++;
		else if (*c->at == '"')
			break;
		ascii = ascii && (unsigned char)*c->at < 0x80;
		cut = n == SQL_NAME_MAX - 1;
		if (!cut)
			name[n++] = *c->at;
	}
	if (c->at == c->end || *c->at != '"' || n == 0 || (cut && !ascii))
		return false;
	c->at++;
	name[n] = '\0';
	return true;
}

static bool take_name(struct cursor *c, char name[SQL_NAME_MAX])
{
	skip_blanks(c);
	if (c->at < c->end && *c->at == '"')
		return take_quoted(c, name);
	return take_plain(c, name) && strcmp(name, "all") != 0;
}

bool sql_deallocates(const char *sql, size_t n, char name[SQL_NAME_MAX])
{
	struct cursor c = { .at = sql, .end = sql + n };

	if (!take_word(&c, "deallocate"))
		return false;
	const struct cursor start = c;

	if (take_word(&c, "prepare") && take_name(&c, name) && is_end(&c))
		return true;
	/* PREPARE is no reserved word: a statement may have this name */
	c = start;
	return take_name(&c, name) && is_end(&c);
}

static bool take_char(struct cursor *c, char ch)
{
	skip_blanks(c);
	if (c->at == c->end || *c->at != ch)
		return false;
	c->at++;
	return true;
}

/* A string without escapes, which stands for a name in some statements. */
static bool take_string(struct cursor *c, char name[SQL_NAME_MAX])
{
	const char *const start = c->at + 1;
	const char *const end = c->at == c->end || *c->at != '\'' ? NULL :
	    memchr(start, '\'', (size_t)(c->end - start));
	const size_t n = end == NULL ? 0 : (size_t)(end - start);

	if (n == 0 || n >= SQL_NAME_MAX)
		return false;
	memcpy(name, start, n);
	name[n] = '\0';
	c->at = end + 1;
	return true;
}

static bool drops(struct cursor *c, char name[SQL_NAME_MAX])
{
	const struct cursor start = *c;

	if (!take_word(c, "if") || !take_word(c, "exists"))
		*c = start;
	return take_name(c, name);
}

static bool moves(struct cursor *c, char name[SQL_NAME_MAX])
{
	return take_name(c, name) && (take_word(c, "rename") ||
	    (take_word(c, "set") && take_word(c, "tablespace")));
}

/* Without TEMPLATE, or with TEMPLATE DEFAULT, template1 is copied. */
static bool copies(struct cursor *c, char name[SQL_NAME_MAX])
{
	static const char usual[] = "template1";
	char other[SQL_NAME_MAX];

	if (!take_name(c, other))
		return false;
	memcpy(name, usual, sizeof usual);
	/* options are words, strings, numbers and signs, in any order */
	for (skip_blanks(c); c->at < c->end && *c->at != '\0' &&
	    *c->at != ';'; skip_blanks(c)) {
		if (take_word(c, "template")) {
			(void)take_char(c, '=');
			skip_blanks(c);
			if (take_word(c, "default"))
				return true;
			return take_string(c, name) || take_name(c, name);
		}
		if (!take_string(c, other) && !take_name(c, other))
			c->at++;
	}
	return true;
}

bool sql_wants_alone(const char *sql, size_t n, char name[SQL_NAME_MAX])
{
	static const struct {
		const char *word;
		bool (*wants)(struct cursor *c, char name[SQL_NAME_MAX]);
	} rows[] = { { "drop", drops }, { "alter", moves },
		{ "create", copies } };
	struct cursor c = { .at = sql, .end = sql + n };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (take_word(&c, rows[i].word))
			return take_word(&c, "database") &&
			    rows[i].wants(&c, name);
	}
	return false;
}

/* a, or a.b, or "a"."b". */
static bool take_dotted(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	char part[SQL_NAME_MAX];
	size_t n = 0;

	do {
		if (!take_name(c, part))
			return false;
		if (n > 0 && n < SQL_PARAMETER_MAX - 1)
			name[n++] = '.';
		for (const char *p = part; *p != '\0' &&
		    n < SQL_PARAMETER_MAX - 1; p++)
			name[n++] = *p;
	} while (take_char(c, '.'));
	name[n] = '\0';
	return true;
}

/* Two words that stand for a parameter; but not first.second. */
static bool take_words(struct cursor *c, const char *first,
    const char *second)
{
	const struct cursor start = *c;

	if (take_word(c, first) && take_word(c, second))
		return true;
	*c = start;
	return false;
}

#define AUTHORIZATION "session_authorization"

/* A parameter, in the words that stand for one. */
static bool take_parameter(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	if (take_words(c, "time", "zone"))
		memcpy(name, "TimeZone", sizeof "TimeZone");
	else if (take_words(c, "session", "authorization"))
		memcpy(name, AUTHORIZATION, sizeof AUTHORIZATION);
	else
		return take_dotted(c, name);
	return true;
}

static bool resets(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	name[0] = '\0';
	if (take_word(c, "discard"))
		return take_word(c, "all");
	if (!take_word(c, "reset"))
		return false;
	return take_word(c, "all") || take_parameter(c, name);
}

/* These have no TO. */
static bool take_set_words(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	if (take_word(c, "names"))
		memcpy(name, "client_encoding", sizeof "client_encoding");
	else if (take_words(c, "time", "zone"))
		memcpy(name, "TimeZone", sizeof "TimeZone");
	else
		return false;
	return true;
}

static bool take_set(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	if (take_set_words(c, name))
		return true;
	if (!take_dotted(c, name))
		return false;
	/* SET ROLE x */
	return take_word(c, "to") || take_char(c, '=') ||
	    (strcmp(name, "role") == 0 && c->at < c->end && *c->at != ';' &&
	    *c->at != '\0');
}

/* SET TIME ZONE LOCAL means DEFAULT. */
static enum sql_change sets(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	if (!take_word(c, "set"))
		return SQL_NO_CHANGE;
	if (take_words(c, "session", "authorization")) {
		memcpy(name, AUTHORIZATION, sizeof AUTHORIZATION);
		return take_word(c, "default") ? SQL_RESETS : SQL_SETS;
	}
	const struct cursor start = *c;

	if (take_word(c, "session") && take_char(c, '.'))
		*c = start;	/* SET session.x */
	if (!take_set(c, name))
		return SQL_NO_CHANGE;
	return take_word(c, "default") || (strcmp(name, "TimeZone") == 0 &&
	    take_word(c, "local")) ? SQL_RESETS : SQL_SETS;
}

static enum sql_change change(const struct cursor *at,
    char name[SQL_PARAMETER_MAX])
{
	struct cursor c = *at;

	if (sql_is_suspect_reset(*c.at) && resets(&c, name))
		return SQL_RESETS;
	c = *at;
	return sets(&c, name);
}

/* A string or an identifier, with its quotes. */
static void skip_quoted(struct cursor *c, bool escapes)
{
	const char quote = *c->at++;

	while (c->at < c->end && *c->at != '\0') {
		if (escapes && *c->at == '\\' && c->end - c->at > 1)
			c->at++;
		else if (*c->at == quote)
			break;
		c->at++;
	}
	if (c->at < c->end && *c->at == quote)
		c->at++;
}

/* $tag$ ... $tag$, or the dollar sign alone. */
static void skip_dollar(struct cursor *c)
{
	const char *const tag = c->at++;
	const char *next;

	while (c->at < c->end && *c->at != '$' && is_inner(*c->at))
		c->at++;
	if (c->at == c->end || *c->at != '$')
		return;
	const size_t n = (size_t)(++c->at - tag);

	next = memmem(c->at, (size_t)(c->end - c->at), tag, n);
	c->at = next == NULL ? c->end : next + n;
}

static void skip_word(struct cursor *c)
{
	const char *const word = c->at;

	while (c->at < c->end && is_inner(*c->at))
		c->at++;
	if (c->at < c->end && *c->at == '\'' && c->at - word == 1 &&
	    (*word | 0x20) == 'e')
		skip_quoted(c, true);
}

/* To the next statement: what stands in quotes ends none. */
static void skip_statement(struct cursor *c)
{
	const char *at;

	while (c->at < c->end && *c->at != '\0' && *c->at != ';') {
		at = c->at;
		skip_blanks(c);
		if (c->at > at)
			continue;
		if (*at == '\'' || *at == '"')
			skip_quoted(c, false);
		else if (*at == '$')
			skip_dollar(c);
		else if (is_inner(*at))
			skip_word(c);
		else
			c->at++;
	}
	if (c->at < c->end && *c->at == ';')
		c->at++;
}

bool sql_forgets_at(const char *at, const char *end)
{
	return forgets_all(&(struct cursor){ .at = at, .end = end });
}

enum sql_change sql_change_at(const char *at, const char *end,
    char name[SQL_PARAMETER_MAX])
{
	return at == end ? SQL_NO_CHANGE : change(&(struct cursor){
	    .at = at, .end = end }, name);
}

enum sql_change sql_next_change(const char **at, const char *end,
    char name[SQL_PARAMETER_MAX])
{
	enum sql_change what = SQL_NO_CHANGE;
	struct cursor c = { .at = *at, .end = end };

	while (what == SQL_NO_CHANGE && c.at < end && *c.at != '\0') {
		what = change(&c, name);
		skip_statement(&c);
	}
	*at = c.at;
	return what;
}

static bool takes_one(struct cursor *c, const char *const *words)
{
	skip_blanks(c);
	for (size_t i = 0; words[i] != NULL && c->at < c->end &&
	    is_letter(*c->at); i++)
		if (take_word(c, words[i]))
			return true;
	return false;
}

bool sql_begins(const char *sql, size_t n, const char *const *words)
{
	struct cursor c = { .at = sql, .end = sql + n };

	while (c.at < c.end && *c.at != '\0') {
		if (takes_one(&c, words))
			return true;
		skip_statement(&c);
	}
	return false;
}

bool sql_starts(const char *sql, size_t n, const char *const *words)
{
	struct cursor c = { .at = sql, .end = sql + n };

	return takes_one(&c, words);
}

/* Behind set_config: ('name', value. A comment may have further calls. */
static enum sql_change calls(struct cursor *c, char name[SQL_PARAMETER_MAX])
{
	const char *literal, *quote;

	(void)take_char(c, '"');
	if (!take_char(c, '(') || !take_char(c, '\''))
		return SQL_NO_CHANGE;
	literal = c->at;
	quote = memchr(literal, '\'', c->end - literal < SQL_PARAMETER_MAX ?
	    (size_t)(c->end - literal) : SQL_PARAMETER_MAX);
	if (quote == NULL)
		return SQL_NO_CHANGE;
	memcpy(name, literal, (size_t)(quote - literal));
	name[quote - literal] = '\0';
	c->at = quote + 1;
	if (!take_char(c, ','))
		return SQL_NO_CHANGE;
	while (take_char(c, '('))
		;
	return take_word(c, "null") ? SQL_RESETS : SQL_SETS;
}

enum sql_change sql_call_at(const char *at, const char *end,
    char name[SQL_PARAMETER_MAX])
{
	return calls(&(struct cursor){ .at = at, .end = end, .strict = true },
	    name);
}

bool sql_defines_function(const char *sql, size_t n)
{
	struct cursor c = { .at = sql, .end = sql + n };

	if (!take_word(&c, "create"))
		return false;
	if (take_word(&c, "or"))
		(void)take_word(&c, "replace");
	if (!take_word(&c, "function") && !take_word(&c, "procedure"))
		return false;
	skip_statement(&c);
	/* a backslash may be one that hides the end of a string */
	return is_end(&c) && memchr(sql, '\\', n) == NULL;
}
