/* hba_regex.c - PostgreSQL's regular expressions, as far as names need them.
 *
 * A pattern is read by PostgreSQL's rules and written anew by the rules of
 * regcomp(3), for the locale "C". Syntax without a counterpart is refused.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_regex.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define PATTERN_MAX 1000	/* bytes */
#define OUT_MAX (64 * 1024)	/* of the one for regcomp(3) */
#define DEPTH_MAX 20		/* of parentheses */
#define REPEAT_MAX 255		/* as in PostgreSQL */
#define WEIGHT_MAX 5000		/* atoms, when repetitions are written out */

struct hba_regex {
	regex_t re;
};

struct set {
	bool has[256];		/* of bytes; never 0 */
};

/* One branch at some depth. */
struct level {
	unsigned weight;	/* of the whole group so far */
	bool begun;		/* the last branch is not empty */
};

struct reader {
	const unsigned char *at, *end;
	struct text out;
	struct err *e;
	unsigned depth;
	unsigned last;		/* weight of what a quantifier would repeat;
				 * 0: nothing that one may follow */
	struct level levels[DEPTH_MAX + 1];
};

static int bad(const struct reader *r, const char *what)
{
	return err_set(r->e, ERRCODE_CONFIG_FILE_ERROR,
	    "regular expression: %s", what);
}

static void put(struct reader *r, unsigned char c)
{
	text_add_bytes(&r->out, &c, 1);
}

/* --- what matches one byte --- */

static int add_weight(struct reader *r, unsigned weight)
{
	struct level *const l = &r->levels[r->depth];

	l->weight += weight;
	l->begun = true;
	return l->weight <= WEIGHT_MAX ? 0 : bad(r, "too complex");
}

static int end_atom(struct reader *r)
{
	r->last = 1;
	return add_weight(r, 1);
}

static int put_literal(struct reader *r, unsigned char c)
{
	if (strchr("^.[$()|*+?{\\", c) != NULL)
		put(r, '\\');
	put(r, c);
	return end_atom(r);
}

/* Ends and ranges mean something inside brackets, depending on the place. */
static int put_set(struct reader *r, const struct set *s)
{
	unsigned count = 0, others = 0, one = 0;

	for (unsigned c = 1; c < 256; c++) {
		if (!s->has[c])
			continue;
		count++;
		one = c;
		others += c != '^' && c != '-';
	}
	if (count == 0)
		return bad(r, "an empty set of characters");
	if (count == 1)
		return put_literal(r, (unsigned char)one);
	put(r, '[');
	if (s->has[']'])
		put(r, ']');
	for (unsigned c = 1; c < 256; c++) {
		if (s->has[c] && strchr("]^-[", (int)c) == NULL)
			put(r, (unsigned char)c);
	}
	if (s->has['['])
		put(r, '[');
	if (others == 0)
		text_add(&r->out, "-^");
	else if (s->has['^'])
		put(r, '^');
	if (others > 0 && s->has['-'])
		put(r, '-');
	put(r, ']');
	return end_atom(r);
}

static void add_class(struct set *s, int (*is)(int c))
{
	/* only ASCII is known to belong to a class */
	for (int c = 1; c < 128; c++) {
		if (is(c))
			s->has[c] = true;
	}
}

static void invert(struct set *s)
{
	for (unsigned c = 1; c < 256; c++)
		s->has[c] = !s->has[c];
}

/* \d, \s, \w; false: c is none of these. */
static bool add_shorthand(struct set *s, unsigned char c)
{
	switch (c) {
	case 'd': add_class(s, isdigit); return true;
	case 's': add_class(s, isspace); return true;
	case 'w':
		add_class(s, isalnum);
		s->has['_'] = true;
		return true;
	}
	return false;
}

static bool is_plain(unsigned char c)
{
	return c < 128 && !isalnum(c);
}

/* --- brackets --- */

static int add_named(struct reader *r, struct set *s)
{
	static const struct {
		const char *name;
		int (*is)(int c);
	} classes[] = {
		{ "alnum:]", isalnum }, { "alpha:]", isalpha },
		{ "blank:]", isblank }, { "cntrl:]", iscntrl },
		{ "digit:]", isdigit }, { "graph:]", isgraph },
		{ "lower:]", islower }, { "print:]", isprint },
		{ "punct:]", ispunct }, { "space:]", isspace },
		{ "upper:]", isupper }, { "xdigit:]", isxdigit },
	};

	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
		const size_t len = strlen(classes[i].name);

		if ((size_t)(r->end - r->at) < len ||
		    memcmp(r->at, classes[i].name, len) != 0)
			continue;
		add_class(s, classes[i].is);
		r->at += len;
		return 0;
	}
	return bad(r, "an unknown class of characters");
}

