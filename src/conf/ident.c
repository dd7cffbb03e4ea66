/* ident.c - which name outside may log in as which user: auth_ident_file.
 * SPDX-License-Identifier: ISC */
#include "conf/ident.h"

#include <string.h>
#include <strings.h>
#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/hba_regex.h"
#include "conf/hba_source.h"

#define GROUP "\\1"		/* in the user's name: what the first group took */

/* Exactly one of both, or none: everything. */
struct pattern {
	char *name;		/* owned */
	struct hba_regex *regex;	/* owned */
};

struct entry {
	struct pattern system, user;
	const char *group;	/* where GROUP stands in user.name; or NULL */
	struct entry *prev, *next;
};

struct ident_map {
	char *name;		/* owned */
	struct entry *entries;	/* DL, in file order */
	struct ident_map *prev, *next;
};

struct ident {
	struct ident_map *maps;	/* DL */
};

static void entry_free(struct entry *e)
{
	mem_free(e->system.name);
	hba_regex_free(&e->system.regex);
	mem_free(e->user.name);
	hba_regex_free(&e->user.regex);
	mem_free(e);
}

void ident_free(struct ident **ip)
{
	struct ident *const i = *ip;
	struct ident_map *m, *next_map;
	struct entry *e, *next;

	*ip = NULL;
	if (i == NULL)
		return;
	DL_FOREACH_SAFE(i->maps, m, next_map) {
		DL_FOREACH_SAFE(m->entries, e, next)
			entry_free(e);
		mem_free(m->name);
		mem_free(m);
	}
	mem_free(i);
}

/* --- one line; functions return 0, or -1 with e --- */

/* The map with the name that w is, made if need be. NULL: no memory. */
static struct ident_map *get_map(struct ident *i, const struct hba_word *w)
{
	struct ident_map *m;

	DL_FOREACH(i->maps, m) {
		if (hba_word_equals(w, m->name))
			return m;
	}
	m = mem_zalloc(sizeof(*m));
	if (m == NULL)
		return NULL;
	m->name = mem_strndup(w->at, w->len);
	if (m->name == NULL) {
		mem_free(m);
		return NULL;
	}
	DL_APPEND(i->maps, m);
	return m;
}

/* A name, or /expression, quoted or not. */
static int take_pattern(const struct hba_word *w, const struct hba_place *at,
    struct pattern *p, struct err *e)
{
	if (w->at[0] != '/') {
		p->name = mem_strndup(w->at, w->len);
		return p->name != NULL ? 0 : err_nomem(e);
	}
	if (at->budget->regexes == 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "too many regular expressions");
	at->budget->regexes--;
	p->regex = hba_regex_new(w->at + 1, w->len - 1, e);
	return p->regex != NULL ? 0 : -1;
}

static int find_group(struct entry *n, struct err *e)
{
	if (n->system.regex == NULL || n->user.name == NULL)
		return 0;
	n->group = strstr(n->user.name, GROUP);
	if (n->group == NULL || hba_regex_has_group(n->system.regex))
		return 0;
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
	    "\"%s\" wants a group in parentheses of the regular expression "
	    "that takes one certain text, see pgsluice.ini(5)",
	    n->user.name);
}

static int ident_take_fields(struct entry *n, const struct hba_word w[3],
    const struct hba_place *at, struct err *e)
{
	if (!w[2].quoted && w[2].at[0] == '+')
		return err_set(e, HBA_UNKNOWN, "\"%.*s\" is not supported: "
		    "members of roles are not known here",
		    (int)(w[2].len < 200 ? w[2].len : 200), w[2].at);
	if (take_pattern(&w[1], at, &n->system, e) != 0)
		return -1;
	if (hba_word_is(&w[2], "all"))
		return 0;
	if (take_pattern(&w[2], at, &n->user, e) != 0)
		return -1;
	return find_group(n, e);
}

static int ident_put_entry(struct ident *i, const struct hba_word w[3],
    const struct hba_place *at, struct err *e)
{
	struct entry *const n = mem_zalloc(sizeof(*n));
	int rc = n != NULL ? ident_take_fields(n, w, at, e) : err_nomem(e);
	struct ident_map *const m = rc == 0 ? get_map(i, &w[0]) : NULL;

	if (m != NULL) {
		DL_APPEND(m->entries, n);
		return 0;
	}
	if (rc == 0)
		rc = err_nomem(e);
	if (n != NULL)
		entry_free(n);
	return rc;
}

