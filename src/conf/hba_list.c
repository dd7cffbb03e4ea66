/* hba_list.c - the columns of a rule: database, user, address.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/hba.h"
#include "conf/hba_source.h"

/* Meanings of unquoted words; 0: only a server with roles knows. */
static const struct {
	const char *word;
	enum hba_column column;
	unsigned flag;
} keywords[] = {
	{ "all", HBA_DATABASE, HBA_ALL },
	{ "sameuser", HBA_DATABASE, HBA_SAMEUSER },
	{ "replication", HBA_DATABASE, HBA_REPLICATION },
	{ "samerole", HBA_DATABASE, 0 },
	{ "samegroup", HBA_DATABASE, 0 },
	{ "all", HBA_USER, HBA_ALL },
};

void hba_list_fini(struct hba_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mem_free(list->names[i]);
	for (size_t i = 0; i < list->regex_count; i++)
		hba_regex_free(&list->regexes[i]);
	mem_free(list->names);
	mem_free(list->regexes);
	*list = (struct hba_list){ .column = list->column };
}

static int add_name(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (at->budget->names == 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "too many names");
	at->budget->names--;
	if (list->count == list->size) {
		const size_t size = list->size == 0 ? 4 : list->size * 2;
		char **const names = mem_resize(list->names,
		    size * sizeof(*names));

		if (names == NULL)
			return err_nomem(e);
		list->names = names;
		list->size = size;
	}

	char *const name = mem_strndup(w->at, w->len);
	if (name == NULL)
		return err_nomem(e);
	list->names[list->count++] = name;
	return 0;
}

/* w begins with the slash of a regular expression. */
static int add_regex(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (at->budget->regexes == 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "too many regular expressions");
	at->budget->regexes--;

	struct hba_regex **const all = mem_resize(list->regexes,
	    (list->regex_count + 1) * sizeof(*all));
	if (all == NULL)
		return err_nomem(e);
	list->regexes = all;
	all[list->regex_count] = hba_regex_new(w->at + 1, w->len - 1, e);
	if (all[list->regex_count] == NULL)
		return -1;
	list->regex_count++;
	return 0;
}

/* Recursive, by take_file(). */
static int hba_list_take_word(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e);

/* PostgreSQL would read another file, which is not what this one is for. */
static bool is_include(const struct hba_word *w)
{
	return hba_word_equals(w, "include") ||
	    hba_word_equals(w, "include_if_exists") ||
	    hba_word_equals(w, "include_dir");
}

/* All words of all lines; commas may stand between them. */
static int hba_list_take_words(struct hba_list *list, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	enum hba_step step;
	struct hba_word w;

	for (bool first = true; (step = hba_line_next(l, &w)) == HBA_WORD;
	    first = false) {
		if (w.comma)
			continue;
		if (first && is_include(&w))
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    "include in a list, %s:%u", at->path, l->number);
		if (hba_list_take_word(list, &w, at, e) != 0)
			return -1;
	}
	return step == HBA_END ? 0 : err_set(e, ERRCODE_CONFIG_FILE_ERROR,
	    "an open quote, %s:%u", at->path, l->number);
}

static int take_file(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	char path[HBA_PATH_MAX];
	struct hba_place inner = *at;
	struct file_text f = { 0 };
	struct hba_line l;
	int rc = 0;

	if (hba_path(at, w, 1, path) != 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "no file name behind @");
	if (hba_open(at, path, &f, e) != 0)
		return -1;
	inner.depth++;
	inner.path = path;

	struct hba_text t = { .at = f.at, .end = f.at + f.len, .next = 1 };
	const unsigned nul = text_nul_line(f.at, f.len);

	if (nul > 0)
		rc = err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "a NUL byte, %s:%u", path, nul);
	while (rc == 0 && hba_text_next(&t, &l))
		rc = hba_list_take_words(list, &l, &inner, e);
	file_text_fini(&f);
	return rc;
}

/* Members of a role: a name that follows + without quotes. */
static bool is_role(const struct hba_list *list, const struct hba_word *w)
{
	return list->column == HBA_USER && !w->quoted && w->at[0] == '+';
}

static int unknown(const struct hba_word *w, struct err *e)
{
	return err_set(e, HBA_UNKNOWN, "\"%.*s\" is not supported: members of "
	    "roles are not known here", (int)(w->len < 200 ? w->len : 200),
	    w->at);
}

static int hba_list_take_word(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (w->comma)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "a name is missing");
	if (w->len == 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an empty name");
	if (!w->quoted && w->at[0] == '@')
		return take_file(list, w, at, e);
	if (is_role(list, w))
		return unknown(w, e);
	/* in quotes, too: the expression may have a comma */
	if (w->at[0] == '/')
		return add_regex(list, w, at, e);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (keywords[i].column != list->column ||
		    !hba_word_is(w, keywords[i].word))
			continue;
		if (keywords[i].flag == 0)
			return unknown(w, e);
		list->keywords |= keywords[i].flag;
		return 0;
	}
	return add_name(list, w, at, e);
}

static int hba_list_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int hba_list_take(struct hba_list *list, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	struct hba_word w;

	do {
		const enum hba_step step = hba_line_next(l, &w);

		if (step != HBA_WORD)
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    step == HBA_END ? "a name is missing" :
			    "an open quote");
		if (hba_list_take_word(list, &w, at, e) != 0)
			return -1;
	} while (hba_line_take_comma(l));
	if (list->count > 1)
		qsort(list->names, list->count, sizeof(*list->names),
		    hba_list_by_name);
	return 0;
}

