/* braces.c - reads what odyssey.conf is made of.
 * SPDX-License-Identifier: ISC */
#include "ctl/braces.h"

#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/text.h"
#include "ctl/facts.h"

#define NAME_SIZE 256	/* what a word of a scope is read into */

enum token { END, OPEN, CLOSE, WORD, QUOTED };

struct reader {
	const char *at;
	unsigned line;
	struct facts *out;
	struct err *e;
	char scope[FACT_SCOPE_MAX];
	size_t begins[16];	/* of each block: the length of scope before */
	unsigned depth;
	char key[NAME_SIZE], more[300], value[4096];
};

static int fail(const struct reader *r, const char *what)
{
	return err_set(r->e, ERRCODE_CONFIG_FILE_ERROR, "line %u: %s", r->line,
	    what);
}

static void skip_space(struct reader *r)
{
	for (;; r->at++) {
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		if (*r->at == '\n')
			r->line++;
		if (*r->at == '\0' || strchr(" \t\r\n", *r->at) == NULL)
			return;
	}
}

static enum token peek(struct reader *r)
{
	skip_space(r);
	switch (*r->at) {
	case '\0': return END;
	case '{': return OPEN;
	case '}': return CLOSE;
	case '"': return QUOTED;
	default: return WORD;
	}
}

/* A backslash keeps its meaning, unless a quote or another one follows. */
static int read_quoted(struct reader *r, struct text *t)
{
	for (r->at++; *r->at != '"'; r->at++) {
		if (*r->at == '\\' && (r->at[1] == '"' || r->at[1] == '\\'))
			r->at++;
		if (*r->at == '\0' || *r->at == '\n')
			return fail(r, "a string does not end");
		text_add_bytes(t, r->at, 1);
	}
	r->at++;
	return t->cut ? fail(r, "a string is too long") : 0;
}

static int read_text(struct reader *r, char *buf, size_t size)
{
	struct text t;

	text_init(&t, buf, size);
	if (*r->at == '"')
		return read_quoted(r, &t);
	const size_t n = strcspn(r->at, " \t\r\n{}\"#");

	text_add_bytes(&t, r->at, n);
	r->at += n;
	return t.cut ? fail(r, "a word is too long") : 0;
}

/* name: "", or that of the block */
static int enter(struct reader *r, const char *name)
{
	const size_t len = strlen(r->scope);
	struct text t;

	r->at++;
	if (strlen(name) >= NAME_SIZE)
		return fail(r, "a name is too long");
	if (r->depth == sizeof r->begins / sizeof r->begins[0])
		return fail(r, "nested too deeply");
	r->begins[r->depth++] = len;
	text_init(&t, r->scope + len, sizeof r->scope - len);
	text_addf(&t, "%s%s", len > 0 ? FACT_SEP : "", r->key);
	if (name[0] != '\0')
		text_addf(&t, FACT_SEP "%s", name);
	return t.cut ? fail(r, "names are too long") : 0;
}

static int leave(struct reader *r)
{
	r->at++;
	if (r->depth == 0)
		return fail(r, "a } without a {");
	r->scope[r->begins[--r->depth]] = '\0';
	return 0;
}

static int add(struct reader *r, char *key)
{
	return facts_add(r->out, &(struct fact){ r->scope, key, r->value,
	    r->line }, r->e);
}

static int read_more(struct reader *r)
{
	struct text t;

	text_init(&t, r->more, sizeof r->more);
	text_addf(&t, "more of %s", r->key);
	while (peek(r) == QUOTED) {
		if (read_text(r, r->value, sizeof r->value) < 0 ||
		    add(r, r->more) < 0)
			return -1;
	}
	return 0;
}

static int read_entry(struct reader *r)
{
	if (read_text(r, r->key, sizeof r->key) < 0)
		return -1;
	const enum token next = peek(r);

	if (next == OPEN)
		return enter(r, "");
	if (next != WORD && next != QUOTED)
		return fail(r, "no value behind a key");
	if (read_text(r, r->value, sizeof r->value) < 0)
		return -1;
	if (strchr(r->value, FACT_SEP[0]) != NULL)
		return fail(r, "a control character");
	const unsigned line = r->line;

	if (peek(r) == OPEN) {
		if (next == QUOTED && strcmp(r->value, "default") == 0)
			return fail(r, "a name that without its quotes means "
			    "all others");
		return enter(r, r->value);
	}
	const struct fact f = { r->scope, r->key, r->value, line };

	return facts_add(r->out, &f, r->e) < 0 ? -1 : read_more(r);
}

static int read_all(struct reader *r)
{
	for (;;) {
		switch (peek(r)) {
		case END:
			return r->depth == 0 ? 0 : fail(r, "a { without a }");
		case CLOSE:
			if (leave(r) < 0)
				return -1;
			break;
		case WORD:
			if (read_entry(r) < 0)
				return -1;
			break;
		default:
			return fail(r, "no key where one must be");
		}
	}
}

int braces_read(const char *text, struct facts *out, struct err *e)
{
	struct reader r = { .at = text, .line = 1, .out = out, .e = e };
	const int rc = read_all(&r);

	secret_wipe(r.value, sizeof r.value);
	return rc;
}
