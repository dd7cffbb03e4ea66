/* hba.c - who may log in from where, and how: auth_hba_file and its maps.
 * SPDX-License-Identifier: ISC */
#include "conf/hba.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/vault.h"
#include "conf/file.h"
#include "conf/hba_line.h"
#include "conf/hba_list.h"
#include "conf/ident.h"

#define NAMES_MAX ((size_t)1 << 20)	/* in all lists together */
#define FILES_MAX 1000			/* behind @, read again each time */

enum connection { LOCAL, HOST, HOSTSSL, HOSTNOSSL };

struct rule {
	struct hba_rule said;	/* first: what callers see */
	char *options;		/* owned, of the vault */
	enum connection connection;
	bool any_address;
	struct net_cidr address;
	struct hba_list databases, users;
	struct rule *prev, *next;
};

struct hba {
	atomic_uint refs;
	struct ident *maps;	/* owned; NULL = none */
	struct rule *rules;	/* DL, in file order */
};

struct parser {
	struct hba *hba;
	const struct hba_source *src;
	unsigned line;
	struct hba_budget budget;
	struct err why;		/* the line at hand can't be used */
};

static void rule_free(struct rule *r)
{
	hba_list_fini(&r->databases);
	hba_list_fini(&r->users);
	vault_free(r->options);
	mem_free(r);
}

struct hba *hba_ref(struct hba *h)
{
	h->refs++;
	return h;
}

void hba_unref(struct hba **hp)
{
	struct hba *const h = *hp;
	struct rule *r, *next;

	*hp = NULL;
	if (h == NULL || --h->refs > 0)
		return;
	DL_FOREACH_SAFE(h->rules, r, next)
		rule_free(r);
	ident_free(&h->maps);
	mem_free(h);
}

/* --- one line; functions return 0, or -1 with p->why --- */

static int bad(struct parser *p, const char *what, const struct hba_word *w)
{
	return err_set(&p->why, "F0000", "%s \"%.*s\"", what,
	    (int)(w->len < 200 ? w->len : 200), w->at);
}

static int no_memory(struct parser *p)
{
	return err_set(&p->why, "53200", "out of memory");
}

/* A word that must be there; what says which. */
static int need(struct parser *p, struct hba_line *l, const char *what,
    struct hba_word *w)
{
	switch (hba_line_next(l, w)) {
	case HBA_WORD:
		return w->comma ? bad(p, what, w) : 0;
	case HBA_END:
		return err_set(&p->why, "F0000", "%s is missing", what);
	case HBA_BROKEN:
		break;
	}
	return err_set(&p->why, "F0000", "an open quote");
}

static int take_type(struct parser *p, const struct hba_word *w,
    struct rule *r)
{
	static const char *const types[] = {
		[LOCAL] = "local", [HOST] = "host", [HOSTSSL] = "hostssl",
		[HOSTNOSSL] = "hostnossl",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (hba_word_is(w, types[i])) {
			r->connection = (enum connection)i;
			return 0;
		}
	}
	return bad(p, "unknown type", w);
}

static int take_list(struct parser *p, struct hba_line *l,
    enum hba_column column, struct hba_list *list)
{
	const struct hba_place at = {
		.column = column,
		.path = p->src->path,
		.read = p->src->read,
		.budget = &p->budget,
	};