enum item { ITEM_CHAR, ITEM_SET, ITEM_BAD };

/* An item of a bracket: a character, or a set that s has now. */
static enum item take_item(struct reader *r, struct set *s, unsigned char *c)
{
	*c = *r->at++;
	if (*c == '[' && r->at < r->end && strchr(".=:", *r->at) != NULL) {
		if (*r->at++ != ':') {
			(void)bad(r, "collating elements are not supported");
			return ITEM_BAD;
		}
		return add_named(r, s) == 0 ? ITEM_SET : ITEM_BAD;
	}
	if (*c != '\\')
		return ITEM_CHAR;
	if (r->at == r->end) {
		(void)bad(r, "it ends in a backslash");
		return ITEM_BAD;
	}
	*c = *r->at++;
	if (add_shorthand(s, *c))
		return ITEM_SET;
	if (is_plain(*c))
		return ITEM_CHAR;
	(void)bad(r, "this escape is not supported in brackets");
	return ITEM_BAD;
}

/* Is this a minus that stands for a range? */
static bool is_range(const struct reader *r)
{
	return r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']';
}

static int take_range(struct reader *r, struct set *s)
{
	unsigned char from, to;
	const bool minus = *r->at == '-';
	const enum item first = take_item(r, s, &from);

	if (first == ITEM_BAD)
		return -1;
	if (!is_range(r)) {
		if (first == ITEM_CHAR)
			s->has[from] = true;
		return 0;
	}
	r->at++;
	if (first == ITEM_SET || minus || *r->at == '-' ||
	    take_item(r, s, &to) != ITEM_CHAR || to < from)
		return bad(r, "a range that is none");
	for (unsigned c = from; c <= to; c++)
		s->has[c] = true;
	return 0;
}

static int take_bracket(struct reader *r)
{
	struct set s = { .has = { false } };
	const bool negated = r->at < r->end && *r->at == '^';
	bool first = true;

	if (negated)
		r->at++;
	for (; r->at < r->end && (first || *r->at != ']'); first = false) {
		/* in the middle PostgreSQL wants a range of it */
		if (*r->at == '-' && !first && r->end - r->at >= 2 &&
		    r->at[1] != ']')
			return bad(r, "a minus in the middle of brackets");
		if (take_range(r, &s) != 0)
			return -1;
	}
	if (r->at == r->end)
		return bad(r, "an open bracket");
	r->at++;
	if (negated)
		invert(&s);
	return put_set(r, &s);
}

/* --- the others --- */

static int put_constraint(struct reader *r, unsigned char c)
{
	put(r, c);
	r->last = 0;
	return add_weight(r, 1);
}

static int take_escape(struct reader *r)
{
	struct set s = { .has = { false } };

	if (r->at == r->end)
		return bad(r, "it ends in a backslash");

	const unsigned char c = *r->at++;
	if (is_plain(c))
		return put_literal(r, c);
	if (c == 'A' || c == 'Z')
		return put_constraint(r, c == 'A' ? '^' : '$');
	if (add_shorthand(&s, c))
		return put_set(r, &s);
	if (!isupper(c) || !add_shorthand(&s, (unsigned char)tolower(c)))
		return bad(r, "this escape is not supported");
	invert(&s);
	return put_set(r, &s);
}

static int open_group(struct reader *r)
{
	if (r->depth == DEPTH_MAX)
		return bad(r, "too many parentheses");
	r->depth++;
	r->levels[r->depth] = (struct level){ .weight = 1 };
	r->last = 0;
	put(r, '(');
	return 0;
}

static int close_group(struct reader *r)
{
	if (r->depth == 0)
		return bad(r, "a parenthesis too many");
	if (!r->levels[r->depth].begun)
		return bad(r, "an empty branch");

	const unsigned weight = r->levels[r->depth--].weight;
	put(r, ')');
	r->last = weight;
	return add_weight(r, weight);
}

static int next_branch(struct reader *r)
{
	if (!r->levels[r->depth].begun)
		return bad(r, "an empty branch");
	r->levels[r->depth].begun = false;
	r->last = 0;
	put(r, '|');
	return 0;
}

/* How often a quantifier repeats what is before it. */
static int repeat(struct reader *r, unsigned times)
{
	const unsigned last = r->last;

	if (last == 0)
		return bad(r, "a quantifier behind nothing");
	if (r->at < r->end && *r->at == '?')
		return bad(r, "non-greedy quantifiers are not supported");
	r->last = 0;
	return times > 1 ? add_weight(r, last * (times - 1)) : 0;
}

