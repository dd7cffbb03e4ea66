/* ini.c - the lexer of the main file: bytes in, headers and entries out.
 * SPDX-License-Identifier: ISC */
#include "conf/ini.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"

#define INCLUDE "%include"
#define PROBLEM_MAX 2048	/* as much as a log line takes */

struct lexer {
	const char *at, *end;
	struct ini_place place;
	const struct ini_ops *ops;
	void *arg;
	bool bad;		/* anything was */
};

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool ini_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || (c != '\0' && strchr("_.-*", c) != NULL);
}

static enum ini_step problem(struct lexer *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static enum ini_step problem(struct lexer *l, const char *fmt, ...)
{
	char text[PROBLEM_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->ops->problem(l->arg, text);
	return INI_BAD;
}

static enum ini_step no_memory(struct lexer *l)
{
	problem(l, "out of memory");
	return INI_STOP;
}

static enum ini_step syntax_error(struct lexer *l)
{
	return problem(l, "syntax error in configuration (%s:%u), "
	    "stopping loading (a line is \"key = value\", or \"[section]\")",
	    l->place.file, l->place.line);
}

/* End of the line at l->at; the newline itself stays. */
static const char *line_end(const struct lexer *l)
{
	const char *const nl = memchr(l->at, '\n', (size_t)(l->end - l->at));

	return nl != NULL ? nl : l->end;
}

static void ini_skip_blanks(struct lexer *l)
{
	while (l->at < l->end && ini_is_blank(*l->at))
		l->at++;
}

/* White space before an item, line ends included. */
static void skip_space(struct lexer *l)
{
	while (l->at < l->end && is_space(*l->at)) {
		if (*l->at == '\n')
			l->place.line++;
		l->at++;
	}
}

/* A copy of the rest of the line without white space at its end. */
static char *ini_take_rest(struct lexer *l)
{
	const char *const from = l->at;
	const char *to = line_end(l);

	l->at = to;
	while (to > from && is_space(to[-1]))
		to--;
	return mem_strndup(from, (size_t)(to - from));
}

static enum ini_step take_header(struct lexer *l)
{
	const char *const from = l->at + 1;
	const size_t room = (size_t)(line_end(l) - from);
	const char *const close = memchr(from, ']', room);

	if (close == NULL)
		return syntax_error(l);

	char *const name = mem_strndup(from, (size_t)(close - from));
	if (name == NULL)
		return no_memory(l);
	l->at = close + 1;

	const enum ini_step step = l->ops->section(l->arg, name, &l->place);
	mem_free(name);
	return step;
}

static enum ini_step take_include(struct lexer *l)
{
	ini_skip_blanks(l);
	if (l->place.depth >= INI_DEPTH_MAX) {
		problem(l, "include nesting level too deep (%s:%u), "
		    "stopping loading", l->place.file, l->place.line);
		return INI_STOP;
	}

	char *const path = ini_take_rest(l);
	if (path == NULL)
		return no_memory(l);
	const enum ini_step step = l->ops->include(l->arg, path, &l->place);

	mem_free(path);
	if (step != INI_GO)
		problem(l, "error processing include file in configuration "
		    "(%s:%u), stopping loading", l->place.file, l->place.line);
	return step;
}

/* The length of the quoted key at l->at with its quotes; 0: no quoted key. */
static size_t quoted_len(const struct lexer *l)
{
	const char quote = *l->at;
	const char *const end = line_end(l);

	for (const char *s = l->at + 1; s < end; s++) {
		if (*s != quote)
			continue;
		/* A doubled one stands for itself, in double quotes only. */
		if (quote == '"' && s + 1 < end && s[1] == quote)
			s++;
		else
			return (size_t)(s + 1 - l->at);
	}
	return 0;
}

/* Drop the second of each pair of double quotes. */
static void undouble(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++) {
		*to++ = *s;
		if (s[0] == '"' && s[1] == '"')
			s++;
	}
	*to = '\0';
}

/* The key at l->at; NULL with *step saying why. */
static char *take_key(struct lexer *l, enum ini_step *step)
{
	const char *from = l->at;
	const char quote = *from;
	const bool quoted = quote == '\'' || quote == '"';
	size_t len = 0;

	if (quoted)
		len = quoted_len(l);
	else
		while (from + len < l->end && is_key(from[len]))
			len++;
	if (len == 0 || (quoted && len == 2)) {
		*step = syntax_error(l);
		return NULL;
	}
	l->at += len;
	if (quoted) {
		from++;
		len -= 2;
	}

	char *const key = mem_strndup(from, len);
	if (key == NULL)
		*step = no_memory(l);
	else if (quote == '"')
		undouble(key);
	return key;
}

static enum ini_step ini_take_entry(struct lexer *l)
{
	enum ini_step step = INI_STOP;
	char *const key = take_key(l, &step);

	if (key == NULL)
		return step;
	ini_skip_blanks(l);
	if (l->at == l->end || *l->at != '=') {
		mem_free(key);
		return syntax_error(l);
	}
	l->at++;
	ini_skip_blanks(l);

	char *const value = ini_take_rest(l);
	if (value != NULL)
		step = l->ops->entry(l->arg, key, value, &l->place);
	else
		no_memory(l);
	secret_free(value);
	mem_free(key);
	return step;
}

static bool at_include(const struct lexer *l)
{
	const size_t n = sizeof(INCLUDE) - 1;

	return (size_t)(l->end - l->at) > n &&
	    memcmp(l->at, INCLUDE, n) == 0 && ini_is_blank(l->at[n]);
}

static enum ini_step ini_take_item(struct lexer *l)
{
	if (*l->at == ';' || *l->at == '#') {
		l->at = line_end(l);
		return INI_GO;
	}
	if (*l->at == '[')
		return take_header(l);
	if (at_include(l)) {
		l->at += sizeof(INCLUDE) - 1;
		return take_include(l);
	}
	return ini_take_entry(l);
}

enum ini_step ini_parse(const struct ini_source *src,
    const struct ini_ops *ops, void *arg)
{
	struct lexer l = {
		.at = src->text,
		.end = src->text + src->len,
		.place = { .file = src->file, .depth = src->depth },
		.ops = ops,
		.arg = arg,
	};

	/* a torn write: lines behind the NUL would be lost without a word */
	l.place.line = text_nul_line(src->text, src->len);
	if (l.place.line > 0)
		return problem(&l, "NUL byte in configuration (%s:%u), "
		    "stopping loading", l.place.file, l.place.line);
	l.place.line = 1;
	for (skip_space(&l); l.at < l.end; skip_space(&l)) {
		const char *const start = l.at;
		const enum ini_step step = ini_take_item(&l);

		if (step == INI_STOP)
			return INI_STOP;
		if (step == INI_BAD)
			l.bad = true;
		/* A bad header is rejected whole, a bad line from its start. */
		if (step == INI_BAD && (l.at == start || *start != '['))
			l.at = line_end(&l);
	}
	return l.bad ? INI_BAD : INI_GO;
}