	return hba_list_take(list, l, &at, &p->why);
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

/* "all", ip/bits, or ip and mask. */
static int take_address(struct parser *p, struct hba_line *l, struct rule *r)
{
	char ip[NET_TEXT_MAX], mask[NET_TEXT_MAX];
	struct hba_word w, m;
	struct net_addr a;

	if (need(p, l, "the address", &w) != 0)
		return -1;
	r->any_address = hba_word_is(&w, "all");
	if (r->any_address)
		return 0;
	if (ip_text(&w, ip) != 0)
		return bad(p, "unsupported address", &w);
	if (strchr(ip, '/') != NULL) {
		if (net_parse_cidr(ip, NULL, &r->address) != 0)
			return bad(p, "unsupported address", &w);
	} else {
		if (net_parse_ip(ip, 0, &a) != 0)
			return bad(p, "unsupported address", &w);
		if (need(p, l, "the mask", &m) != 0)
			return -1;
		if (ip_text(&m, mask) != 0 ||
		    net_parse_cidr(ip, mask, &r->address) != 0)
			return bad(p, "invalid mask", &m);
	}
	return 0;
}

static int take_method(struct parser *p, const struct hba_word *w,
    struct rule *r)
{
	static const struct {
		const char *word;
		enum auth_type method;
	} methods[] = {
		{ "trust", AUTH_TRUST },
		{ "reject", AUTH_REJECT },
		{ "md5", AUTH_MD5 },
		{ "password", AUTH_PLAIN },
		{ "scram-sha-256", AUTH_SCRAM_SHA_256 },
		{ "peer", AUTH_PEER },
		{ "cert", AUTH_CERT },
		{ "ldap", AUTH_LDAP },
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (hba_word_is(w, methods[i].word)) {
			r->said.method = methods[i].method;
			return 0;
		}
	}
	return bad(p, "unknown method", w);
}

/* Its value may be a secret, meant for another method. */
static int bad_option(struct parser *p, const struct hba_word *w)
{
	const char *const eq = memchr(w->at, '=', w->len);
	struct hba_word name = *w;

	if (eq != NULL)
		name.len = (size_t)(eq - w->at);
	return bad(p, "unknown option", &name);
}

static int take_map(struct parser *p, const struct hba_word *w,
    struct rule *r)
{
	static const char key[] = "map=";
	const size_t key_len = sizeof(key) - 1;

	if (w->len < key_len || memcmp(w->at, key, key_len) != 0)
		return bad_option(p, w);

	char *const name = mem_strndup(w->at + key_len, w->len - key_len);
	if (name == NULL)
		return no_memory(p);
	r->said.map = p->hba->maps == NULL ? NULL :
	    ident_find(p->hba->maps, name);
	mem_free(name);
	return r->said.map != NULL ? 0 : bad(p, "unknown ident map", w);
}

static int take_options(struct parser *p, struct hba_line *l, struct rule *r)
{
	struct hba_word w = { .at = "" };
	enum hba_step step;

	if (r->said.method == AUTH_LDAP)
		w = hba_line_rest(l);
	r->options = vault_zalloc(w.len + 1);
	if (r->options == NULL)
		return no_memory(p);
	memcpy(r->options, w.at, w.len);
	r->said.options = r->options;
	while ((step = hba_line_next(l, &w)) == HBA_WORD) {
		if (take_map(p, &w, r) != 0)
			return -1;
	}
	return step == HBA_END ? 0 :
	    err_set(&p->why, "F0000", "an open quote");
}

static int take_fields(struct parser *p, struct hba_line *l,
    const struct hba_word *first, struct rule *r)
{
	struct hba_word w;

	if (take_type(p, first, r) != 0 ||
	    take_list(p, l, HBA_DATABASE, &r->databases) != 0 ||
	    take_list(p, l, HBA_USER, &r->users) != 0)
		return -1;
	if (r->connection != LOCAL && take_address(p, l, r) != 0)
		return -1;
	if (need(p, l, "the method", &w) != 0 || take_method(p, &w, r) != 0)
		return -1;
	return take_options(p, l, r);
}

static int take_rule(struct parser *p, struct hba_line *l)
{
	struct hba_word first;

	switch (hba_line_next(l, &first)) {
	case HBA_END:
		return 0;
	case HBA_BROKEN:
		return err_set(&p->why, "F0000", "an open quote");
	case HBA_WORD:
		break;
	}

	struct rule *const r = mem_zalloc(sizeof(*r));
	if (r == NULL)
		return no_memory(p);
	r->said.line = p->line;
	if (take_fields(p, l, &first, r) != 0) {
		rule_free(r);
		return -1;
	}
	DL_APPEND(p->hba->rules, r);
	return 0;
}

/* --- all of them --- */

static void report_line(const struct parser *p)
{
	char line[1200];

	if (p->src->report == NULL)
		return;
	snprintf(line, sizeof(line), "hba line %u: %s", p->line, p->why.text);
	p->src->report(p->src->arg, line);
	snprintf(line, sizeof(line), "could not parse hba config line %u",
	    p->line);
	p->src->report(p->src->arg, line);
}

/* 0 or -1: no memory. */
static int take_rules(struct parser *p, char *text)
{
	char *const end = text + p->src->len;
	struct hba_line l;

	for (p->line = 1; hba_line_take(&text, end, &l); p->line++) {
		if (take_rule(p, &l) == 0)
			continue;
		if (strcmp(p->why.code, "53200") == 0)
			return -1;
		report_line(p);
	}
	return 0;
}

struct hba *hba_parse(const struct hba_source *src, struct ident *maps)
{
	struct hba *h = mem_zalloc(sizeof(*h));
	struct parser p = {
		.hba = h, .src = src, .budget = { NAMES_MAX, FILES_MAX },
	};
	char *copy;

