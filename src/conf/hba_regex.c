/* hba_regex.c - regular expressions that PostgreSQL and regcomp(3) read alike.
 *
 * A pattern goes to regcomp(3), in the locale "C", as it stands there. What the
 * two of them read differently, or one alone, is refused. Only the escapes of
 * PostgreSQL that have a plain name in POSIX get that name.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_regex.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define PATTERN_MAX 1000	/* bytes */
#define OUT_MAX (16 * PATTERN_MAX)
#define DEPTH_MAX 20		/* of parentheses */
#define REPEAT_MAX 255		/* as in PostgreSQL */
#define WEIGHT_MAX 5000		/* atoms, when repetitions are written out */

struct hba_regex {
	regex_t re;
	bool has_group;
};

/* One branch at some depth. */
struct level {
	unsigned weight;	/* of the whole group so far */
	bool begun;		/* the last branch is not empty */
	bool repeats;		/* there is a quantifier in the group */
};

/* The first group in parentheses. */
struct group {
	const char *end;	/* what is behind it; NULL: it has not ended */
	bool begun;
	bool branches;		/* has some in it */
	bool loose;		/* what is around it may take more or less */
	bool doubtful;		/* what it takes is, whatever is in it */
};

struct reader {
	const char *at, *end;
	const char *item;	/* where what is read begins; for messages */
	struct text out;
	struct err *e;
	unsigned depth;
	unsigned last;		/* weight of what a quantifier would repeat;
				 * 0: nothing that one may follow */
	bool nested;		/* it has a quantifier in it */
	struct level levels[DEPTH_MAX + 1];
	struct group group;
};

static int hba_regex_bad(const struct reader *r, const char *what)
{
	const size_t left = (size_t)(r->end - r->item);

	return err_set(r->e, ERRCODE_CONFIG_FILE_ERROR,
	    "regular expression: %s%s%.*s%s", what, left > 0 ? " at \"" : "",
	    (int)(left < 20 ? left : 20), r->item, left > 0 ? "\"" : "");
}

static void hba_regex_put(struct reader *r, char c)
{
	text_add_bytes(&r->out, &c, 1);
}

static bool next_is(const struct reader *r, char c)
{
	return r->at < r->end && *r->at == c;
}

static bool hba_regex_is_ascii(char c)
{
	return (unsigned char)c < 128;
}

static bool is_alnum(char c)
{
	return hba_regex_is_ascii(c) && isalnum((unsigned char)c);
}

/* --- what matches one byte, or none --- */

static int add_weight(struct reader *r, unsigned weight)
{
	struct level *const l = &r->levels[r->depth];

	l->weight += weight;
	l->begun = true;
	return l->weight <= WEIGHT_MAX ? 0 : hba_regex_bad(r, "too complex");
}

static int end_atom(struct reader *r)
{
	r->last = 1;
	r->nested = false;
	return add_weight(r, 1);
}

static int end_constraint(struct reader *r)
{
	r->last = 0;
	return add_weight(r, 1);
}

static int put_literal(struct reader *r, char c)
{
	/* before others a backslash has a meaning of its own */
	if (strchr("^.[$()|*+?{\\", c) != NULL)
		hba_regex_put(r, '\\');
	hba_regex_put(r, c);
	return end_atom(r);
}

static const struct escape {
	char letter;
	const char *outside, *inside;	/* of brackets; NULL: none there */
	int (*end)(struct reader *r);
} escapes[] = {
	{ 'd', "[[:digit:]]", "[:digit:]", end_atom },
	{ 's', "[[:space:]]", "[:space:]", end_atom },
	{ 'w', "[[:alnum:]_]", "[:alnum:]_", end_atom },
	{ 'D', "[^[:digit:]]", NULL, end_atom },
	{ 'S', "[^[:space:]]", NULL, end_atom },
	{ 'W', "[^[:alnum:]_]", NULL, end_atom },
	{ 'A', "^", NULL, end_constraint },
	{ 'Z', "$", NULL, end_constraint },
};

/* Of the letter that stands there; NULL: none is known. */
static const struct escape *find_escape(const struct reader *r)
{
	for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
		if (next_is(r, escapes[i].letter))
			return &escapes[i];
	}
	return NULL;
}

static bool is_punctuation(const struct reader *r)
{
	return r->at < r->end && hba_regex_is_ascii(*r->at) &&
	    !is_alnum(*r->at);
}

static int take_escape(struct reader *r)
{
	const struct escape *const e = find_escape(r);

	if (e == NULL)
		return is_punctuation(r) ? put_literal(r, *r->at++) :
		    hba_regex_bad(r, "an escape that is not known here");
	r->at++;
	text_add(&r->out, e->outside);
	return e->end(r);
}