enum hba_fit hba_list_has(const struct hba_list *list, const char *name)
{
	enum hba_fit fit = list->count > 0 && bsearch(&name, list->names,
	    list->count, sizeof(*list->names), hba_list_by_name) != NULL ?
	    HBA_FITS : HBA_DIFFERS;

	for (size_t i = 0; fit != HBA_FITS && i < list->regex_count; i++) {
		const enum hba_fit one = hba_regex_fits(list->regexes[i],
		    name);

		if (one != HBA_DIFFERS)
			fit = one;
	}
	return fit;
}

#define NAME_MAX_BYTES 255	/* RFC 1035 2.3.4, with dots */

void hba_address_fini(struct hba_address *a)
{
	mem_free(a->name);
	*a = (struct hba_address){ 0 };
}

static int hba_list_bad(const char *what, const struct hba_word *w,
    struct err *e)
{
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s \"%.*s\"", what,
	    (int)(w->len < 200 ? w->len : 200), w->at);
}

/* A word that must be there; what says which. */
static int need(struct hba_line *l, const char *what, struct hba_word *w,
    struct err *e)
{
	switch (hba_line_next(l, w)) {
	case HBA_WORD:
		return w->comma ? hba_list_bad(what, w, e) : 0;
	case HBA_END:
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s is missing",
		    what);
	case HBA_BROKEN:
		break;
	}
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
}

static bool take_keyword(struct hba_address *a, const struct hba_word *w)
{
	static const struct {
		const char *word;
		enum hba_address_kind kind;
	} address_keywords[] = {
		{ "all", HBA_ANY },
		{ "samehost", HBA_SAME_HOST },
		{ "samenet", HBA_SAME_NET },
	};

	for (size_t i = 0; i < sizeof(address_keywords) / sizeof(*address_keywords); i++) {
		if (hba_word_is(w, address_keywords[i].word)) {
			a->kind = address_keywords[i].kind;
			return true;
		}
	}
	return false;
}

/* The text of w; -1: too long for an address. */
static int ip_text(const struct hba_word *w, char text[NET_TEXT_MAX])
{
	if (w->len >= NET_TEXT_MAX)
		return -1;
	memcpy(text, w->at, w->len);
	text[w->len] = '\0';
	return 0;
}

static bool is_name_char(unsigned char c)
{
	return c >= 128 ? false : isalnum(c) || c == '-' || c == '_';
}

/*
 * A name, or the end of one behind a dot. What the C library takes for an
 * address in one of its other forms (10.1, 0x7f.1) is none.
 */
static bool is_host_name(const struct hba_word *w)
{
	const char *const end = w->at + w->len;
	const char *label = w->at + (w->len > 0 && w->at[0] == '.');

	if (w->len > NAME_MAX_BYTES)
		return false;
	for (;;) {
		const char *s = label;

		while (s < end && is_name_char((unsigned char)*s))
			s++;
		if (s == label || s - label > 63)
			return false;
		if (s == end)
			return isdigit((unsigned char)*label) == 0;
		if (*s != '.')
			return false;
		label = s + 1;
	}
}

static int take_mask(struct hba_address *a, const char *ip,
    struct hba_line *l, struct err *e)
{
	char mask[NET_TEXT_MAX];
	struct hba_word m;

	if (need(l, "the mask", &m, e) != 0)
		return -1;
	if (ip_text(&m, mask) != 0 ||
	    net_parse_cidr(ip, mask, &a->network) != 0)
		return hba_list_bad("invalid mask", &m, e);
	return 0;
}

int hba_address_take(struct hba_address *a, struct hba_line *l,
    struct err *e)
{
	char ip[NET_TEXT_MAX];
	struct hba_word w;
	struct net_addr literal;

	if (need(l, "the address", &w, e) != 0)
		return -1;
	if (take_keyword(a, &w))
		return 0;
	a->kind = HBA_NETWORK;
	if (ip_text(&w, ip) == 0 && net_parse_cidr(ip, NULL, &a->network) == 0)
		return 0;
	if (ip_text(&w, ip) == 0 && net_parse_ip(ip, 0, &literal) == 0)
		return take_mask(a, ip, l, e);
	if (!is_host_name(&w))
		return hba_list_bad("invalid address", &w, e);
	a->kind = HBA_HOST;
	a->name = mem_strndup(w.at, w.len);
	return a->name != NULL ? 0 : err_nomem(e);
}

static enum hba_fit is_near(const struct hba_login *l, bool net)
{
	return l->near != NULL ? l->near(l->addr, net) : HBA_DOUBT;
}

static bool name_fits(const char *pattern, const char *name)
{
	const size_t len = strlen(name), end = strlen(pattern);

	if (pattern[0] != '.')
		return text_casecmp(pattern, name) == 0;
	return len >= end && text_casecmp(pattern, name + len - end) == 0;
}

static enum hba_fit has_host(const struct hba_address *a,
    const struct hba_login *l)
{
	switch (l->host_state) {
	case HBA_HOST_NONE: return HBA_DIFFERS;
	case HBA_HOST_UNKNOWN: return HBA_DOUBT;
	case HBA_HOST_KNOWN: break;
	}
	return name_fits(a->name, l->host) ? HBA_FITS : HBA_DIFFERS;
}

enum hba_fit hba_address_has(const struct hba_address *a,
    const struct hba_login *l)
{
	switch (a->kind) {
	case HBA_ANY: return HBA_FITS;
	case HBA_NETWORK:
		return net_cidr_has(&a->network, l->addr) ? HBA_FITS :
		    HBA_DIFFERS;
	case HBA_SAME_HOST: return is_near(l, false);
	case HBA_SAME_NET: return is_near(l, true);
	case HBA_HOST: break;
	}
	return has_host(a, l);
}
