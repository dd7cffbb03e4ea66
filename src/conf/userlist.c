/* userlist.c - the auth file: names and secrets.
 * SPDX-License-Identifier: ISC */
#include "conf/userlist.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/crypto.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/file.h"
#include "proto/password.h"
#include "proto/scram.h"

#define PROBLEM_MAX 2048

struct listed {
	const char *name, *secret;	/* borrowed from texts; "" = none */
	size_t place;			/* in the file: which record */
};

/* Three pieces of memory for any number of names: often read, often freed. */
struct userlist {
	atomic_uint refs;
	char *texts;		/* owned, of secmem: names and secrets */
	size_t used;		/* bytes of texts in use */
	struct listed *list;	/* owned; by name, once all are there */
	size_t count, room;
	bool broken;		/* there were mistakes */
	bool blank;		/* the text had neither record nor comment */
	struct stat st;		/* of the file; all zero when parsed only */
};

struct parser {
	const char *at, *end;
	unsigned line;
	bool broken;		/* a record was: look for mistakes only */
	bool commented;
	const struct userlist_source *src;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool begins_with(const char *s, const char *word)
{
	return strncasecmp(s, word, strlen(word)) == 0;
}

/* Was this meant to be a hash, though none that can be checked against? */
static bool is_like_hash(const char *secret)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	const char *s = secret, *end;

	while (is_blank(*s))
		s++;
	if (begins_with(s, "SCRAM-SHA-"))
		return strchr(s, '$') != NULL;
	if (!begins_with(s, "md5"))
		return false;
	s += strlen("md5");
	end = s + strspn(s, hex);
	while (is_blank(*end))
		end++;
	return *end == '\0' && strspn(s, hex) == MD5_SECRET_LEN - 3;
}

enum secret_kind secret_kind(const char *secret)
{
	struct scram_verifier v;

	if (secret[0] == '\0')
		return SECRET_NONE;
	if (md5_is_secret(secret))
		return SECRET_MD5;

	const bool is_scram = scram_verifier_parse(&v, secret) == 0;
	secret_wipe(&v, sizeof(v));
	if (is_scram)
		return SECRET_SCRAM;
	return is_like_hash(secret) ? SECRET_UNUSABLE : SECRET_PLAIN;
}

static void userlist_report(const struct parser *p, enum log_level level,
    const char *what)
{
	char text[PROBLEM_MAX];

	if (p->src->report == NULL)
		return;
	snprintf(text, sizeof(text), "%s (%s:%u)", what, p->src->path,
	    p->line);
	p->src->report(p->src->arg, level, text);
}

static void userlist_skip_line(struct parser *p)
{
	const char *const nl = memchr(p->at, '\n', (size_t)(p->end - p->at));

	p->at = nl != NULL ? nl : p->end;
}

/* White space and comments before a record. */
static void skip_to_record(struct parser *p)
{
	while (p->at < p->end) {
		if (*p->at == '\n')
			p->line++;
		if (*p->at == ';') {
			p->commented = true;
			userlist_skip_line(p);
			continue;
		}
		if (!is_blank(*p->at))
			return;
		p->at++;
	}
}

/* A field as it stands in the file: between its quotes. */
struct field {
	const char *at;
	size_t len;		/* doubled quotes counted as two */
};

/*
 * Take the quoted field at p->at; -1 when its end is missing on this line: one
 * lost quote would make the next user a part of this one.
 */
static int take_field(struct parser *p, struct field *f)
{
	f->at = p->at + 1;
	for (const char *s = f->at; s < p->end && *s != '\n'; s++) {
		if (*s != '"')
			continue;
		if (s + 1 < p->end && s[1] == '"') {
			s++;
			continue;
		}
		f->len = (size_t)(s - f->at);
		p->at = s + 1;
		return 0;
	}
	return -1;
}

/*
 * The text of f, copied to u's texts. All texts fit: each has two quotes in the
 * file, one NUL here.
 */