/* --- brackets --- */

static int take_escape_inside(struct reader *r)
{
	const struct escape *const e = find_escape(r);

	if (e != NULL && e->inside != NULL)
		text_add(&r->out, e->inside);
	else if (is_punctuation(r))
		text_addf(&r->out, "[.%c.]", *r->at);
	else
		return hba_regex_bad(r,
		    "an escape that is not known in brackets");
	r->at++;
	return 0;
}

/* "[:alpha:]": which names there are regcomp(3) knows. */
static int take_class(struct reader *r)
{
	const char *const begin = r->at;

	for (r->at += 2; r->at < r->end && is_alnum(*r->at); r->at++)
		continue;
	if (begin[1] != ':' || r->end - r->at < 2 || r->at[0] != ':' ||
	    r->at[1] != ']')
		return hba_regex_bad(r, "no class of characters");
	r->at += 2;
	text_add_bytes(&r->out, begin, (size_t)(r->at - begin));
	return 0;
}

static int take_range(struct reader *r)
{
	const char from = r->at[0], to = r->at[2];

	if (!hba_regex_is_ascii(from) || !hba_regex_is_ascii(to) || to < from ||
	    strchr("[]\\-", from) != NULL || strchr("[]\\-", to) != NULL)
		return hba_regex_bad(r,
		    "a range that is not valid, or not ASCII");
	text_add_bytes(&r->out, r->at, 3);
	r->at += 3;
	return 0;
}

static int hba_regex_take_item(struct reader *r, bool first)
{
	const size_t left = (size_t)(r->end - r->at);

	r->item = r->at;
	if (*r->at == '\\') {
		r->at++;
		return take_escape_inside(r);
	}
	if (*r->at == '[' && left > 1 && strchr(".=:", r->at[1]) != NULL)
		return take_class(r);
	if (left > 2 && r->at[1] == '-' && r->at[2] != ']')
		return take_range(r);
	if (*r->at == '-' && !first && left > 1 && r->at[1] != ']')
		return hba_regex_bad(r, "a minus in the middle of brackets");
	hba_regex_put(r, *r->at++);
	return 0;
}

static int take_bracket(struct reader *r)
{
	hba_regex_put(r, '[');
	if (next_is(r, '^'))
		hba_regex_put(r, *r->at++);
	const char *const first = r->at;

	while (r->at < r->end && (r->at == first || *r->at != ']')) {
		if (hba_regex_take_item(r, r->at == first) != 0)
			return -1;
	}
	if (r->at == r->end)
		return hba_regex_bad(r, "an open bracket");
	hba_regex_put(r, *r->at++);
	return end_atom(r);
}

/* --- groups and branches --- */

static bool in_group(const struct reader *r)
{
	return r->group.begun && r->group.end == NULL;
}

static int open_group(struct reader *r)
{
	if (r->depth == DEPTH_MAX)
		return hba_regex_bad(r, "too many parentheses");
	r->group.loose |= r->group.begun && !in_group(r);
	r->group.begun = true;
	r->depth++;
	r->levels[r->depth] = (struct level){ .weight = 1 };
	r->last = 0;
	hba_regex_put(r, '(');
	return 0;
}

static int close_group(struct reader *r)
{
	if (r->depth == 0)
		return hba_regex_bad(r, "a parenthesis too many");
	if (!r->levels[r->depth].begun)
		return hba_regex_bad(r, "an empty branch");

	const unsigned weight = r->levels[r->depth].weight;
	r->nested = r->levels[r->depth].repeats;
	r->depth--;
	r->levels[r->depth].repeats |= r->nested;
	if (r->depth == 0 && r->group.end == NULL)
		r->group.end = r->at;
	hba_regex_put(r, ')');
	r->last = weight;
	return add_weight(r, weight);
}

static int next_branch(struct reader *r)
{
	if (!r->levels[r->depth].begun)
		return hba_regex_bad(r, "an empty branch");
	r->levels[r->depth].begun = false;
	r->last = 0;
	r->group.doubtful |= r->depth == 0;
	r->group.branches |= in_group(r);
	hba_regex_put(r, '|');
	return 0;
}

/* --- quantifiers --- */

