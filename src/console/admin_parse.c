/* admin_parse.c - the console's grammar: words, quotes and signs, one command
 * a message.
 * SPDX-License-Identifier: ISC */
#include "console/admin_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
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

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WORD_OF(array) (struct lex_word){ .buf = (array), .size = sizeof(array) }

static bool take_arg(struct lex *l, struct admin_command *out)
{
	struct lex_word word = WORD_OF(out->arg);

	out->has_arg = true;
	return lex_word(l, &word);
}

/* --- what SHOW shows of a topic --- */

static bool take_column(struct lex *l, struct show_query *q)
{
	if (q->column_count == SHOW_COLUMNS_MAX)
		return false;
	struct lex_word word = WORD_OF(q->columns[q->column_count++]);

	lex_blank(l);
	return lex_word(l, &word);
}

static bool take_columns(struct lex *l, struct show_query *q)
{
	do {
		if (!take_column(l, q))
			return false;
	} while (lex_sign(l, ","));
	return true;
}

/* IS NULL, IS NOT NULL; the IS is taken. */
static bool take_null(struct lex *l, struct show_condition *c)
{
	c->op = lex_keyword(l, "NOT") ? SHOW_NOT_NULL : SHOW_NULL;
	return lex_keyword(l, "NULL");
}

static bool take_op(struct lex *l, struct show_condition *c)
{
	/* the longer ones first */
	static const struct {
		const char *sign;
		enum show_op op;
	} ops[] = {
		{ "<>", SHOW_UNEQUAL },
		{ "!=", SHOW_UNEQUAL },
		{ "<=", SHOW_AT_MOST },
		{ ">=", SHOW_AT_LEAST },
		{ "=", SHOW_EQUAL },
		{ "<", SHOW_LESS },
		{ ">", SHOW_GREATER },
	};

	for (size_t i = 0; i < COUNT(ops); i++) {
		if (lex_sign(l, ops[i].sign)) {
			c->op = ops[i].op;
			return true;
		}
	}
	return false;
}

/* What SQL takes for the name of a column. */
static bool is_bare(const struct lex *l)
{
	const char *const at = l->at + strspn(l->at, "( \t\r\n");

	return *at != '\'' && *at != '-' && *at != '$' &&
	    (*at < '0' || *at > '9');
}

static bool take_condition(struct lex *l, struct show_query *q)
{
	if (q->where_count == SHOW_WHERE_MAX)
		return false;
	struct show_condition *const c = &q->where[q->where_count++];
	struct lex_word column = WORD_OF(c->column), value = WORD_OF(c->value);

	lex_blank(l);
	if (!lex_word(l, &column) || column.param != 0)
		return false;
	if (lex_keyword(l, "IS"))
		return take_null(l, c);
	if (!take_op(l, c))
		return false;
	c->bare = is_bare(l);
	if (!lex_operand(l, &value))
		return false;
	c->param = value.param;
	return true;
}

static bool take_conditions(struct lex *l, struct show_query *q)
{
	do {
		if (!take_condition(l, q))
			return false;
	} while (lex_keyword(l, "AND"));
	return true;
}

static bool take_order(struct lex *l, struct show_query *q)
{
	struct lex_word word = WORD_OF(q->order);

	if (!lex_keyword(l, "BY"))
		return false;
	lex_blank(l);
	if (!lex_word(l, &word) || word.param != 0)
		return false;
	q->descending = lex_keyword(l, "DESC");
	if (!q->descending)
		(void)lex_keyword(l, "ASC");
	return true;
}

static bool take_limit(struct lex *l, struct show_query *q)
{
	char number[32];
	struct lex_word word = WORD_OF(number);
	uint32_t limit = 0;

	if (!lex_operand(l, &word))
		return false;
	q->limit_param = word.param;
	/* a parameter whose value is not known yet is empty */
	if (num_parse_u32(number, &limit) < 0 &&
	    (word.param == 0 || number[0] != '\0'))
		return false;
	q->limit = limit;
	return true;
}

static bool take_clauses(struct lex *l, struct show_query *q)
{
	if (lex_keyword(l, "WHERE") && !take_conditions(l, q))
		return false;
	if (lex_keyword(l, "ORDER") && !take_order(l, q))
		return false;
	return !lex_keyword(l, "LIMIT") || take_limit(l, q);
}

/* SELECT column, ... FROM topic; nothing is taken if it is not that. */
static bool take_from(struct lex *l, struct admin_command *out)
{
	const struct lex start = *l;

	out->show.extended = lex_sign(l, "*");
	if ((out->show.extended || take_columns(l, &out->show)) &&
	    lex_keyword(l, "FROM") && lex_blank(l) && take_arg(l, out))
		return true;
	*l = start;
	out->show.extended = false;
	out->has_arg = false;
	out->show.column_count = 0;
	return false;
}

static bool is_clause(struct lex l)
{
	static const char *const words[] = { "WHERE", "ORDER", "LIMIT" };

	for (size_t i = 0; i < COUNT(words); i++) {
		if (lex_keyword(&l, words[i]))
			return true;
	}
	return *l.at == '(' || *l.at == '\0' || *l.at == ';';
}

