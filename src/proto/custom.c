/* custom.c - names of custom parameters, which no view of PostgreSQL lists.
 * SPDX-License-Identifier: ISC */
#include "proto/custom.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "sql/sql.h"

#define PARAMETERS_MAX 32	/* of a statement: one bit for each */
#define COMMENT_MAX 100	/* bytes of one that is read on behind */
#define KNOWN CUSTOM_KNOWN
#define UNKNOWN CUSTOM_UNKNOWN

/* --- the table --- */

/* text, unless it is there; whoever comes first has the place. */
bool custom_put(struct custom *t, const char *text)
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

/* --- tokens --- */

/* A text, and a place in it. */
struct place {
	const char *start, *at, *end;
	bool cut;	/* in a comment that is longer than is read */
};

static bool custom_is_blank(char ch)
{
	return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

static bool custom_is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_';
}

static bool custom_is_inner(char ch)
{
	return custom_is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '$';
}

static bool custom_is_accented(char ch)
{
	return (uint8_t)ch >= 0x80;
}

static bool custom_is_next(const struct place *p, const char *two)
{
	return p->end - p->at >= 2 && memcmp(p->at, two, 2) == 0;
}

/* What comes next; NUL: nothing does. */
static char custom_peek(const struct place *p)
{
	return p->at < p->end ? *p->at : '\0';
}

/* Comments nest. Whatever is in a text, each byte is read a few times only. */
static void custom_skip_comment(struct place *p)
{
	const char *const start = p->at;
	unsigned depth = 0;

	do {
		const bool opens = custom_is_next(p, "/*"),
			   ends = custom_is_next(p, "*/");

		depth += opens;
		depth -= ends;
		p->at += opens || ends ? 2 : 1;
	} while (depth > 0 && p->at < p->end &&
	    p->at - start < COMMENT_MAX);
	p->cut = p->cut || (depth > 0 && p->at < p->end);
}

static void custom_skip_line(struct place *p)
{
	const char *const start = p->at;

	while (p->at < p->end && *p->at != '\n' && *p->at != '\r' &&
	    p->at - start < COMMENT_MAX)
		p->at++;
	p->cut = p->cut || (p->at < p->end && *p->at != '\n' &&
	    *p->at != '\r');
}

/* Blanks, and comments. */
static void custom_skip_blanks(struct place *p)
{
	for (;;) {
		while (p->at < p->end && custom_is_blank(*p->at))
			p->at++;
		if (custom_is_next(p, "--"))
			custom_skip_line(p);
		else if (custom_is_next(p, "/*"))
			custom_skip_comment(p);
		else
			return;
	}
}

/* Step over the word, if that is what comes next, and what is blank behind. */
static bool custom_take_word(struct place *p, const char *word)
{
	const size_t n = strlen(word);

	if ((size_t)(p->end - p->at) <= n ||
	    strncasecmp(p->at, word, n) != 0 || custom_is_inner(p->at[n]) ||
	    custom_is_accented(p->at[n]))
		return false;
	p->at += n;
	custom_skip_blanks(p);
	return true;
}

/* --- names in their spellings --- */