/* How often one repeats what is before it. */
static int repeat(struct reader *r, unsigned times)
{
	const unsigned last = r->last;

	if (last == 0)
		return hba_regex_bad(r, "a quantifier behind nothing");
	if (next_is(r, '?'))
		return hba_regex_bad(r, "a quantifier that is not greedy");
	r->last = 0;
	r->levels[r->depth].repeats = true;
	r->group.doubtful |= r->nested || r->item == r->group.end;
	r->group.loose |= !in_group(r);
	return times > 1 ? add_weight(r, last * (times - 1)) : 0;
}

/* A number of at most three digits; -1: none. */
static int take_number(struct reader *r)
{
	int n = 0, digits = 0;

	for (; r->at < r->end && isdigit((unsigned char)*r->at) && digits < 3;
	    digits++)
		n = n * 10 + (*r->at++ - '0');
	return digits == 0 || n > REPEAT_MAX ? -1 : n;
}

static int take_bound(struct reader *r)
{
	const char *const begin = r->at;

	if (begin == r->end || !isdigit((unsigned char)*begin))
		return put_literal(r, '{');

	const int low = take_number(r);
	int high = low;
	if (next_is(r, ',')) {
		r->at++;
		high = next_is(r, '}') ? REPEAT_MAX + 1 : take_number(r);
	}
	if (low < 0 || high < low || high == 0 || !next_is(r, '}'))
		return hba_regex_bad(r, "a bound that is none");
	r->at++;
	hba_regex_put(r, '{');
	text_add_bytes(&r->out, begin, (size_t)(r->at - begin));
	return repeat(r, (unsigned)(high > REPEAT_MAX ? low + 1 : high));
}

/* --- the whole --- */

static int take_next(struct reader *r)
{
	r->item = r->at;
	const char c = *r->at++;

	switch (c) {
	case '\\': return take_escape(r);
	case '[': return take_bracket(r);
	case '(': return open_group(r);
	case ')': return close_group(r);
	case '|': return next_branch(r);
	case '{': return take_bound(r);
	case '^': case '$':
		hba_regex_put(r, c);
		return end_constraint(r);
	case '*': case '+': case '?':
		hba_regex_put(r, c);
		return repeat(r, 1);
	default:
		hba_regex_put(r, c);
		return end_atom(r);
	}
}

/* At both ends; the last item is read. */
static bool is_anchored(const struct reader *r)
{
	return r->out.at[0] == '^' && *r->item == '$' &&
	    r->item + 1 == r->end;
}

static int hba_regex_take_all(struct reader *r)
{
	while (r->at < r->end) {
		if (take_next(r) != 0)
			return -1;
	}
	r->group.loose |= !is_anchored(r);
	r->item = r->end;
	if (r->depth > 0)
		return hba_regex_bad(r, "an open parenthesis");
	if (!r->levels[0].begun)
		return hba_regex_bad(r, "an empty branch");
	return r->out.cut ? hba_regex_bad(r, "too complex") : 0;
}

/*
 * Do the two agree in what it takes? PostgreSQL repeats a group as often as it
 * can. glibc errs where one with branches can take more or less, and may not
 * come to an end where quantifiers are in a group that is repeated.
 */
static bool is_certain(const struct group *g)
{
	return g->begun && !g->doubtful && !(g->branches && g->loose);
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
		.at = pattern, .item = pattern, .end = pattern + len, .e = e,
	};
	int rc;

	if (re == NULL || buf == NULL) {
		rc = err_nomem(e);
	} else if (len > PATTERN_MAX) {
		rc = hba_regex_bad(&r, "too long");
	} else {
		text_init(&r.out, buf, OUT_MAX);
		rc = hba_regex_take_all(&r);
		if (rc == 0)
			rc = compile(re, buf, e);
		re->has_group = is_certain(&r.group);
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
static enum hba_fit hba_regex_fit_of(int rc)
{
	return rc == 0 ? HBA_FITS : rc == REG_NOMATCH ? HBA_DIFFERS :
	    HBA_DOUBT;
}

enum hba_fit hba_regex_fits(const struct hba_regex *r, const char *s)
{
	return hba_regex_fit_of(regexec(&r->re, s, 0, NULL, 0));
}

bool hba_regex_has_group(const struct hba_regex *r)
{
	return r->has_group;
}

enum hba_fit hba_regex_group(const struct hba_regex *r, const char *s,
    const char **at, size_t *len)
{
	regmatch_t m[2];
	const enum hba_fit fit = hba_regex_fit_of(regexec(&r->re, s, 2, m, 0));

	if (fit != HBA_FITS)
		return fit;
	if (m[1].rm_so < 0)
		return HBA_DOUBT;
	*at = s + m[1].rm_so;
	*len = (size_t)(m[1].rm_eo - m[1].rm_so);
	return HBA_FITS;
}
