/* toml.c - reads what pgcat.toml is made of.
 * SPDX-License-Identifier: ISC */
#include "ctl/toml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/text.h"
#include "ctl/facts.h"

#define VALUE_MAX 4096
#define DEEPEST 16
#define BARE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

struct reader {
	const char *at;
	unsigned line;
	int depth;		/* of arrays and inline tables */
	struct facts *out;
	struct err *e;
};

/* A key, and the table that it is in. */
struct place {
	char scope[FACT_SCOPE_MAX], key[256];
};

static int read_value(struct reader *r, const struct place *p);

static int fail(const struct reader *r, const char *what)
{
	return err_set(r->e, ERRCODE_CONFIG_FILE_ERROR, "line %u: %s", r->line,
	    what);
}

static void skip_blanks(struct reader *r)
{
	r->at += strspn(r->at, " \t");
}

/* Line ends and comments, too. */
static void skip_space(struct reader *r)
{
	for (;;) {
		skip_blanks(r);
		if (*r->at == '#')
			r->at += strcspn(r->at, "\n");
		else if (*r->at == '\n')
			r->line++, r->at++;
		else if (r->at[0] == '\r' && r->at[1] == '\n')
			r->at++;
		else
			return;
	}
}

/* Behind the backslash. */
static int read_escape(struct reader *r, struct text *t)
{
	static const char names[] = "btnfr\"\\", bytes[] = "\b\t\n\f\r\"\\";
	const char *const found = *r->at == '\0' ? NULL :
	    strchr(names, *r->at);

	if (found == NULL)
		return fail(r, "an escape that cannot be read");
	text_add_bytes(t, &bytes[found - names], 1);
	r->at++;
	return 0;
}

static int read_string(struct reader *r, struct text *t)
{
	const char quote = *r->at++;

	if (r->at[0] == quote && r->at[1] == quote)
		return fail(r, "a string of several lines");
	while (*r->at != quote) {
		if (*r->at == '\0' || *r->at == '\n')
			return fail(r, "a string does not end");
		if (*r->at == '\\' && quote == '"') {
			r->at++;
			if (read_escape(r, t) < 0)
				return -1;
		} else {
			text_add_bytes(t, r->at++, 1);
		}
	}
	r->at++;
	return t->cut ? fail(r, "a string is too long") : 0;
}

static int read_word(struct reader *r, struct text *t)
{
	if (*r->at == '"' || *r->at == '\'')
		return read_string(r, t);
	const size_t n = strspn(r->at, BARE);

	if (n == 0)
		return fail(r, "no key where one must be");
	text_add_bytes(t, r->at, n);
	r->at += n;
	return t->cut ? fail(r, "a key is too long") : 0;
}

static int push(struct reader *r, struct place *p)
{
	const size_t len = strlen(p->scope);
	struct text t;

	if (strchr(p->key, FACT_SEP[0]) != NULL)
		return fail(r, "a control character");
	text_init(&t, p->scope + len, sizeof p->scope - len);
	text_addf(&t, "%s%s", len > 0 ? FACT_SEP : "", p->key);
	return t.cut ? fail(r, "keys are too long") : 0;
}

/* a.b.c: the last word is p's key, the others go to its scope. */
static int read_key(struct reader *r, struct place *p)
{
	for (;;) {
		struct text t;

		skip_blanks(r);
		text_init(&t, p->key, sizeof p->key);
		if (read_word(r, &t) < 0)
			return -1;
		skip_blanks(r);
		if (*r->at != '.')
			return 0;
		r->at++;
		if (push(r, p) < 0)
			return -1;
	}
}

static int read_pair(struct reader *r, struct place *p)
{
	if (read_key(r, p) < 0)
		return -1;
	if (*r->at != '=')
		return fail(r, "no = behind a key");
	r->at++;
	skip_blanks(r);
	return read_value(r, p);
}

static int read_array(struct reader *r, const struct place *p)
{
	for (;;) {
		skip_space(r);
		if (*r->at == ']')
			break;
		if (read_value(r, p) < 0)
			return -1;
		skip_space(r);
		if (*r->at == ',')
			r->at++;
		else if (*r->at != ']')
			return fail(r, "an array does not end");
	}
	r->at++;
	return 0;
}

static int read_inline_table(struct reader *r, const struct place *p)
{
	struct place table = *p;

	if (push(r, &table) < 0)
		return -1;
	for (;;) {
		struct place inner = table;

		skip_blanks(r);
		if (*r->at == '}')
			break;
		if (read_pair(r, &inner) < 0)
			return -1;
		skip_blanks(r);
		if (*r->at == ',')
			r->at++;
		else if (*r->at != '}')
			return fail(r, "an inline table does not end");
	}
	r->at++;
	return 0;
}

/* A number, a truth, a date: as it stands there, but 15_000 is 15000. */
static int read_bare(struct reader *r, struct text *t)
{
	for (; *r->at != '\0' && strchr(BARE "+.:", *r->at) != NULL; r->at++) {
		if (*r->at != '_')
			text_add_bytes(t, r->at, 1);
	}
	return t->len == 0 || t->cut ? fail(r, "no value") : 0;
}

static int read_scalar(struct reader *r, const struct place *p)
{
	char value[VALUE_MAX];
	struct text t;

	text_init(&t, value, sizeof value);
	int rc = *r->at == '"' || *r->at == '\'' ? read_string(r, &t) :
	    read_bare(r, &t);
	if (rc == 0)
		rc = facts_add(r->out, &(struct fact){ (char *)p->scope,
		    (char *)p->key, value, r->line }, r->e);
	secret_wipe(value, sizeof value);
	return rc;
}

static int read_value(struct reader *r, const struct place *p)
{
	if (*r->at != '[' && *r->at != '{')
		return read_scalar(r, p);
	if (r->depth == DEEPEST)
		return fail(r, "nested too deeply");
	r->depth++;
	const int rc = *r->at++ == '[' ? read_array(r, p) :
	    read_inline_table(r, p);
	r->depth--;
	return rc;
}

static int read_header(struct reader *r, struct place *table)
{
	*table = (struct place){ .scope = "" };
	if (*++r->at == '[')
		return fail(r, "an array of tables");
	if (read_key(r, table) < 0 || push(r, table) < 0)
		return -1;
	if (*r->at != ']')
		return fail(r, "no ] behind the name of a table");
	r->at++;
	return 0;
}

int toml_read(const char *text, struct facts *out, struct err *e)
{
	struct reader r = { .at = text, .line = 1, .out = out, .e = e };
	struct place table = { .scope = "" };

	for (;;) {
		skip_space(&r);
		if (*r.at == '\0')
			return 0;
		struct place p = table;

		if ((*r.at == '[' ? read_header(&r, &table) :
		    read_pair(&r, &p)) < 0)
			return -1;
		skip_blanks(&r);
		if (*r.at != '\0' && strchr("\r\n#", *r.at) == NULL)
			return fail(&r, "more behind a value");
	}
}
