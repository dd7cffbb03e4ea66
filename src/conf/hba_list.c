/* hba_list.c - the database or user column of a rule, @file included.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/file.h"
#include "conf/hba_line.h"

#define DEPTH_MAX 10		/* of files that name files */
#define PATH_MAX_BYTES 4096

/* What unquoted words mean; 0: what PostgreSQL has and we don't. */
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
	{ "sameuser", HBA_USER, HBA_SAMEUSER },
};

static int no_memory(struct err *e)
{
	return err_set(e, "53200", "out of memory");
}

void hba_list_fini(struct hba_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		mem_free(list->names[i]);
	mem_free(list->names);
	*list = (struct hba_list){ 0 };
}

static int add_name(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (at->budget->names == 0)
		return err_set(e, "F0000", "too many names");
	at->budget->names--;
	if (list->count == list->size) {
		const size_t size = list->size == 0 ? 4 : list->size * 2;
		char **const names = mem_resize(list->names,
		    size * sizeof(*names));

		if (names == NULL)
			return no_memory(e);
		list->names = names;
		list->size = size;
	}

	char *const name = mem_strndup(w->at, w->len);
	if (name == NULL)
		return no_memory(e);
	list->names[list->count++] = name;
	return 0;
}

/* The path of a file that the one at->path names. 0 or -1: too long. */
static int path_of(const struct hba_word *w, const struct hba_place *at,
    char path[PATH_MAX_BYTES])
{
	const char *const slash = strrchr(at->path, '/');
	const int dir = w->at[1] == '/' || slash == NULL ? 0 :
	    (int)(slash + 1 - at->path);
	const int n = snprintf(path, PATH_MAX_BYTES, "%.*s%.*s", dir,
	    at->path, (int)w->len - 1, w->at + 1);

	return n < PATH_MAX_BYTES ? 0 : -1;
}

/* Recursive, by take_file(). */
static int take_word(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e);

/*
 * One list a line. What follows it on its line is ignored; a line may be
 * empty, and may end in a comma.
 */
static int take_lines(struct hba_list *list, struct file_text *f,
    const struct hba_place *at, struct err *e)
{
	char *text = f->at, *const end = f->at + f->len;
	struct hba_word w;
	struct hba_line l;

	while (hba_line_take(&text, end, &l)) {
		do {
			const enum hba_step step = hba_line_next(&l, &w);

			if (step == HBA_END)
				break;
			if (step == HBA_BROKEN)
				return err_set(e, "F0000",
				    "broken line in %s", at->path);
			if (take_word(list, &w, at, e) != 0)
				return -1;
		} while (hba_line_take_comma(&l));
	}
	return 0;
}

static int take_file(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	char path[PATH_MAX_BYTES];
	struct hba_place inner = *at;
	struct file_text f = { 0 };

	if (w->len < 2 || path_of(w, at, path) != 0)
		return err_set(e, "F0000", "no file name behind @");
	if (at->depth >= DEPTH_MAX || at->budget->files == 0)
		return err_set(e, "F0000", "too many files behind @%s", path);
	at->budget->files--;
	inner.depth++;
	inner.path = path;
	if (at->read(path, &f) != 0) {
		if (errno == ENOMEM)
			return no_memory(e);
		return err_set(e, "F0000", "could not open file \"%s\": %s",
		    path, strerror(errno));
	}

	const int rc = take_lines(list, &f, &inner, e);
	file_text_fini(&f);
	return rc;
}

static int take_word(struct hba_list *list, const struct hba_word *w,
    const struct hba_place *at, struct err *e)
{
	if (w->comma)
		return err_set(e, "F0000", "a name is missing");
	if (w->len == 0)
		return err_set(e, "F0000", "an empty name");
	if (!w->opens_quoted && w->at[0] == '@')
		return take_file(list, w, at, e);
	if (!w->opens_quoted && (w->at[0] == '+' || w->at[0] == '/'))
		return err_set(e, "F0000", "\"%.*s\" is not supported",
		    (int)w->len, w->at);
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		if (keywords[i].column != at->column ||
		    !hba_word_is(w, keywords[i].word))
			continue;
		if (keywords[i].flag == 0)
			return err_set(e, "F0000", "\"%s\" is not supported",
			    keywords[i].word);
		list->keywords |= keywords[i].flag;
		return 0;
	}
	return add_name(list, w, at, e);
}

static int by_name(const void *a, const void *b)
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
			return err_set(e, "F0000", step == HBA_END ?
			    "a name is missing" : "an open quote");
		if (take_word(list, &w, at, e) != 0)
			return -1;
	} while (hba_line_take_comma(l));
	if (list->count > 1)
		qsort(list->names, list->count, sizeof(*list->names),
		    by_name);
	return 0;
}

bool hba_list_has(const struct hba_list *list, const char *name)
{
	return list->count > 0 && bsearch(&name, list->names, list->count,
	    sizeof(*list->names), by_name) != NULL;
}
