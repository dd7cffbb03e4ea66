/* connstr.c - key=value pairs, the values of databases, users and peers.
 * SPDX-License-Identifier: ISC */
#include "conf/connstr.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"

/* Only the space is a blank here: spec/config-files.md section 2. */
static char *connstr_skip_blanks(char *s)
{
	return s + strspn(s, " ");
}

void connstr_init(struct connstr *c, char *text)
{
	c->at = text;
}

static enum connstr_step connstr_bad(struct connstr *c, struct err *e,
    const char *why)
{
	c->at += strlen(c->at);
	err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "syntax error in connection string: %s", why);
	return CONNSTR_BAD;
}

/*
 * Cut the quoted text at s, whose quote is already skipped. Returns what
 * follows the closing quote, or NULL when there is none.
 */
static char *connstr_cut_quoted(char *s)
{
	char *to = s;

	for (;; s++) {
		if (*s == '\0')
			return NULL;
		if (*s == '\'' && *++s != '\'')
			break;
		*to++ = *s;
	}
	/* The byte behind a closing quote is swallowed, whatever it is. */
	char *const rest = *s != '\0' ? s + 1 : s;
	*to = '\0';
	return rest;
}

static char *cut_plain(char *s)
{
	s += strcspn(s, " ");
	if (*s != '\0')
		*s++ = '\0';
	return s;
}

enum connstr_step connstr_next(struct connstr *c, struct connstr_pair *out,
    struct err *e)
{
	char *const key = connstr_skip_blanks(c->at);

	if (*key == '\0') {
		c->at = key;
		return CONNSTR_END;
	}

	char *const key_end = key + strcspn(key, " =");
	char *s = connstr_skip_blanks(key_end);
	if (*s != '=')
		return connstr_bad(c, e, strstr(key, "://") == NULL ?
		    "\"=\" expected after a key" :
		    "not a URL, but host=... port=... dbname=...");
	if (key_end == key)
		return connstr_bad(c, e, "key expected before \"=\"");
	s = connstr_skip_blanks(s + 1);
	*key_end = '\0';

	const bool quoted = *s == '\'';
	char *const value = quoted ? s + 1 : s;
	char *const rest =
	    quoted ? connstr_cut_quoted(value) : cut_plain(value);
	if (rest == NULL)
		return connstr_bad(c, e, "closing quote missing");
	if (*value == '\0')
		return connstr_bad(c, e, "empty value");
	c->at = rest;
	out->key = key;
	out->value = value;
	return CONNSTR_PAIR;
}