static const char *unquote(struct userlist *u, const struct field *f)
{
	char *const text = u->texts + u->used, *out = text;

	for (size_t i = 0; i < f->len; i++) {
		*out++ = f->at[i];
		if (f->at[i] == '"')
			i++;
	}
	*out++ = '\0';
	u->used += (size_t)(out - text);
	return text;
}

static int userlist_make_room(struct userlist *u)
{
	const size_t room = u->room > 0 ? 2 * u->room : 16;

	if (u->count < u->room)
		return 0;
	void *const list = mem_resize(u->list, room * sizeof(*u->list));
	if (list == NULL)
		return -1;
	u->list = list;
	u->room = room;
	return 0;
}

static int userlist_compare(const void *a, const void *b)
{
	const struct listed *const x = a, *const y = b;

	return strcmp(x->name, y->name);
}

/* ... and records with one name by their place. */
static int userlist_by_name(const void *a, const void *b)
{
	const struct listed *const x = a, *const y = b;
	const int d = userlist_compare(a, b);

	return d != 0 ? d : (x->place > y->place) - (x->place < y->place);
}

/* Of records with one name the last one counts. */
static void sort(struct userlist *u)
{
	size_t kept = 0;

	if (u->count == 0)
		return;
	qsort(u->list, u->count, sizeof(*u->list), userlist_by_name);
	for (size_t i = 1; i < u->count; i++) {
		if (strcmp(u->list[kept].name, u->list[i].name) != 0)
			kept++;
		u->list[kept] = u->list[i];
	}
	u->count = kept + 1;
}

enum record { RECORD_OK, RECORD_BAD, RECORD_NO_MEMORY };

static enum record userlist_bad(const struct parser *p, const char *what)
{
	userlist_report(p, LEVEL_ERROR, what);
	return RECORD_BAD;
}

/* A NUL is a torn write: no part of the file is taken. */
static void look_for_nul(struct parser *p)
{
	p->line = text_nul_line(p->at, (size_t)(p->end - p->at));
	if (p->line > 0) {
		userlist_bad(p, "NUL byte in auth file");
		p->broken = true;
		p->at = p->end;
	}
	p->line = 1;
}

static enum record broken(const struct parser *p)
{
	char text[PROBLEM_MAX];

	snprintf(text, sizeof(text), "broken auth file (%s:%u), a line is "
	    "\"user\" \"password\", with the quotes", p->src->path, p->line);
	if (p->src->report != NULL)
		p->src->report(p->src->arg, LEVEL_ERROR, text);
	return RECORD_BAD;
}

static enum record take_record(struct parser *p, struct userlist *u)
{
	const char *const begin = p->at;
	struct field name, secret;

	if (*p->at != '"' || take_field(p, &name) != 0)
		return broken(p);
	if (name.len >= USERLIST_NAME_MAX)
		return userlist_bad(p, "username too long in auth file");

	while (p->at < p->end && *p->at != '\n' && *p->at != '"')
		p->at++;
	if (p->at == p->end || *p->at != '"')
		return broken(p);
	if (take_field(p, &secret) != 0)
		return broken(p);
	if (secret.len >= USERLIST_SECRET_MAX)
		return userlist_bad(p, "password too long in auth file");

	if (p->broken) {
		userlist_skip_line(p);
		return RECORD_OK;
	}

	if (userlist_make_room(u) != 0)
		return RECORD_NO_MEMORY;
	struct listed *const l = &u->list[u->count];
	l->name = unquote(u, &name);
	l->secret = unquote(u, &secret);
	if (secret_kind(l->secret) == SECRET_UNUSABLE)
		userlist_report(p, LEVEL_WARNING,
		    "unusable secret in auth file: it "
		    "looks like a hash but is not valid, so no password matches "
		    "it");
	l->place = u->count++;
	userlist_skip_line(p);
	if (p->src->record != NULL)
		p->src->record(p->src->arg, l->name,
		    (size_t)(begin - p->src->text), (size_t)(p->at - begin));
	return RECORD_OK;
}

struct userlist *userlist_parse(const struct userlist_source *src)
{
	struct parser p = {
		.at = src->text,
		.end = src->text + src->len,
		.src = src,
	};
	struct userlist *u = mem_zalloc(sizeof(*u));