/* The value of n digits; -1: others are there. */
static int32_t read_hex(const struct place *p, size_t n)
{
	int32_t value = 0;

	if ((size_t)(p->end - p->at) < n)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char ch = p->at[i];
		const int digit = ch >= '0' && ch <= '9' ? ch - '0' :
		    (ch | 0x20) >= 'a' && (ch | 0x20) <= 'f' ?
		    (ch | 0x20) - 'a' + 10 : -1;

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Behind the backslash of \0041 or \+000041: what is ASCII; or 0. */
static char take_code(struct place *p)
{
	const bool is_long = custom_peek(p) == '+';
	const size_t n = is_long ? 6 : 4;

	p->at += is_long;
	const int32_t code = read_hex(p, n);

	if (code <= 0 || code >= 0x80)
		return '\0';
	p->at += n;
	return (char)code;
}

/*
 * Up to the quote, which is skipped. Two quotes, and backslashes, may mean this
 * or that: such names are not read.
 */
static bool custom_take_quoted(struct place *p, char quote, bool unicode,
    struct custom_name *to)
{
	for (p->at++; p->at < p->end && *p->at != quote && !to->failed;) {
		char ch = *p->at++;

		if (ch == '\\' && unicode)
			ch = take_code(p);
		if (ch == '\0' || ch == '\\')
			return false;
		custom_name_add(to, ch);
	}
	if (custom_peek(p) != quote)
		return false;
	p->at++;
	return custom_peek(p) != quote;
}

/* $$name$$ */
static bool custom_take_dollars(struct place *p, struct custom_name *to)
{
	const char *const tag = p->at++;

	while (p->at < p->end && *p->at != '$' && (custom_is_inner(*p->at) ||
	    custom_is_accented(*p->at)))
		p->at++;
	if (custom_peek(p) != '$')
		return false;
	const size_t n = (size_t)(++p->at - tag);

	for (; (size_t)(p->end - p->at) >= n && !to->failed; p->at++) {
		if (memcmp(p->at, tag, n) == 0) {
			p->at += n;
			return true;
		}
		custom_name_add(to, *p->at);
	}
	return false;
}

/* ''name'', in a string */
static bool take_nested(struct place *p, struct custom_name *to)
{
	for (p->at += 2; p->at < p->end && *p->at != '\'' && !to->failed;) {
		if (*p->at == '\\')
			return false;
		custom_name_add(to, *p->at++);
	}
	if (!custom_is_next(p, "''"))
		return false;
	p->at += 2;
	return true;
}

/* Does U& come next, or E, with that quote? How many bytes. */
static size_t prefix(const struct place *p, char quote)
{
	const size_t left = (size_t)(p->end - p->at);

	if (left > 2 && (p->at[0] | 0x20) == 'u' && p->at[1] == '&' &&
	    p->at[2] == quote)
		return 2;
	return left > 1 && quote == '\'' && (p->at[0] | 0x20) == 'e' &&
	    p->at[1] == quote;
}

/* An identifier, or an expression, in quotes, with what is before them. */
static bool take_prefixed(struct place *p, char quote, struct custom_name *to)
{
	const size_t n = prefix(p, quote);

	p->at += n;
	if (custom_peek(p) != quote ||
	    !custom_take_quoted(p, quote, n == 2, to))
		return false;
	custom_skip_blanks(p);
	return n != 2 || !custom_take_word(p, "uescape");
}

/* A part of a name; PostgreSQL cuts what is longer than that. */
static bool take_part(struct place *p, struct custom_name *to)
{
	const size_t before = to->len;

	if (custom_peek(p) == '"' || prefix(p, '"') > 0) {
		if (!take_prefixed(p, '"', to))
			return false;
	} else {
		if (!custom_is_letter(custom_peek(p)) &&
		    !custom_is_accented(custom_peek(p)))
			return false;
		while (custom_is_inner(custom_peek(p)) ||
		    custom_is_accented(custom_peek(p)))
			custom_name_add(to, *p->at++);
	}
	return custom_name_cut(to, before, SQL_NAME_MAX - 1);
}

/* --- SET --- */

/* Behind the name of one that is not custom: has it an end there? */
static bool is_whole(const struct place *name, const struct place *next)
{
	const char ch = custom_peek(name);

	if (custom_peek(next) == '=' || custom_peek(next) == '\0' || ch == ';')
		return true;
	return (next->at > name->at || ch == '"') &&
	    strchr("./-|", custom_peek(next)) == NULL;
}

/* Behind SET: is it a name, in a way that is understood here? */
static enum custom_found read_set(struct custom_reader *r, struct place p)
{
	struct custom_name name;
	struct place behind = p;
	bool first = true;

	if ((custom_take_word(&p, "session") ||
		custom_take_word(&p, "local")) &&
	    custom_peek(&p) == '.')
		p = behind;	/* SET local.x */
	if (p.cut)
		return UNKNOWN;
	/* a column has the name; or UPDATE t SET (a, b) = ... */
	if (custom_peek(&p) == '\0' ||
	    strchr("(.,;)=<>", custom_peek(&p)) != NULL)
		return KNOWN;
	custom_name_init(&name, r->encoding);
	for (; first || custom_peek(&p) == '.'; first = false) {
		if (!first) {
			custom_name_add(&name, *p.at++);
			custom_skip_blanks(&p);
		}
		if (!take_part(&p, &name))
			return UNKNOWN;
		behind = p;
		custom_skip_blanks(&p);
	}
	if (p.cut)
		return UNKNOWN;
	if (!custom_name_is_custom(&name))
		return is_whole(&behind, &p) ? KNOWN : UNKNOWN;
	if (custom_peek(&p) != '=' && !custom_take_word(&p, "to"))
		return UNKNOWN;
	return custom_name_take(&name, r);
}

/* The word that ends at the place, behind blanks; how many bytes. */
static size_t word_before(const struct place *p, const char **word)
{
	const char *end = p->at;

	while (end > p->start && custom_is_blank(end[-1]))
		end--;
	*word = end;
	while (*word > p->start && (custom_is_inner((*word)[-1]) ||
	    custom_is_accented((*word)[-1])))
		(*word)--;
	return (size_t)(end - *word);
}

/*
 * Is the SET there no statement, but a part of an UPDATE or ALTER: behind a name
 * that is no word of a block?
 */
static bool custom_is_clause(const struct place *p)
{
	static const char *const words[] = { "begin", "then", "else", "loop",
		"atomic", "as" };
	const char *word;
	const size_t n = word_before(p, &word);

	if (n == 0)
		return word > p->start && strchr("\")]*", word[-1]) != NULL;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (n == strlen(words[i]) && strncasecmp(word, words[i], n) == 0)
			return false;
	return word[n - 1] != '$';
}

/* --- set_config() --- */

/* $1, whose value a Bind has. */
static bool custom_take_parameter(struct place *p, struct custom_reader *r)
{
	unsigned n = 0;

	for (p->at++; custom_peek(p) >= '0' && custom_peek(p) <= '9'; p->at++)
		n = n < PARAMETERS_MAX ? n * 10 + (unsigned)(*p->at - '0') : n;
	if (n == 0 || n > PARAMETERS_MAX)
		return false;
	r->bound |= (uint32_t)1 << (n - 1);
	return true;
}

/* A string whose value is known; or a parameter, which has none here. */
static bool take_argument(struct place *p, struct custom_reader *r,
    struct custom_name *to)
{
	if (custom_peek(p) == '$' && p->end - p->at > 1 && p->at[1] >= '0' &&
	    p->at[1] <= '9')
		return custom_take_parameter(p, r);
	if (custom_peek(p) == '$')
		return custom_take_dollars(p, to);
	if (custom_is_next(p, "''"))
		return take_nested(p, to);
	return take_prefixed(p, '\'', to);
}

/* Nothing is done to the string but that it is text. */
static bool is_argument_end(struct place *p)
{
	custom_skip_blanks(p);
	if (custom_is_next(p, "::")) {
		p->at += 2;
		custom_skip_blanks(p);
		if (!custom_take_word(p, "text") &&
		    !custom_take_word(p, "varchar"))
			return false;
	}
	return custom_peek(p) == ',';
}

/* Behind set_config: a call, with a string that is the name? */
static enum custom_found custom_read_call(struct custom_reader *r,
    struct place p)
{
	struct custom_name name;

	if (custom_peek(&p) == '"') {
		p.at++;
		custom_skip_blanks(&p);
	}
	if (custom_peek(&p) != '(')
		return CUSTOM_HIDDEN;
	p.at++;
	custom_skip_blanks(&p);
	if (custom_take_word(&p, "setting_name") && custom_is_next(&p, "=>")) {
		p.at += 2;
		custom_skip_blanks(&p);
	}
	custom_name_init(&name, r->encoding);
	/* a text that ends here is one that PostgreSQL refuses */
	if (!take_argument(&p, r, &name) || !is_argument_end(&p))
		return custom_peek(&p) == '\0' ? CUSTOM_HIDDEN : UNKNOWN;
	if (p.cut)
		return UNKNOWN;
	return custom_name_is_custom(&name) ? custom_name_take(&name, r) :
	    KNOWN;
}

/* U&"set\005fconfig" */
static enum custom_found read_unicode(struct custom_reader *r, struct place p)
{
	struct custom_name name;

	custom_name_init(&name, NULL);
	if (p.at[2] == '\'')
		return KNOWN;
	if (!take_prefixed(&p, '"', &name))
		return CUSTOM_HIDDEN;
	return custom_name_equals(&name, "set_config") ?
	    custom_read_call(r, p) : KNOWN;
}

/* --- a text --- */

enum found { FOUND_NONE, FOUND_SET, FOUND_CALL, FOUND_UNICODE };

/* The next of these; where it begins goes to *word, p is behind it then. */
static enum found custom_find(struct place *p, const char **word)
{
	for (const char *s = p->at; p->end - s > 4; s++) {
		*word = s;
		if (s[1] == '&' && (*s | 0x20) == 'u' &&
		    (s[2] == '"' || s[2] == '\'')) {
			p->at = s + 1;
			return FOUND_UNICODE;
		}
		/* behind a dollar sign a string may begin: $$set */
		if ((*s | 0x20) != 's' || (s > p->start && s[-1] != '$' &&
		    custom_is_inner(s[-1])))
			continue;
		p->at = s;
		if (custom_take_word(p, "set"))
			return FOUND_SET;
		if (custom_take_word(p, "set_config"))
			return FOUND_CALL;
	}
	return FOUND_NONE;
}

enum custom_found custom_read(struct custom_reader *r, const char *sql,
    size_t n)
{
	struct place p = { .start = sql, .at = sql, .end = sql + n };
	enum custom_found all = KNOWN, what;
	enum found found;
	const char *word;

	r->bound = 0;
	while ((found = custom_find(&p, &word)) != FOUND_NONE) {
		const struct place at = { .start = sql, .at = word,
			.end = p.end };
		/* a comment that is skipped may hide one */
		const char *const behind = word + 3;

		what = found == FOUND_UNICODE ? read_unicode(r, at) :
		    found == FOUND_CALL ? custom_read_call(r, p) :
		    custom_is_clause(&at) ? KNOWN : read_set(r, p);
		all = what > all ? what : all;
		p.at = behind;
		p.cut = false;
	}
	if ((all == UNKNOWN || r->bound != 0) && sql_defines_function(sql, n)) {
		r->bound = 0;
		return CUSTOM_HIDDEN;
	}
	return all;
}

static bool takes_any(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return true;
}

uint32_t custom_bound(const char *sql, size_t n)
{
	struct custom_reader r = { .take = takes_any };

	(void)custom_read(&r, sql, n);
	return r.bound;
}

/* A value of a Bind that is a name. */
static enum custom_found custom_read_value(struct custom_reader *r,
    const char *at, size_t n)
{
	struct custom_name name;

	custom_name_init(&name, r->encoding);
	for (size_t i = 0; i < n; i++)
		custom_name_add(&name, at[i]);
	return custom_name_is_custom(&name) ? custom_name_take(&name, r) :
	    KNOWN;
}

static uint32_t get(struct place *p, size_t n, bool *failed)
{
	uint32_t value = 0;

	*failed = *failed || (size_t)(p->end - p->at) < n;
	for (size_t i = 0; !*failed && i < n; i++)
		value = value << 8 | (uint8_t)*p->at++;
	return value;
}

enum custom_found custom_read_bind(struct custom_reader *r, const void *values,
    size_t n)
{
	const char *const start = values;
	struct place p = { .start = start, .at = start, .end = start + n };
	enum custom_found all = KNOWN, what;
	bool failed = false;
	const uint32_t formats = get(&p, 2, &failed);
	uint32_t left = r->bound;

	if (failed || (size_t)(p.end - p.at) < formats * 2)
		return UNKNOWN;
	p.at += formats * 2;
	const uint32_t count = get(&p, 2, &failed);

	for (uint32_t i = 0; i < count && left != 0; i++, left >>= 1) {
		const uint32_t len = get(&p, 4, &failed);

		if (len == UINT32_MAX)
			continue;	/* NULL names nothing */
		if (failed || len > (size_t)(p.end - p.at))
			return UNKNOWN;
		what =
		    (left & 1) == 0 ? KNOWN : custom_read_value(r, p.at, len);
		all = what > all ? what : all;
		p.at += len;
	}
	return left != 0 ? UNKNOWN : all;
}

#define ENCODING_MAX 32
#define KEPT_MAX (ENCODING_MAX + 1 + 2 * CUSTOM_NAME_MAX + 1)

void custom_name_init(struct custom_name *n, const char *encoding)
{
	n->encoding = encoding;
	n->len = 0;
	n->failed = n->accented = n->dotted = false;
	n->plain = true;
}

static bool custom_name_is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || ch == '_';
}

