/* sql_back.c - which parameters may have their defaults again behind a text.
 *
 * The text is not run here: an unknown value may be NULL, and a block may take
 * any of its ways. So all that may come back is named.
 * SPDX-License-Identifier: ISC */
#include "proto/sql_back.h"

#include <string.h>
#include <strings.h>

#include "proto/msg.h"
#include "proto/params.h"
#include "sql/sql.h"
#include "sql/sql_words.h"

#define CALL "set_config"
/* Bytes of a statement, or of a call, that are read: each byte is in few of them. */
#define PIECE_MAX 600

/* --- tokens --- */

static bool sql_back_is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bool sql_back_is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool sql_back_is_inner(char ch)
{
	return ((unsigned)(uint8_t)ch | 0x20) - 'a' < 26 ||
	    sql_back_is_digit(ch) || ch == '_' || (uint8_t)ch >= 0x80;
}

static bool starts(const struct sql_text *p, const char *token)
{
	const size_t n = strlen(token);

	return (size_t)(p->end - p->at) >= n && memcmp(p->at, token, n) == 0;
}

/* Comments inside of a comment are left to what cannot be read. */
static void sql_back_skip_comment(struct sql_text *p)
{
	const char *const end = starts(p, "--") ?
	    memchr(p->at, '\n', (size_t)(p->end - p->at)) :
	    memmem(p->at + 2, (size_t)(p->end - p->at) - 2, "*/", 2);

	p->at = end == NULL ? p->end : end + (*end == '\n' ? 1 : 2);
}

/* What is left of a piece; its end is NUL. */
static char sql_back_peek(struct sql_text *p)
{
	for (;;) {
		while (p->at < p->end && sql_back_is_blank(*p->at))
			p->at++;
		if (!starts(p, "--") && !starts(p, "/*"))
			break;
		sql_back_skip_comment(p);
	}
	return p->at < p->end ? *p->at : '\0';
}

static bool sql_back_take(struct sql_text *p, const char *token)
{
	const size_t n = strlen(token);

	(void)sql_back_peek(p);
	if ((size_t)(p->end - p->at) < n ||
	    strncasecmp(p->at, token, n) != 0)
		return false;
	p->at += n;
	return true;
}

static bool sql_back_take_word(struct sql_text *p, const char *word)
{
	const struct sql_text start = *p;

	if (sql_back_take(p, word) &&
	    (p->at == p->end || !sql_back_is_inner(*p->at)))
		return true;
	*p = start;
	return false;
}

/* name => */
static void skip_notation(struct sql_text *p, const char *name)
{
	const struct sql_text start = *p;

	if (!sql_back_take_word(p, name) ||
	    !(sql_back_take(p, "=>") || sql_back_take(p, ":=")))
		*p = start;
}

/* ::text */
static void skip_casts(struct sql_text *p)
{
	while (sql_back_take(p, ")"))
		;
	while (sql_back_take(p, "::")) {
		(void)sql_back_peek(p);
		while (p->at < p->end && sql_back_is_inner(*p->at))
			p->at++;
	}
}

/* --- values --- */

enum kind {
	KIND_OTHER,	/* an expression: only the server knows */
	KIND_NULL,
	KIND_KNOWN,	/* the bytes are known */
	KIND_LITERAL,	/* is not NULL */
};

struct value {
	enum kind kind;
	const char *at;
	size_t n;
};

/* Parameter number, from 1 on, of the Bind. */
static struct value bound(const struct sql_back *b, unsigned number)
{
	struct value v = { .kind = KIND_LITERAL };
	struct reader r;

	if (b->values == NULL || number == 0)
		return v;
	reader_init(&r, b->values, b->len);
	(void)reader_bytes(&r, reader_u16(&r) * sizeof(uint16_t));
	if (reader_u16(&r) < number)
		return v;
	for (unsigned i = 0; i < number && !r.failed; i++) {
		v.n = reader_u32(&r);
		v.kind = v.n == UINT32_MAX ? KIND_NULL : KIND_KNOWN;
		v.at = v.kind == KIND_NULL ? NULL :
		    (const char *)reader_bytes(&r, v.n);
	}
	return r.failed ? (struct value){ .kind = KIND_LITERAL } : v;
}

