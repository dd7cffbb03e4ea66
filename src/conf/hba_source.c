/* hba_source.c - the lines and words of an HBA or ident map file and its
 * includes.
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

static void hba_source_tell(const struct hba_source *src, enum log_level level,
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
	hba_source_tell(at->src, LEVEL_WARNING, line);
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
	hba_source_tell(at->src, level, line);
	if (!skip && !w->failed) {
		err_set(w->first, ERRCODE_CONFIG_FILE_ERROR, "%s", line);
		w->failed = true;
	}
	snprintf(line, sizeof(line), "could not parse %s config line %u",
	    w->to.what, number);
	hba_source_tell(at->src, level, line);
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
static bool hba_source_is_blank(const struct file_text *f)
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
		if (!hba_source_is_blank(f))
			return 0;
		file_text_fini(f);
		errno = 0;
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "file \"%s\" is "
		    "empty: if this is intended, put a comment in it", path);
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

static int hba_source_take_line(struct walk *w, struct hba_line *l,
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
		if (hba_source_take_line(w, &l, at, &why) != 0 &&
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

/* PostgreSQL's blanks: other characters are a part of the word. */
static bool hba_line_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void hba_source_skip_blanks(struct hba_line *l)
{
	while (l->at < l->end && hba_line_is_blank(*l->at))
		l->at++;
}

/* Move what is up to the next line feed behind what l has. */
static void append(struct hba_line *l, struct hba_text *t)
{
	const size_t left = (size_t)(t->end - t->at);
	char *const nl = memchr(t->at, '\n', left);
	const size_t len = nl != NULL ? (size_t)(nl - t->at) : left;

	memmove(l->end, t->at, len);
	l->end += len;
	t->at += len + (nl != NULL);
	t->next++;
	while (l->end > l->at && l->end[-1] == '\r')
		l->end--;
}

bool hba_text_next(struct hba_text *t, struct hba_line *l)
{
	const char *joined = t->at;	/* no backslash before it counts */

	if (t->at >= t->end)
		return false;
	*l = (struct hba_line){
		.at = t->at, .end = t->at, .number = t->next,
	};
	do {
		append(l, t);
		if (l->end <= joined || l->end[-1] != '\\')
			break;
		joined = --l->end;
	} while (t->at < t->end);
	return true;
}

/*
 * A word, or a part of one, in quotes: moved to out, without them. NULL: the
 * end of it is missing; else what follows in out.
 */
static char *hba_source_take_quoted(struct hba_line *l, char *out)
{
	for (l->at++; l->at < l->end; l->at++) {
		if (*l->at == '"') {
			if (l->at + 1 == l->end || l->at[1] != '"') {
				l->at++;
				return out;
			}
			l->at++;
		}
		*out++ = *l->at;
	}
	return NULL;
}

static bool ends_word(char c)
{
	return hba_line_is_blank(c) || c == ',' || c == '#';
}

enum hba_step hba_line_next(struct hba_line *l, struct hba_word *w)
{
	hba_source_skip_blanks(l);
	if (l->at == l->end || *l->at == '#')
		return HBA_END;
	*w = (struct hba_word){ .at = l->at, .len = 1 };
	if (*l->at == ',') {
		w->comma = true;
		l->at++;
		return HBA_WORD;
	}
	w->quoted = *l->at == '"';

	char *out = l->at;
	while (l->at < l->end && !ends_word(*l->at)) {
		if (*l->at != '"') {
			*out++ = *l->at++;
			continue;
		}
		out = hba_source_take_quoted(l, out);
		if (out == NULL)
			return HBA_BROKEN;
	}
	w->len = (size_t)(out - w->at);
	return memchr(w->at, '\0', w->len) == NULL ? HBA_WORD : HBA_BROKEN;
}

bool hba_line_take_comma(struct hba_line *l)
{
	if (l->at == l->end || *l->at != ',')
		return false;
	l->at++;
	return true;
}

struct hba_word hba_line_rest(struct hba_line *l)
{
	bool inside = false;
	const char *end;

	hba_source_skip_blanks(l);
	for (end = l->at; end < l->end; end++) {
		if (*end == '"')
			inside = !inside;
		if (*end == '#' && !inside)
			break;
	}
	while (end > l->at && hba_line_is_blank(end[-1]))
		end--;

	const struct hba_word w = {
		.at = l->at, .len = (size_t)(end - l->at), .quoted = true,
	};
	l->at = l->end;
	return w;
}

bool hba_word_equals(const struct hba_word *w, const char *text)
{
	return !w->comma && w->len == strlen(text) &&
	    memcmp(w->at, text, w->len) == 0;
}

bool hba_word_is(const struct hba_word *w, const char *keyword)
{
	return !w->quoted && hba_word_equals(w, keyword);
}