void custom_name_add(struct custom_name *n, char ch)
{
	const bool first = n->len == 0 || n->text[n->len - 1] == '.';

	/* names are compared so, as far as they are ASCII */
	if (ch >= 'A' && ch <= 'Z')
		ch = (char)(ch + ('a' - 'A'));
	n->plain = n->plain && (custom_name_is_letter(ch) || (!first && (ch == '.' ||
	    ch == '$' || (ch >= '0' && ch <= '9'))));
	n->accented = n->accented || (uint8_t)ch >= 0x80;
	n->dotted = n->dotted || ch == '.';
	n->failed = n->failed || n->len == sizeof n->text;
	if (!n->failed)
		n->text[n->len++] = ch;
}

bool custom_name_cut(struct custom_name *n, size_t before, size_t max)
{
	if (n->len - before <= max)
		return true;
	n->len = before + max;
	return !n->accented;
}

bool custom_name_is_custom(const struct custom_name *n)
{
	return n->dotted;
}

bool custom_name_equals(const struct custom_name *n, const char *word)
{
	return !n->failed && n->len == strlen(word) &&
	    memcmp(n->text, word, n->len) == 0;
}

/*
 * In these the second byte of a character may be a backslash or another one of
 * ASCII, so that what looks like the end of a name may not be one.
 */
