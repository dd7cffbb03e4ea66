/* ident.c - which name outside may log in as which user: auth_ident_file.
 * SPDX-License-Identifier: ISC */
#include "conf/ident.h"

#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "conf/hba_line.h"

struct entry {
	char *system;		/* owned */
	char *user;		/* owned; NULL = all */
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

enum line { LINE_OK, LINE_BAD, LINE_NO_MEMORY };

static void entry_free(struct entry *e)
{
	if (e == NULL)
		return;
	mem_free(e->system);
	mem_free(e->user);
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

/* The map with the name that w is, made if need be. NULL: no memory. */
static struct ident_map *get_map(struct ident *i, const struct hba_word *w)
{
	struct ident_map *m;

	DL_FOREACH(i->maps, m) {
		if (hba_word_is(w, m->name))
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

static enum line put_entry(struct ident *i, const struct hba_word words[3])
{
	const bool all = hba_word_is(&words[2], "all");
	struct entry *const e = mem_zalloc(sizeof(*e));
	struct ident_map *const m = e == NULL ? NULL : get_map(i, &words[0]);

	if (m == NULL) {
		mem_free(e);
		return LINE_NO_MEMORY;
	}
	e->system = mem_strndup(words[1].at, words[1].len);
	e->user = all ? NULL : mem_strndup(words[2].at, words[2].len);
	if (e->system == NULL || (!all && e->user == NULL)) {
		entry_free(e);
		return LINE_NO_MEMORY;
	}
	DL_APPEND(m->entries, e);
	return LINE_OK;
}

static enum line take_line(struct ident *i, struct hba_line *l)
{
	struct hba_word words[4];
	size_t n = 0;

	for (; n < sizeof(words) / sizeof(*words); n++) {
		const enum hba_step step = hba_line_next(l, &words[n]);

		if (step == HBA_END)
			break;
		if (step == HBA_BROKEN || words[n].comma || words[n].len == 0)
			return LINE_BAD;
	}
	if (n == 0)
		return LINE_OK;
	if (n != 3 || words[0].quoted)
		return LINE_BAD;
	return put_entry(i, words);
}

struct ident *ident_parse(const char *text, size_t len,
    ident_report_fn *report, void *arg)
{
	struct ident *i = mem_zalloc(sizeof(*i));
	char *const copy = i == NULL ? NULL : mem_alloc(len + 1);
	enum line result = copy == NULL ? LINE_NO_MEMORY : LINE_OK;
	char *at = copy;
	struct hba_line l;

	if (copy != NULL)
		memcpy(copy, text, len);
	for (unsigned n = 1; result != LINE_NO_MEMORY &&
	    hba_line_take(&at, copy + len, &l); n++) {
		char line[64];

		result = take_line(i, &l);
		if (result != LINE_BAD || report == NULL)
			continue;
		snprintf(line, sizeof(line),
		    "could not parse ident config line %u", n);
		report(arg, line);
	}
	mem_free(copy);
	if (result == LINE_NO_MEMORY)
		ident_free(&i);
	return i;
}

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

bool ident_map_allows(const struct ident_map *m, const char *system,
    const char *user)
{
	const struct entry *e;

	DL_FOREACH(m->entries, e) {
		if (strcmp(e->system, system) == 0 &&
		    (e->user == NULL || strcmp(e->user, user) == 0))
			return true;
	}
	return false;
}