	if (u == NULL)
		return NULL;
	u->refs = 1;
	u->texts = secmem_zalloc((size_t)(p.end - p.at) + 1);
	if (u->texts == NULL)
		userlist_unref(&u);
	look_for_nul(&p);
	while (u != NULL) {
		skip_to_record(&p);
		if (p.at == p.end) {
			u->blank = u->count == 0 && !p.broken && !p.commented;
			u->broken = p.broken;
			sort(u);
			return u;
		}
		switch (take_record(&p, u)) {
		case RECORD_OK:
			break;
		case RECORD_BAD:
			p.broken = true;
			userlist_skip_line(&p);
			break;
		case RECORD_NO_MEMORY:
			userlist_unref(&u);
			break;
		}
	}
	return NULL;
}

/* What to do about a file that could not be read. */
static const char *missing_hint(const char *path, int error)
{
	if (path[0] == '"' || path[0] == '\'')
		return " (the quotes are part of the name)";
	if (error != ENOENT)
		return "";
	return path[0] == '/' ?
	    " (\"pgsluicectl userlist import\" or \"add\" makes it)" :
	    " (\"pgsluicectl userlist import\" or \"add\" makes it; the name is "
	    "relative to the folder in which pgsluice is started)";
}

struct userlist *userlist_load(const char *path,
    userlist_report_fn *report_fn, void *arg)
{
	struct file_text f = { 0 };
	char text[PROBLEM_MAX];

	if (file_read(path, &f) != 0) {
		snprintf(text, sizeof(text),
		    "could not open auth_file %s: %s%s", path, input_why(errno),
		    missing_hint(path, errno));
		if (report_fn != NULL)
			report_fn(arg, LEVEL_ERROR, text);
		return NULL;
	}

	const struct userlist_source src = {
		.text = f.at, .len = f.len, .path = path,
		.report = report_fn, .arg = arg,
	};
	struct userlist *const u = userlist_parse(&src);
	if (u != NULL)
		u->st = f.st;
	else if (report_fn != NULL)
		report_fn(arg, LEVEL_ERROR, "out of memory while reading auth_file");
	file_text_fini(&f);
	if (u == NULL)
		errno = ENOMEM;
	return u;
}

bool userlist_is_current(const struct userlist *u, const char *path)
{
	struct stat st;

	if (u->broken || stat(path, &st) != 0)
		return false;
	return st.st_dev == u->st.st_dev && st.st_ino == u->st.st_ino &&
	    st.st_size == u->st.st_size && st.st_mode == u->st.st_mode &&
	    st.st_mtim.tv_sec == u->st.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == u->st.st_mtim.tv_nsec &&
	    st.st_ctim.tv_sec == u->st.st_ctim.tv_sec &&
	    st.st_ctim.tv_nsec == u->st.st_ctim.tv_nsec;
}

struct userlist *userlist_ref(struct userlist *u)
{
	u->refs++;
	return u;
}

void userlist_unref(struct userlist **up)
{
	struct userlist *const u = *up;

	*up = NULL;
	if (u == NULL || --u->refs > 0)
		return;
	secmem_free(u->texts);
	mem_free(u->list);
	mem_free(u);
}

const char *userlist_find(const struct userlist *u, const char *name)
{
	const struct listed key = { .name = name };
	const struct listed *const l = u->count == 0 ? NULL :
	    bsearch(&key, u->list, u->count, sizeof(*u->list),
	    userlist_compare);

	return l != NULL ? l->secret : NULL;
}

size_t userlist_count(const struct userlist *u)
{
	return u->count;
}

bool userlist_is_blank(const struct userlist *u)
{
	return u->blank;
}

const char *userlist_name(const struct userlist *u, size_t n)
{
	return n < u->count ? u->list[n].name : NULL;
}

int userlist_each(const struct userlist *u,
    int (*fn)(const char *name, const char *secret, void *arg), void *arg)
{
	for (size_t i = 0; i < u->count; i++) {
		const int rc = fn(u->list[i].name, u->list[i].secret, arg);

		if (rc != 0)
			return rc;
	}
	return 0;
}
