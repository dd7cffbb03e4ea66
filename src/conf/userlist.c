/* userlist.c - the auth file: names and secrets.
 * SPDX-License-Identifier: ISC */
#include "conf/userlist.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/vault.h"
#include "conf/file.h"
#include "conf/hash.h"
#include "proto/md5.h"
#include "proto/scram.h"

#define PROBLEM_MAX 2048

struct listed {
	char *secret;		/* owned, "" = none */
	UT_hash_handle hh;
	char name[];
};

struct userlist {
	unsigned refs;
	struct listed *map;	/* owned; its order is that of the file */
	struct stat st;		/* of the file; all zero when parsed only */
};

struct parser {
	const char *at, *end;
	unsigned line;
	bool broken;		/* a record was: look for mistakes only */
	const struct userlist_source *src;
};

enum secret_kind secret_kind(const char *secret)
{
	struct scram_verifier v;

	if (secret[0] == '\0')
		return SECRET_NONE;
	if (md5_is_secret(secret))
		return SECRET_MD5;

	const bool is_scram = scram_verifier_parse(&v, secret) == 0;
	secret_wipe(&v, sizeof(v));
	return is_scram ? SECRET_SCRAM : SECRET_PLAIN;
}

static void report(const struct parser *p, const char *what)
{
	char text[PROBLEM_MAX];

	if (p->src->report == NULL)
		return;
	snprintf(text, sizeof(text), "%s (%s:%u)", what, p->src->path,
	    p->line);
	p->src->report(p->src->arg, text);
}

static void skip_to(struct parser *p, const char *to)
{
	for (; p->at < to; p->at++) {
		if (*p->at == '\n')
			p->line++;
	}
}

static void skip_line(struct parser *p)
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
			skip_line(p);
			continue;
		}
		if (*p->at != ' ' && (*p->at < '\t' || *p->at > '\r'))
			return;
		p->at++;
	}
}

/* A field as it stands in the file: between its quotes. */
struct field {
	const char *at;
	size_t len;		/* doubled quotes counted as two */
};

/* Take the quoted field at p->at; -1 when its end is missing. */
static int take_field(struct parser *p, struct field *f)
{
	f->at = p->at + 1;
	for (const char *s = f->at; s < p->end; s++) {
		if (*s != '"')
			continue;
		if (s + 1 < p->end && s[1] == '"') {
			s++;
			continue;
		}
		f->len = (size_t)(s - f->at);
		skip_to(p, s + 1);
		return 0;
	}
	return -1;
}

/* Writes the text of f and a NUL to out, which has room for f->len + 1. */
static void unquote(const struct field *f, char *out)
{
	for (size_t i = 0; i < f->len; i++) {
		*out++ = f->at[i];
		if (f->at[i] == '"')
			i++;
	}
	*out = '\0';
}

static struct listed *find(const struct userlist *u, const char *name)
{
	struct listed *l;

	HASH_FIND_STR(u->map, name, l);
	return l;
}

/* Takes secret in any case. */
static int put(struct userlist *u, const char *name, char *secret)
{
	struct listed *l = find(u, name);

	if (l != NULL) {
		vault_free(l->secret);
		l->secret = secret;
		return 0;
	}

	const size_t name_size = strlen(name) + 1;
	l = mem_zalloc(sizeof(*l) + name_size);
	if (l == NULL) {
		vault_free(secret);
		return -1;
	}
	l->secret = secret;
	memcpy(l->name, name, name_size);
	HASH_ADD_KEYPTR(hh, u->map, l->name, name_size - 1, l);
	if (l->hh.tbl != NULL)
		return 0;
	vault_free(secret);
	mem_free(l);
	return -1;
}

enum record { RECORD_OK, RECORD_BAD, RECORD_NO_MEMORY };

static enum record bad(const struct parser *p, const char *what)
{
	report(p, what);
	return RECORD_BAD;
}

static enum record take_record(struct parser *p, struct userlist *u)
{
	const char *const begin = p->at;
	struct field name, secret;

	if (*p->at != '"' || take_field(p, &name) != 0)
		return bad(p, "broken auth file");
	if (name.len >= USERLIST_NAME_MAX)
		return bad(p, "username too long in auth file");

	const char *const quote =
	    memchr(p->at, '"', (size_t)(p->end - p->at));
	if (quote == NULL)
		return bad(p, "broken auth file");
	skip_to(p, quote);
	if (take_field(p, &secret) != 0)
		return bad(p, "broken auth file");
	if (secret.len >= USERLIST_SECRET_MAX)
		return bad(p, "password too long in auth file");

	if (p->broken) {
		skip_line(p);
		return RECORD_OK;
	}

	char name_text[USERLIST_NAME_MAX];
	unquote(&name, name_text);
	char *const secret_text = vault_zalloc(secret.len + 1);
	if (secret_text == NULL)
		return RECORD_NO_MEMORY;
	unquote(&secret, secret_text);
	if (put(u, name_text, secret_text) != 0)
		return RECORD_NO_MEMORY;
	skip_line(p);
	if (p->src->record != NULL)
		p->src->record(p->src->arg, name_text,
		    (size_t)(begin - p->src->text), (size_t)(p->at - begin));
	return RECORD_OK;
}

struct userlist *userlist_parse(const struct userlist_source *src)
{
	struct parser p = {
		.at = src->text,
		.end = src->text + strnlen(src->text, src->len),
		.line = 1,
		.src = src,
	};
	struct userlist *u = mem_zalloc(sizeof(*u));

	if (u == NULL)
		return NULL;
	u->refs = 1;
	for (;;) {
		skip_to_record(&p);
		if (p.at == p.end)
			return u;
		switch (take_record(&p, u)) {
		case RECORD_OK:
			break;
		case RECORD_BAD:
			p.broken = true;
			skip_line(&p);
			break;
		case RECORD_NO_MEMORY:
			userlist_unref(&u);
			return NULL;
		}
	}
}

struct userlist *userlist_load(const char *path,
    userlist_report_fn *report_fn, void *arg)
{
	struct file_text f = { 0 };
	char text[PROBLEM_MAX];

	if (file_read(path, &f) != 0) {
		snprintf(text, sizeof(text),
		    "could not open auth_file %s: %s", path, strerror(errno));
		if (report_fn != NULL)
			report_fn(arg, text);
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
		report_fn(arg, "out of memory while reading auth_file");
	file_text_fini(&f);
	if (u == NULL)
		errno = ENOMEM;
	return u;
}

bool userlist_is_current(const struct userlist *u, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
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
	struct listed *l, *next;

	*up = NULL;
	if (u == NULL || --u->refs > 0)
		return;
	HASH_ITER (hh, u->map, l, next) {
		HASH_DEL(u->map, l);
		vault_free(l->secret);
		mem_free(l);
	}
	mem_free(u);
}

const char *userlist_find(const struct userlist *u, const char *name)
{
	const struct listed *const l = find(u, name);

	return l != NULL ? l->secret : NULL;
}

size_t userlist_count(const struct userlist *u)
{
	return HASH_COUNT(u->map);
}

int userlist_each(const struct userlist *u,
    int (*fn)(const char *name, const char *secret, void *arg), void *arg)
{
	for (const struct listed *l = u->map; l != NULL; l = l->hh.next) {
		const int rc = fn(l->name, l->secret, arg);

		if (rc != 0)
			return rc;
	}
	return 0;
}
