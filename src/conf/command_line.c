/* command_line.c - the text of a command as an argument vector, without a shell.
 * SPDX-License-Identifier: ISC */
#include "conf/command_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct split {
	const char *at;
	struct command_line *out;
	struct err *e;
};

static int bad(const struct split *s, const char *why)
{
	return err_set(s->e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "command cannot be used: %s", why);
}

static int put(struct split *s, char c)
{
	if (s->out->bytes == COMMAND_BYTES_MAX)
		return bad(s, "it is too long");
	s->out->words[s->out->bytes++] = c;
	return 0;
}

static int take_single_quoted(struct split *s)
{
	while (*s->at != '\0' && *s->at != '\'') {
		if (put(s, *s->at++) < 0)
			return -1;
	}
	if (*s->at == '\0')
		return bad(s, "a single quote is not closed");
	s->at++;
	return 0;
}

/* Does a backslash take c literally between double quotes? */
static bool is_escaped(char c)
{
	return c != '\0' && strchr("$`\"\\", c) != NULL;
}

static int take_double_quoted(struct split *s)
{
	while (*s->at != '\0' && *s->at != '"') {
		if (s->at[0] == '\\' && is_escaped(s->at[1]))
			s->at++;
		if (put(s, *s->at++) < 0)
			return -1;
	}
	if (*s->at == '\0')
		return bad(s, "a double quote is not closed");
	s->at++;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* What stands at s->at, which is within a word. */
static int take_piece(struct split *s)
{
	const char c = *s->at++;

	if (c == '\'')
		return take_single_quoted(s);
	if (c == '"')
		return take_double_quoted(s);
	if (c != '\\')
		return put(s, c);
	if (*s->at == '\0')
		return bad(s, "nothing follows its last backslash");
	return put(s, *s->at++);
}

static int take_word(struct split *s)
{
	if (s->out->count == COMMAND_WORDS_MAX)
		return bad(s, "it has too many words");
	while (*s->at != '\0' && !is_blank(*s->at)) {
		if (take_piece(s) < 0)
			return -1;
	}
	s->out->count++;
	return put(s, '\0');
}

static int take_all(struct split *s)
{
	for (;;) {
		while (is_blank(*s->at))
			s->at++;
		if (*s->at == '\0')
			break;
		if (take_word(s) < 0)
			return -1;
	}
	if (s->out->count == 0)
		return bad(s, "it is empty");
	/* the environment has no PATH to look for a name */
	if (s->out->words[0] != '/')
		return bad(s, "it does not begin with the whole path of a "
		    "program");
	return 0;
}

int command_line_parse(const char *text, struct command_line *out,
    struct err *e)
{
	struct split s = { .at = text, .out = out, .e = e };

	*out = (struct command_line){ .words = mem_alloc(COMMAND_BYTES_MAX) };
	if (out->words == NULL)
		return err_nomem(e);
	if (take_all(&s) == 0)
		return 0;
	command_line_fini(out);
	return -1;
}

void command_line_fini(struct command_line *c)
{
	mem_free(c->words);
	*c = (struct command_line){ .words = NULL };
}