/* SHOW JSON topic: if there is one, the word is not the topic itself. */
static bool take_json(struct lex *l)
{
	struct lex ahead = *l;

	if (!lex_keyword(&ahead, "JSON") || is_clause(ahead))
		return false;
	*l = ahead;
	return lex_blank(l);
}

static bool take_show(struct lex *l, struct admin_command *out)
{
	struct show_query *const q = &out->show;

	if (!lex_blank(l) || *l->at == '\0' || *l->at == ';')
		return true;
	if (text_casecmp(out->verb, "SELECT") == 0 && take_from(l, out))
		return take_clauses(l, q);
	q->json = take_json(l);
	if (!take_arg(l, out))
		return false;
	q->extended = lex_keyword(l, "EXTENDED") || q->json;
	if (lex_sign(l, "(") &&
	    (!take_columns(l, q) || !lex_sign(l, ")")))
		return false;
	return take_clauses(l, q);
}

/* --- other commands --- */

/* Between the key and the value of SET. */
static bool take_assign(struct lex *l)
{
	lex_blank(l);
	if (*l->at == '=') {
		l->at++;
	} else {
		if ((l->at[0] != 't' && l->at[0] != 'T') ||
		    (l->at[1] != 'o' && l->at[1] != 'O'))
			return false;
		l->at += 2;
	}
	lex_blank(l);
	return true;
}

static bool take_assignment(struct lex *l, struct admin_command *out)
{
	struct lex_word value = WORD_OF(out->value);

	if (!take_arg(l, out) || !take_assign(l))
		return false;
	if (*l->at == '\'')
		return lex_value(l, &value);
	return lex_word(l, &value);
}

static bool take_set(struct lex *l, struct admin_command *out)
{
	out->is_set = true;
	if (!lex_blank(l))
		return false;
	const struct lex start = *l;

	if (lex_keyword(l, "PERSIST") && lex_blank(l) &&
	    take_assignment(l, out)) {
		out->persist = true;
		return true;
	}
	*l = start;
	return take_assignment(l, out);
}

/* An argument, if there is one. */
static bool take_plain(struct lex *l, struct admin_command *out)
{
	if (!lex_blank(l) || *l->at == '\0' || *l->at == ';')
		return true;
	return take_arg(l, out);
}

/* A database, or HOST and its name or address. */
static bool take_place(struct lex *l, struct admin_command *out)
{
	const struct lex start = *l;
	struct lex_word value = WORD_OF(out->value);

	if (lex_blank(l) && lex_keyword(l, "HOST") && lex_blank(l) &&
	    lex_bare(l, &value)) {
		out->is_host = true;
		return true;
	}
	*l = start;
	return take_plain(l, out);
}

/* USER and its name. */
static bool take_user(struct lex *l, struct admin_command *out)
{
	struct lex_word value = WORD_OF(out->value);

	out->is_user = lex_blank(l) && lex_keyword(l, "USER") &&
	    lex_blank(l) && lex_word(l, &value);
	return out->is_user;
}

/* A mode, and how long a DRAIN may take. */
static bool take_shutdown(struct lex *l, struct admin_command *out)
{
	struct lex_word value = WORD_OF(out->value);

	if (!take_plain(l, out) || text_casecmp(out->arg, "DRAIN") != 0)
		return true;
	if (lex_blank(l) && *l->at != '\0' && *l->at != ';')
		return lex_bare(l, &value);
	return true;
}

static bool take_text(struct lex *l, struct admin_command *out)
{
	struct lex_word value = WORD_OF(out->value);

	if (!lex_blank(l))
		return true;
	out->has_arg = lex_rest(l, &value);
	return true;
}

typedef bool take_fn(struct lex *l, struct admin_command *out);

/* What follows a verb, where it is more than one word. */
static take_fn *form_of(const char *verb)
{
	static const struct {
		const char *verb;
		take_fn *take;
	} forms[] = {
		{ "SHOW", take_show },
		{ "SELECT", take_show },
		{ "SET", take_set },
		{ "DRAIN", take_place },
		{ "RESUME", take_place },
		{ "FORGET", take_user },
		{ "LOG", take_text },
		{ "SHUTDOWN", take_shutdown },
	};

	for (size_t i = 0; i < COUNT(forms); i++) {
		if (text_casecmp(forms[i].verb, verb) == 0)
			return forms[i].take;
	}
	return take_plain;
}

enum admin_parse_result admin_parse(const char *query,
    const struct admin_params *params, struct admin_command *out)
{
	struct lex l = { .at = query, .params = params };

	memset(out, 0, sizeof *out);
	out->show.limit = -1;
	lex_blank(&l);
	const bool quoted = *l.at == '"';
	struct lex_word verb = WORD_OF(out->verb);

	if (*l.at == '$' || !lex_word(&l, &verb))
		return ADMIN_PARSE_INVALID;
	/* SET takes no argument in quotes */
	take_fn *const take = quoted && text_casecmp(out->verb, "SET") == 0 ?
	    take_plain : form_of(out->verb);

	if (!take(&l, out) || !lex_end(&l))
		return ADMIN_PARSE_INVALID;
	out->params = l.used;
	if (l.cut || (out->is_set && out->arg[0] == '\0'))
		return ADMIN_PARSE_TOO_LONG;
	return ADMIN_PARSE_OK;
}