bool custom_encoding_is_safe(const char *encoding)
{
	static const char *const others[] = { "BIG5", "GB18030", "GBK", "JOHAB",
		"SHIFT_JIS_2004", "SJIS", "UHC" };

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strcasecmp(encoding, others[i]) == 0)
			return false;
	for (const char *s = encoding; *s != '\0'; s++)
		if (!custom_name_is_letter((char)(*s | 0x20)) && *s != '_' &&
		    !(*s >= '0' && *s <= '9'))
			return false;
	return encoding[0] != '\0' && strlen(encoding) < ENCODING_MAX;
}

enum custom_found custom_name_take(const struct custom_name *n,
    const struct custom_reader *r)
{
	char kept[KEPT_MAX];

	if (n->failed || (n->accented && (n->encoding == NULL ||
	    !custom_encoding_is_safe(n->encoding))))
		return CUSTOM_UNKNOWN;
	if (n->plain) {
		memcpy(kept, n->text, n->len);
		kept[n->len] = '\0';
	} else {
		int at = snprintf(kept, sizeof kept, "%s:", n->accented ?
		    n->encoding : "SQL_ASCII");

		for (size_t i = 0; i < n->len; i++)
			at += snprintf(kept + at, sizeof kept - (size_t)at,
			    "%02x", (unsigned)(uint8_t)n->text[i]);
	}
	return r->take(r->arg, kept) ? CUSTOM_KNOWN : CUSTOM_UNKNOWN;
}

bool custom_name_is_plain(const char *kept)
{
	return strchr(kept, ':') == NULL;
}

void custom_name_write(const char *kept, struct writer *w)
{
	static const char decode[] =
	    "pg_catalog.convert_from(pg_catalog.decode('";
	const char *const hex = strchr(kept, ':') + 1;

	writer_bytes(w, decode, sizeof decode - 1);
	writer_bytes(w, hex, strlen(hex));
	writer_bytes(w, "','hex'),'", 10);
	writer_bytes(w, kept, (size_t)(hex - 1 - kept));
	writer_bytes(w, "')", 2);
}