	if (h == NULL) {
		ident_free(&maps);
		return NULL;
	}
	h->refs = 1;
	h->maps = maps;
	copy = mem_alloc(src->len + 1);
	if (copy != NULL)
		memcpy(copy, src->text, src->len);
	if (copy == NULL || take_rules(&p, copy) != 0)
		hba_unref(&h);
	if (copy != NULL)
		secret_wipe(copy, src->len);
	mem_free(copy);
	return h;
}

/* errno tells why what could not be read. Returns -1. */
static int not_read(const char *what, const char *path, struct err *e)
{
	if (errno == ENOMEM)
		return err_set(e, "53200", "out of memory");
	return err_set(e, "58P01", "could not open %s config file %s: %s",
	    what, path, strerror(errno));
}

static int load_maps(const char *path, const struct hba_source *how,
    struct ident **maps, struct err *e)
{
	struct file_text f = { 0 };

	if (path == NULL || path[0] == '\0')
		return 0;
	if (how->read(path, &f) != 0)
		return not_read("ident", path, e);
	*maps = ident_parse(f.at, f.len, how->report, how->arg);
	file_text_fini(&f);
	return *maps != NULL ? 0 : err_set(e, "53200", "out of memory");
}

struct hba *hba_load(const char *path, const char *map_path,
    const struct hba_source *how, struct err *e)
{
	struct ident *maps = NULL;
	struct file_text f = { 0 };

	if (load_maps(map_path, how, &maps, e) != 0)
		return NULL;
	if (how->read(path, &f) != 0) {
		not_read("hba", path, e);
		ident_free(&maps);
		return NULL;
	}

	struct hba_source src = *how;
	src.text = f.at;
	src.len = f.len;
	src.path = path;
	struct hba *const h = hba_parse(&src, maps);
	if (h == NULL)
		err_set(e, "53200", "out of memory");
	file_text_fini(&f);
	return h;
}

/* --- matching (spec/authentication.md section 4) --- */

static bool fits_connection(const struct rule *r, const struct hba_login *l)
{
	const bool is_unix = l->addr->family == NET_UNIX;

	switch (r->connection) {
	case LOCAL: return is_unix;
	case HOST: return !is_unix;
	case HOSTSSL: return !is_unix && l->tls;
	case HOSTNOSSL: return !is_unix && !l->tls;
	}
	return false;
}

static bool fits_database(const struct rule *r, const struct hba_login *l)
{
	const struct hba_list *const d = &r->databases;

	if (l->physical)
		return (d->keywords & HBA_REPLICATION) != 0;
	return (d->keywords & HBA_ALL) != 0 ||
	    ((d->keywords & HBA_SAMEUSER) != 0 &&
	    strcmp(l->database, l->user) == 0) ||
	    hba_list_has(d, l->database);
}

static bool fits_user(const struct rule *r, const struct hba_login *l)
{
	const struct hba_list *const u = &r->users;

	return (u->keywords & HBA_ALL) != 0 ||
	    ((u->keywords & HBA_SAMEUSER) != 0 &&
	    strcmp(l->database, l->user) == 0) ||
	    hba_list_has(u, l->user);
}

const struct hba_rule *hba_find(const struct hba *h,
    const struct hba_login *l)
{
	const struct rule *r;

	if (h == NULL)
		return NULL;
	DL_FOREACH(h->rules, r) {
		if (fits_connection(r, l) && (r->connection == LOCAL ||
		    r->any_address || net_cidr_has(&r->address, l->addr)) &&
		    fits_database(r, l) && fits_user(r, l))
			return &r->said;
	}
	return NULL;
}

const struct hba_rule *hba_find_like(const struct hba *h,
    bool (*is)(const struct hba_rule *r))
{
	const struct rule *r;

	if (h == NULL)
		return NULL;
	DL_FOREACH(h->rules, r) {
		if (is(&r->said))
			return &r->said;
	}
	return NULL;
}

size_t hba_count(const struct hba *h)
{
	const struct rule *r;
	size_t n = 0;

	DL_COUNT(h->rules, r, n);
	return n;
}