/* A number of at most three digits; -1: none. */
static int take_number(struct reader *r)
{
	int n = 0, digits = 0;

	for (; r->at < r->end && isdigit(*r->at) && digits < 3; digits++)
		n = n * 10 + (*r->at++ - '0');
	return digits == 0 || n > REPEAT_MAX ? -1 : n;
}

static int take_bound(struct reader *r)
{
	const unsigned char *const begin = r->at;

	if (begin == r->end || !isdigit(*begin))
		return put_literal(r, '{');

	const int low = take_number(r);
	int high = low;
	if (r->at < r->end && *r->at == ',') {
		r->at++;
		high = r->at < r->end && *r->at == '}' ? REPEAT_MAX + 1 :
		    take_number(r);
	}
	if (low < 0 || high < low || high == 0 || r->at == r->end ||
	    *r->at != '}')
		return bad(r, "a bound that is none");
	r->at++;
	put(r, '{');
	text_add_bytes(&r->out, begin, (size_t)(r->at - begin));
	return repeat(r, (unsigned)(high > REPEAT_MAX ? low + 1 : high));
}

static int take_next(struct reader *r)
{
	const unsigned char c = *r->at++;

	switch (c) {
	case '\\': return take_escape(r);
	case '[': return take_bracket(r);
	case '(': return open_group(r);
	case ')': return close_group(r);
	case '|': return next_branch(r);
	case '{': return take_bound(r);
	case '^': case '$': return put_constraint(r, c);
	case '*': case '+': case '?':
		put(r, c);
		return repeat(r, 1);
	case '.':
		put(r, c);
		return end_atom(r);
	}
	return put_literal(r, c);
}

static int translate(struct reader *r)
{
	while (r->at < r->end) {
		if (take_next(r) != 0)
			return -1;
	}
	if (r->depth > 0)
		return bad(r, "an open parenthesis");
	if (!r->levels[0].begun)
		return bad(r, "an empty branch");
	return r->out.cut ? bad(r, "too complex") : 0;
}

static int compile(struct hba_regex *re, const char *text, struct err *e)
{
	const int rc = regcomp(&re->re, text, REG_EXTENDED);
	char why[200];

	if (rc == 0)
		return 0;
	if (rc == REG_ESPACE)
		return err_nomem(e);
	regerror(rc, &re->re, why, sizeof why);
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "regular expression: %s",
	    why);
}

struct hba_regex *hba_regex_new(const char *pattern, size_t len,
    struct err *e)
{
	struct hba_regex *re = mem_zalloc(sizeof *re);
	char *const buf = mem_alloc(OUT_MAX);
	struct reader r = {
		.at = (const unsigned char *)pattern,
		.end = (const unsigned char *)pattern + len, .e = e,
	};
	int rc;

	if (re == NULL || buf == NULL) {
		rc = err_nomem(e);
	} else if (len > PATTERN_MAX) {
		rc = bad(&r, "too long");
	} else {
		text_init(&r.out, buf, OUT_MAX);
		rc = translate(&r);
		if (rc == 0)
			rc = compile(re, buf, e);
	}
	mem_free(buf);
	if (rc == 0)
		return re;
	mem_free(re);
	return NULL;
}

void hba_regex_free(struct hba_regex **rp)
{
	struct hba_regex *const r = *rp;

	*rp = NULL;
	if (r == NULL)
		return;
	regfree(&r->re);
	mem_free(r);
}

/* regexec(3) may run out of memory. */
static enum hba_fit fit_of(int rc)
{
	return rc == 0 ? HBA_FITS : rc == REG_NOMATCH ? HBA_DIFFERS :
	    HBA_DOUBT;
}

enum hba_fit hba_regex_fits(const struct hba_regex *r, const char *s)
{
	return fit_of(regexec(&r->re, s, 0, NULL, 0));
}

bool hba_regex_has_group(const struct hba_regex *r)
{
	return r->re.re_nsub > 0;
}

enum hba_fit hba_regex_group(const struct hba_regex *r, const char *s,
    const char **at, size_t *len)
{
	regmatch_t m[2];

	*at = NULL;
	*len = 0;

	const enum hba_fit fit = fit_of(regexec(&r->re, s, 2, m, 0));
	if (fit == HBA_FITS && m[1].rm_so >= 0) {
		*at = s + m[1].rm_so;
		*len = (size_t)(m[1].rm_eo - m[1].rm_so);
	}
	return fit;
}