static struct value sql_back_take_bound(struct sql_text *p,
    const struct sql_back *b)
{
	unsigned number = 0;

	for (p->at++; p->at < p->end && sql_back_is_digit(*p->at); p->at++)
		number = number > UINT16_MAX ? number :
		    number * 10 + (unsigned)(*p->at - '0');
	return bound(b, number);
}

/*
 * 'x', or ''x'' in a block that is a string; with a backslash or a quote in it, its
 * bytes are not known.
 */
static struct value sql_back_take_string(struct sql_text *p)
{
	const size_t quotes = p->end - p->at > 2 && p->at[1] == '\'' &&
	    sql_back_is_inner(p->at[2]) ? 2 : 1;
	const char *const at = p->at + quotes;

	p->at = at;
	while (p->at < p->end && *p->at != '\'' && *p->at != '\\')
		p->at++;
	const size_t n = (size_t)(p->at - at);

	if ((size_t)(p->end - p->at) <= quotes ||
	    strncmp(p->at, "''", quotes) != 0 || p->at[quotes] == '\'')
		return (struct value){ .kind = KIND_LITERAL };
	p->at += quotes;
	return (struct value){ KIND_KNOWN, at, n };
}

/* $$x$$ or $tag$x$tag$ */
static struct value sql_back_take_dollars(struct sql_text *p)
{
	const char *const tag = p->at;
	const char *at = tag + 1;

	while (at < p->end && sql_back_is_inner(*at))
		at++;
	const size_t n = (size_t)(at - tag) + 1;
	const char *const end = at == p->end || *at != '$' ? NULL :
	    memmem(tag + n, (size_t)(p->end - tag) - n, tag, n);

	if (end == NULL)
		return (struct value){ .kind = KIND_LITERAL };
	p->at = end + n;
	return (struct value){ KIND_KNOWN, tag + n, (size_t)(end - tag) - n };
}

static struct value sql_back_take_value(struct sql_text *p,
    const struct sql_back *b)
{
	while (sql_back_take(p, "("))
		;
	const char ch = sql_back_peek(p);

	if (sql_back_take_word(p, "null"))
		return (struct value){ .kind = KIND_NULL };
	if (ch == '$' && p->end - p->at > 1 && sql_back_is_digit(p->at[1]))
		return sql_back_take_bound(p, b);
	if (ch == '$')
		return sql_back_take_dollars(p);
	if (sql_back_take(p, "e'") || sql_back_take(p, "u&'"))
		p->at--;
	if (p->at < p->end && *p->at == '\'')
		return sql_back_take_string(p);
	return (struct value){ .kind = sql_back_is_digit(ch) ? KIND_LITERAL :
	    KIND_OTHER };
}

/* --- calls --- */

static uint64_t bit_of(const struct sql_back *b, const char *name)
{
	if (b->bit != NULL)
		return b->bit(b, name);
	const int i = params_find(b->names, name);

	return name[0] == '\0' ? SQL_BACK_ALL : i < 0 ? 0 : (uint64_t)1 << i;
}

struct named {
	uint64_t which;		/* parameters that the argument may name */
	bool exact;		/* it names this one */
	bool whole;		/* a comma follows */
};

/* The first argument. */
static struct named sql_back_take_name(struct sql_text *p,
    const struct sql_back *b)
{
	char name[SQL_PARAMETER_MAX];
	struct named out = { .which = 0 };

	skip_notation(p, "setting_name");
	const struct value v = sql_back_take_value(p, b);

	/* a column, maybe */
	while (v.kind == KIND_OTHER && p->at < p->end &&
	    (sql_back_is_inner(*p->at) || *p->at == '.' || *p->at == '"'))
		p->at++;
	/* or a string that is not read */
	while (v.kind == KIND_LITERAL && p->at < p->end && *p->at != ',')
		p->at++;
	skip_casts(p);
	out.whole = sql_back_take(p, ",");
	if (v.kind == KIND_KNOWN && v.n > 0 && v.n < sizeof name) {
		memcpy(name, v.at, v.n);
		name[v.n] = '\0';
		out.exact = true;
		out.which = bit_of(b, name);
	} else if (v.kind != KIND_NULL && v.kind != KIND_KNOWN && !b->strict) {
		out.which = bit_of(b, "");
	}
	return out;
}

