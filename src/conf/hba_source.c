/* hba_source.c - the lines of an HBA or ident map file and its includes.
 * SPDX-License-Identifier: ISC */
#include "conf/hba_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"
#include "conf/hba_line.h"

#define DEPTH_MAX 10		/* of files that name files */
#define NAMES_MAX ((size_t)1 << 20)	/* in all lists together */
#define FILES_MAX 1000			/* read again each time */
#define REGEXES_MAX 1000
#define REPORT_MAX 2048

struct walk {
	struct hba_taker to;
	long taken;
	bool failed;
	struct err *first;	/* the first problem */
};

static void tell(const struct hba_source *src, enum log_level level,
    const char *text)
{
	if (src->report != NULL)
		src->report(src->arg, level, text);
}

void hba_warn(const struct hba_place *at, unsigned number, const char *text)
{
	char line[REPORT_MAX];

	snprintf(line, sizeof(line), "hba line %u: %s (%s:%u)", number, text,
	    at->path, number);
	tell(at->src, LEVEL_WARNING, line);
}

/* A line can't be used. Returns -1 when nothing can go on. */
static int complain(struct walk *w, const struct hba_place *at,
    unsigned number, const struct err *why)
{
	const bool skip = at->src->skip_unknown &&
	    strcmp(why->code, HBA_UNKNOWN) == 0;
	const enum log_level level = skip ? LEVEL_WARNING : LEVEL_ERROR;
	char line[REPORT_MAX];

	if (err_is_nomem(why)) {
		err_nomem(w->first);
		w->failed = true;
		return -1;
	}
	snprintf(line, sizeof(line), "%s line %u: %s (%s:%u)%s", w->to.what,
	    number, why->text, at->path, number, skip ? ": skipped" : "");
	tell(at->src, level, line);
	if (!skip && !w->failed) {
		err_set(w->first, ERRCODE_CONFIG_FILE_ERROR, "%s", line);
		w->failed = true;
	}
	snprintf(line, sizeof(line), "could not parse %s config line %u",
	    w->to.what, number);
	tell(at->src, level, line);
	return 0;
}

int hba_path(const struct hba_place *at, const struct hba_word *w,
    size_t skip, char path[HBA_PATH_MAX])
{
	const char *const slash = strrchr(at->path, '/');
	const char *const name = w->at + skip;
	const size_t len = w->len - skip;

	if (w->comma || w->len <= skip)
		return -1;

	const int dir = name[0] == '/' || slash == NULL ? 0 :
	    (int)(slash + 1 - at->path);
	const int n = snprintf(path, HBA_PATH_MAX, "%.*s%.*s", dir, at->path,
	    (int)(len < HBA_PATH_MAX ? len : HBA_PATH_MAX), name);

	return n < HBA_PATH_MAX ? 0 : -1;
}

/* Caught between truncating and writing? Without its rules others get in. */
static bool is_blank(const struct file_text *f)
{
	return strspn(f->at, " \t\r\n") == f->len;
}

int hba_open(const struct hba_place *at, const char *path,
    struct file_text *f, struct err *e)
{
	errno = 0;
	if (at->depth >= DEPTH_MAX || at->budget->files == 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "too many files behind %s", path);
	at->budget->files--;
	if (at->src->read(path, f) == 0) {
		if (!is_blank(f))
			return 0;
		file_text_fini(f);
		errno = 0;
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "file \"%s\" is "
		    "empty: a comment in it says that this is meant", path);
	}
	if (errno == ENOMEM)
		return err_nomem(e);

	const int saved = errno;
	err_set(e, ERRCODE_CONFIG_FILE_ERROR, "could not open file \"%s\": %s",
	    path, input_why(saved));
	errno = saved;
	return -1;
}

/* --- include --- */

/* Recursive, by include(). 0, or -1 when nothing can go on. */
static int walk_text(struct walk *w, const struct hba_place *at, char *text,
    size_t len);