static bool ident_is_word(const struct hba_word *w)
{
	return !w->comma && w->len > 0 && (w->quoted || w->at[0] != '@');
}

static int ident_take_line(void *arg, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	struct hba_word words[4] = { l->first };
	enum hba_step step = HBA_WORD;
	size_t n = 0;

	while (step == HBA_WORD && n < 4) {
		if (!ident_is_word(&words[n]))
			return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
			    "a name is expected, not \"%.*s\"",
			    (int)(words[n].len < 200 ? words[n].len : 200),
			    words[n].at);
		if (++n < 4)
			step = hba_line_next(l, &words[n]);
	}
	if (step == HBA_BROKEN)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
	if (n != 3)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    n < 3 ? "a name is missing" :
		    "more than three names");
	return ident_put_entry(arg, words, at, e);
}

struct ident *ident_parse(const struct hba_source *src, struct err *e)
{
	struct ident *i = mem_zalloc(sizeof(*i));

	if (i == NULL) {
		err_nomem(e);
		return NULL;
	}
	const struct hba_taker to = {
		.what = "ident", .line = ident_take_line, .arg = i,
	};
	if (hba_source_walk(src, &to, e) < 0)
		ident_free(&i);
	return i;
}

/* --- which name may log in as which user --- */

const struct ident_map *ident_find(const struct ident *i, const char *name)
{
	const struct ident_map *m;

	DL_FOREACH(i->maps, m) {
		if (strcmp(m->name, name) == 0)
			return m;
	}
	return NULL;
}

const char *ident_map_name(const struct ident_map *m)
{
	return m->name;
}

/* Who wants in, as whom. */
struct claim {
	const char *system, *user;
	int (*compare)(const char *a, const char *b);
	int (*compare_bytes)(const char *a, const char *b, size_t n);
};

/* Is user the name of n, with the len bytes at took in the place of GROUP? */
static bool is_made_of(const struct entry *n, const char *took, size_t len,
    const struct claim *c)
{
	const char *const user = c->user;
	const size_t before = (size_t)(n->group - n->user.name);
	const char *const after = n->group + strlen(GROUP);

	return strlen(user) == before + len + strlen(after) &&
	    c->compare_bytes(user, n->user.name, before) == 0 &&
	    c->compare_bytes(user + before, took, len) == 0 &&
	    c->compare(user + before + len, after) == 0;
}

static bool names_user(const struct pattern *p, const struct claim *c)
{
	if (p->regex != NULL)
		return hba_regex_fits(p->regex, c->user) == HBA_FITS;
	return p->name == NULL || c->compare(p->name, c->user) == 0;
}

enum verdict { NO, YES, NEVER };

/* Of a system user that a regular expression stands for. */
static enum hba_fit ident_fit_of(const struct entry *n, const char *system,
    const char **took, size_t *len)
{
	return n->group == NULL ? hba_regex_fits(n->system.regex, system) :
	    hba_regex_group(n->system.regex, system, took, len);
}

static enum verdict ident_judge(const struct entry *n, const struct claim *c)
{
	const char *took = "";
	size_t len = 0;

	if (n->system.regex == NULL) {
		if (c->compare(n->system.name, c->system) != 0)
			return NO;
		return names_user(&n->user, c) ? YES : NO;
	}
	switch (ident_fit_of(n, c->system, &took, &len)) {
	case HBA_DIFFERS: return NO;
	/* an error, as in PostgreSQL: no later line counts */
	case HBA_DOUBT: return NEVER;
	case HBA_FITS: break;
	}
	if (n->group == NULL)
		return names_user(&n->user, c) ? YES : NO;
	return is_made_of(n, took, len, c) ? YES : NO;
}

bool ident_map_allows(const struct ident_map *m, const char *system,
    const char *user, bool caseless)
{
	const struct claim c = {
		.system = system,
		.user = user,
		.compare = caseless ? text_casecmp : strcmp,
		.compare_bytes = caseless ? strncasecmp : strncmp,
	};
	const struct entry *n;
	enum verdict v = NO;

	DL_FOREACH(m->entries, n) {
		v = ident_judge(n, &c);
		if (v != NO)
			break;
	}
	return v == YES;
}