/* The third one: does it say true? */
static bool is_local(struct sql_text *p, const struct sql_back *b)
{
	skip_casts(p);
	if (!sql_back_take(p, ","))
		return false;
	skip_notation(p, "is_local");
	if (sql_back_take_word(p, "true"))
		return true;
	const struct value v = sql_back_take_value(p, b);

	return v.kind == KIND_KNOWN && v.n > 0 && (memchr("tTyY1\1", v.at[0],
	    6) != NULL || (v.n == 2 && strncasecmp(v.at, "on", 2) == 0));
}

static void sql_back_sets(struct sql_back *b, uint64_t which)
{
	b->back &= ~which;
	b->set |= which;
}

static void comes_back(struct sql_back *b, uint64_t which)
{
	b->back |= which;
	b->set &= ~which;
}

/* p: behind the word. */
static void sql_back_read_call(struct sql_back *b, struct sql_text p)
{
	(void)sql_back_take(&p, "\"");
	if (!sql_back_take(&p, "("))
		return;
	const struct named name = sql_back_take_name(&p, b);

	skip_notation(&p, "new_value");
	const struct value v = name.whole ? sql_back_take_value(&p, b) :
	    (struct value){ .kind = KIND_OTHER };

	if (v.kind == KIND_OTHER && b->strict)
		return;
	if (v.kind == KIND_OTHER || (v.kind == KIND_NULL && !is_local(&p, b)))
		b->back |= name.which;
	else if (v.kind != KIND_NULL && b->bit != NULL && name.exact &&
	    !is_local(&p, b))
		sql_back_sets(b, name.which);
}

/* --- a text --- */

static const char *piece_end(const char *at, const char *end)
{
	return end - at > PIECE_MAX ? at + PIECE_MAX : end;
}

/* Does a block do one thing behind the other, up to its end? */
static bool is_straight(const struct sql_text *text)
{
	static const char *const words[] = { "if", "case", "loop", "exception",
		"when", "return", "exit", "execute", NULL };
	size_t which;

	return sql_next_word(text, NULL, words, &which) == NULL;
}

/* Whatever stands behind it in the block may not run. */
static void read_block(struct sql_back *b, const struct sql_text *text)
{
	static const char *const words[] = { "reset", "set", NULL };
	const bool straight = is_straight(text);
	char name[SQL_PARAMETER_MAX];
	const char *at = NULL;
	size_t which;

	if (b->strict && !straight)
		return;
	while ((at = sql_next_word(text, at, words, &which)) != NULL) {
		const char *const piece = piece_end(at, text->end);
		const char *const quote = memchr(at, '\'', (size_t)(piece - at));
		/* it may be a string that is EXECUTEd */
		const enum sql_change what = sql_change_at(at,
		    quote == NULL ? piece : quote, name);

		if (what == SQL_RESETS)
			b->back |= bit_of(b, name);
		else if (what == SQL_SETS && b->bit != NULL && straight)
			sql_back_sets(b, bit_of(b, name));
	}
}

static void read_calls(struct sql_back *b, const struct sql_text *text)
{
	static const char *const words[] = { CALL, NULL };
	const char *at = NULL;
	size_t which;

	while ((at = sql_next_word(text, at, words, &which)) != NULL)
		sql_back_read_call(b, (struct sql_text){ at + strlen(CALL),
		    piece_end(at, text->end) });
}

static void read_statements(struct sql_back *b, const struct sql_text *text)
{
	enum sql_change what;
	char name[SQL_PARAMETER_MAX];
	const char *at = text->at;

	while ((what = sql_next_change(&at, text->end, name)) !=
	    SQL_NO_CHANGE) {
		const uint64_t which = bit_of(b, name);

		b->others |= what == SQL_RESETS && which == 0;
		if (what == SQL_RESETS)
			comes_back(b, which);
		else
			sql_back_sets(b, which);
	}
}

void sql_back_read(struct sql_back *b, const char *sql, size_t max)
{
	static const char *const blocks[] = { "do", NULL };
	const size_t n = strnlen(sql, max);
	const struct sql_text text = { sql, sql + n };

	read_statements(b, &text);
	if (sql_begins(sql, n, blocks))
		read_block(b, &text);
	read_calls(b, &text);
}