static int include(struct walk *w, const struct hba_place *at,
    const char *path, struct err *e)
{
	struct file_text f = { 0 };
	struct hba_place inner = *at;

	if (hba_open(at, path, &f, e) != 0)
		return -1;
	inner.path = path;
	inner.depth++;
	if (walk_text(w, &inner, f.at, f.len) != 0)
		err_nomem(e);
	else
		e->code[0] = '\0';
	file_text_fini(&f);
	return e->code[0] == '\0' ? 0 : -1;
}

static int include_if_exists(struct walk *w, const struct hba_place *at,
    const char *path, struct err *e)
{
	if (include(w, at, path, e) == 0 || errno == ENOENT)
		return 0;
	return -1;
}

static int include_dir(struct walk *w, const struct hba_place *at,
    const char *path, struct err *e)
{
	struct file_names names = { 0 };
	int rc = 0;

	if (at->src->list(path, &names) != 0) {
		if (errno == ENOMEM)
			return err_nomem(e);
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "could not open directory \"%s\": %s", path,
		    strerror(errno));
	}
	for (size_t i = 0; i < names.count && rc == 0; i++)
		rc = include(w, at, names.at[i], e);
	file_names_fini(&names);
	return rc;
}

struct kind {
	const char *word;
	int (*run)(struct walk *w, const struct hba_place *at,
	    const char *path, struct err *e);
};

/* Words even in quotes, as PostgreSQL takes them. */
static const struct kind kinds[] = {
	{ .word = "include", .run = include },
	{ .word = "include_if_exists", .run = include_if_exists },
	{ .word = "include_dir", .run = include_dir },
};

static const struct kind *find_kind(const struct hba_word *w)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (hba_word_equals(w, kinds[i].word))
			return &kinds[i];
	}
	return NULL;
}

static int run_include(struct walk *w, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	const struct kind *const kind = find_kind(&l->first);
	struct hba_word name, more;
	char path[HBA_PATH_MAX];

	if (hba_line_next(l, &name) != HBA_WORD ||
	    hba_line_next(l, &more) != HBA_END ||
	    (!name.quoted && name.at[0] == '@') ||
	    hba_path(at, &name, 0, path) != 0)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "%s wants the name of one file", kind->word);
	return kind->run(w, at, path, e);
}

/* --- lines --- */

static int take_line(struct walk *w, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	switch (hba_line_next(l, &l->first)) {
	case HBA_END:
		return 0;
	case HBA_BROKEN:
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
	case HBA_WORD:
		break;
	}

	if (find_kind(&l->first) != NULL)
		return run_include(w, l, at, e);
	if (w->to.line(w->to.arg, l, at, e) != 0)
		return -1;
	w->taken++;
	return 0;
}

static int walk_text(struct walk *w, const struct hba_place *at, char *text,
    size_t len)
{
	struct hba_text t = { .at = text, .end = text + len, .next = 1 };
	const unsigned nul = text_nul_line(text, len);
	struct hba_line l;
	struct err why;

	if (nul > 0) {
		(void)err_set(&why, ERRCODE_CONFIG_FILE_ERROR, "a NUL byte");
		return complain(w, at, nul, &why);
	}
	while (hba_text_next(&t, &l)) {
		if (take_line(w, &l, at, &why) != 0 &&
		    complain(w, at, l.number, &why) != 0)
			return -1;
	}
	return 0;
}

long hba_source_walk(const struct hba_source *src,
    const struct hba_taker *to, struct err *e)
{
	struct hba_budget budget = { NAMES_MAX, FILES_MAX, REGEXES_MAX };
	struct walk w = { .to = *to, .first = e };
	const struct hba_place at = {
		.path = src->path, .src = src, .budget = &budget,
	};
	char *const copy = mem_alloc(src->len + 1);

	if (copy == NULL)
		return err_nomem(e);
	memcpy(copy, src->text, src->len);
	(void)walk_text(&w, &at, copy, src->len);
	secret_wipe(copy, src->len);
	mem_free(copy);
	return w.failed ? -1 : w.taken;
}
