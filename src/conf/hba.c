/* hba.c - rules for logins, by user and address: auth_hba_file and its maps.
 * SPDX-License-Identifier: ISC */
#include "conf/hba.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/input.h"
#include "base/jwt.h"
#include "base/mem.h"
#include "conf/file.h"
#include "conf/hba_list.h"
#include "conf/hba_source.h"
#include "conf/ident.h"
#include "conf/oauth_options.h"

enum connection { LOCAL, HOST, HOSTSSL, HOSTNOSSL, HOSTGSSENC, HOSTNOGSSENC };

struct rule {
	struct hba_rule said;	/* first: what callers see */
	char *options;		/* owned, of secmem */
	char *realm;		/* owned: said.krb_realm */
	struct oauth_options *oauth;	/* counted; NULL: another method */
	const struct ident *maps;	/* borrowed from its hba */
	enum connection connection;
	struct hba_address address;
	struct hba_list databases, users;
	struct rule *prev, *next;
};

struct hba {
	atomic_uint refs;
	struct ident *maps;	/* owned; NULL = none */
	struct rule *rules;	/* DL, in file order */
};

static void rule_free(struct rule *r)
{
	hba_address_fini(&r->address);
	hba_list_fini(&r->databases);
	hba_list_fini(&r->users);
	secmem_free(r->options);
	mem_free(r->realm);
	oauth_options_unref(&r->oauth);
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

/* --- one line; functions return 0, or -1 with e --- */

static int hba_bad(struct err *e, const char *what, const struct hba_word *w)
{
	return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "%s \"%.*s\"", what,
	    (int)(w->len < 200 ? w->len : 200), w->at);
}

/* The quotes of a keyword don't count, as for PostgreSQL. */
static int take_type(const struct hba_word *w, struct rule *r, struct err *e)
{
	static const char *const types[] = {
		[LOCAL] = "local", [HOST] = "host", [HOSTSSL] = "hostssl",
		[HOSTNOSSL] = "hostnossl", [HOSTGSSENC] = "hostgssenc",
		[HOSTNOGSSENC] = "hostnogssenc",
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (hba_word_equals(w, types[i])) {
			r->connection = (enum connection)i;
			return 0;
		}
	}
	return hba_bad(e, "unknown type", w);
}

struct method {
	const char *word;
	enum auth_type type;
	bool foreign;		/* known to PostgreSQL, not to us */
};

#ifdef HAVE_GSSAPI
#define GSS_IS_FOREIGN false
#else
#define GSS_IS_FOREIGN true
#endif

static const struct method methods[] = {
	{ .word = "trust", .type = AUTH_TRUST },
	{ .word = "reject", .type = AUTH_REJECT },
	{ .word = "md5", .type = AUTH_MD5 },
	{ .word = "password", .type = AUTH_PLAIN },
	{ .word = "scram-sha-256", .type = AUTH_SCRAM_SHA_256 },
	{ .word = "peer", .type = AUTH_PEER },
	{ .word = "cert", .type = AUTH_CERT },
	{ .word = "ldap", .type = AUTH_LDAP },
	{ .word = "oauth", .type = AUTH_OAUTH },
	/* on a Unix socket "ident" is another word for peer */
	{ .word = "ident", .type = AUTH_PEER, .foreign = true },
	{ .word = "gss", .type = AUTH_GSS, .foreign = GSS_IS_FOREIGN },
	{ .word = "sspi", .foreign = true },
	{ .word = "pam", .foreign = true },
	{ .word = "bsd", .foreign = true },
	{ .word = "radius", .foreign = true },
};

static int set_method(const struct method *m, const struct hba_word *w,
    struct rule *r, struct err *e)
{
	r->said.method = m->type;
	r->said.include_realm = true;
	if (!m->foreign && m->type == AUTH_GSS && r->connection == LOCAL)
		return hba_bad(e, "a local rule cannot have the method", w);
	if (!m->foreign || (r->connection == LOCAL && m->type == AUTH_PEER))
		return 0;
	/* in this build such a rule fits no login: its method does not matter */
	if (r->connection == HOSTGSSENC && GSS_IS_FOREIGN) {
		r->said.method = AUTH_REJECT;
		return 0;
	}
	hba_bad(e, "unsupported method", w);
	memcpy(e->code, HBA_UNKNOWN, sizeof(HBA_UNKNOWN));
	return -1;
}

static int take_method(struct hba_line *l, struct rule *r, struct err *e)
{
	struct hba_word w;

	switch (hba_line_next(l, &w)) {
	case HBA_END:
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "the method is missing");
	case HBA_BROKEN:
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
	case HBA_WORD:
		break;
	}
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (hba_word_equals(&w, methods[i].word))
			return set_method(&methods[i], &w, r, e);
	}
	return hba_bad(e, w.comma ? "the method" : "unknown method", &w);
}

/* The value of an unknown option may be a secret, for another method. */
static int bad_option(const struct hba_word *w, struct err *e)
{
	static const char *const foreign[] = { "clientcert=", "clientname=" };
	const char *const eq = memchr(w->at, '=', w->len);
	struct hba_word name = *w;

	if (eq != NULL)
		name.len = (size_t)(eq - w->at);
	hba_bad(e, "unknown option", &name);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
		const size_t len = strlen(foreign[i]);

		if (w->len >= len && memcmp(w->at, foreign[i], len) == 0)
			memcpy(e->code, HBA_UNKNOWN, sizeof(HBA_UNKNOWN));
	}
	return -1;
}

/* The value of an option; key has its "=". False: it is another option. */
static bool take_value(const struct hba_word *w, const char *key,
    struct hba_word *value)
{
	const size_t len = strlen(key);

	if (w->len < len || memcmp(w->at, key, len) != 0)
		return false;
	*value = *w;
	value->at += len;
	value->len -= len;
	return true;
}

static int take_map(const struct hba_word *w, struct rule *r, struct err *e)
{
	static const char key[] = "map=";
	const size_t key_len = sizeof(key) - 1;

	if (w->len < key_len || memcmp(w->at, key, key_len) != 0)
		return bad_option(w, e);
	if (r->said.method != AUTH_CERT && r->said.method != AUTH_PEER &&
	    r->said.method != AUTH_GSS && r->said.method != AUTH_OAUTH)
		return hba_bad(e, "no method that takes a map, but", w);

	char *const name = mem_strndup(w->at + key_len, w->len - key_len);
	if (name == NULL)
		return err_nomem(e);
	r->said.map = r->maps == NULL ? NULL : ident_find(r->maps, name);
	mem_free(name);
	return r->said.map != NULL ? 0 : hba_bad(e, "unknown ident map", w);
}

/* PostgreSQL source: parse_hba_auth_opt(); what is not 1 is no. */
static int take_gss(const struct hba_word *w, struct rule *r, struct err *e)
{
	struct hba_word value;

	if (take_value(w, "include_realm=", &value)) {
		r->said.include_realm = value.len == 1 && *value.at == '1';
		return 0;
	}
	if (!take_value(w, "krb_realm=", &value))
		return take_map(w, r, e);
	mem_free(r->realm);
	r->realm = mem_strndup(value.at, value.len);
	r->said.krb_realm = r->realm;
	return r->realm != NULL ? 0 : err_nomem(e);
}

/* An option that PostgreSQL takes of a method that we don't know. */
static bool is_gss_option(const struct hba_word *w)
{
	static const char *const names[] = {
		"include_realm=", "krb_realm=", "map=", "compat_realm=",
		"upn_username=", "pamservice=", "pam_use_hostname=",
		"radiusservers=", "radiussecrets=", "radiusports=",
		"radiusidentifiers=", "issuer=", "scope=", "validator=",
		"delegate_ident_mapping=",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t len = strlen(names[i]);

		if (w->len >= len && memcmp(w->at, names[i], len) == 0)
			return true;
	}
	return false;
}

static int take_option(const struct hba_word *w, const struct hba_place *at,
    struct rule *r, struct err *e)
{
	const int rc = r->oauth == NULL ? 0 :
	    oauth_options_take(r->oauth, w, at, e);

	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (r->said.method == AUTH_GSS)
		return take_gss(w, r, e);
	return r->connection == HOSTGSSENC && GSS_IS_FOREIGN &&
	    is_gss_option(w) ? 0 : take_map(w, r, e);
}

static int take_options(struct hba_line *l, const struct hba_place *at,
    struct rule *r, struct err *e)
{
	struct hba_word w = { .at = "" };
	enum hba_step step;

	if (r->said.method == AUTH_LDAP)
		w = hba_line_rest(l);
	r->options = secmem_zalloc(w.len + 1);
	if (r->options == NULL)
		return err_nomem(e);
	memcpy(r->options, w.at, w.len);
	r->said.options = r->options;
	if (r->said.method == AUTH_OAUTH) {
		r->said.oauth = r->oauth = oauth_options_new();
		if (r->oauth == NULL)
			return err_nomem(e);
	}
	while ((step = hba_line_next(l, &w)) == HBA_WORD) {
		if (take_option(&w, at, r, e) != 0)
			return -1;
	}
	if (step != HBA_END)
		return err_set(e, ERRCODE_CONFIG_FILE_ERROR, "an open quote");
	return r->oauth == NULL ? 0 : oauth_options_complete(r->oauth, e);
}

static int hba_take_fields(struct hba_line *l, const struct hba_place *at,
    struct rule *r, struct err *e)
{
	if (take_type(&l->first, r, e) != 0 ||
	    hba_list_take(&r->databases, l, at, e) != 0 ||
	    hba_list_take(&r->users, l, at, e) != 0)
		return -1;
	if (r->connection != LOCAL && hba_address_take(&r->address, l, e) != 0)
		return -1;
	if (take_method(l, r, e) != 0)
		return -1;
	return take_options(l, at, r, e);
}

/* Such a rule lets nobody in whom its method would not let in. */
static bool needs_another_line(const struct rule *r)
{
	return (r->said.method == AUTH_PEER && r->connection != LOCAL) ||
	    (r->said.method == AUTH_CERT && r->connection != HOSTSSL);
}

/* Both are no mistake of the line, and let nobody in. 0, or -1 with e. */
static int warn_of_oauth(const struct hba_place *at, const struct rule *r,
    struct err *e)
{
	const char *const path = jwks_file_path(r->oauth->keys);
	struct file_text f = { 0 };
	struct jwks *keys = NULL;
	struct err why;

	if (r->connection != HOST && r->connection != HOSTSSL &&
	    r->connection != HOSTNOGSSENC)
		hba_warn(at, r->said.line, "the rule lets nobody in, because "
		    "oauth needs TLS: write hostssl");
	if (at->src->read(path, &f) == 0)
		keys = jwks_parse(f.at, f.len, &why);
	else if (errno == ENOMEM)
		err_nomem(&why);
	else
		err_set(&why, ERRCODE_UNDEFINED_FILE, "%s", input_why(errno));
	file_text_fini(&f);
	if (keys == NULL && err_is_nomem(&why))
		return err_nomem(e);
	if (keys == NULL) {
		err_prepend(&why, "the rule lets nobody in, because the JWKS "
		    "file \"%s\" cannot be used: ", path);
		hba_warn(at, r->said.line, why.text);
	}
	jwks_unref(&keys);
	return 0;
}

static int take_rule(void *arg, struct hba_line *l,
    const struct hba_place *at, struct err *e)
{
	struct hba *const h = arg;
	struct rule *const r = mem_zalloc(sizeof(*r));

	if (r == NULL)
		return err_nomem(e);
	r->said.line = l->number;
	r->maps = h->maps;
	r->databases.column = HBA_DATABASE;
	r->users.column = HBA_USER;
	if (hba_take_fields(l, at, r, e) != 0) {
		rule_free(r);
		return -1;
	}
	if (needs_another_line(r))
		hba_warn(at, l->number, "PostgreSQL refuses the method on such "
		    "a line: peer is for local, cert for hostssl");
	if (r->oauth != NULL && warn_of_oauth(at, r, e) != 0) {
		rule_free(r);
		return -1;
	}
	/* as in PostgreSQL, whose sockets of IPv6 take no client of IPv4 */
	if (r->address.kind == HBA_NETWORK &&
	    net_cidr_is_mapped(&r->address.network))
		hba_warn(at, l->number, "the rule fits no client, because its "
		    "address is an IPv4 address written as one of IPv6: "
		    "write it as IPv4");
	DL_APPEND(h->rules, r);
	return 0;
}

/* --- all rules --- */

struct hba *hba_parse(const struct hba_source *src, struct ident *maps,
    struct err *e)
{
	struct hba *h = mem_zalloc(sizeof(*h));

	if (h == NULL) {
		ident_free(&maps);
		err_nomem(e);
		return NULL;
	}
	h->refs = 1;
	h->maps = maps;

	const struct hba_taker to = {
		.what = "hba", .line = take_rule, .arg = h,
	};
	if (hba_source_walk(src, &to, e) < 0) {
		hba_unref(&h);
	} else if (h->rules == NULL && !src->skip_unknown) {
		err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "hba config file %s has no rules", src->path);
		hba_unref(&h);
	}
	return h;
}

/* errno tells why what could not be read. Returns -1. */
static int not_read(const char *what, const char *path, struct err *e)
{
	if (errno == ENOMEM)
		return err_nomem(e);
	return err_set(e, ERRCODE_UNDEFINED_FILE,
	    "could not open %s config file %s: %s", what, path,
	    input_why(errno));
}

static int load_maps(const char *path, const struct hba_source *how,
    struct ident **maps, struct err *e)
{
	struct hba_source src = *how;
	struct file_text f = { 0 };

	if (path == NULL || path[0] == '\0')
		return 0;
	if (how->read(path, &f) != 0)
		return not_read("ident", path, e);
	src.text = f.at;
	src.len = f.len;
	src.path = path;
	*maps = ident_parse(&src, e);
	file_text_fini(&f);
	return *maps != NULL ? 0 : -1;
}

struct hba *hba_load(const char *path, const char *map_path,
    const struct hba_source *how, struct err *e)
{
	struct ident *maps = NULL;
	struct file_text f = { 0 };

	if (path == NULL || path[0] == '\0') {
		err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "auth_type=hba needs auth_hba_file");
		return NULL;
	}
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
	struct hba *const h = hba_parse(&src, maps, e);
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
	case HOSTGSSENC: return !is_unix && l->gss;
	case HOSTNOGSSENC: return !is_unix && !l->gss;
	}
	return false;
}

static enum hba_fit fits_database(const struct rule *r,
    const struct hba_login *l)
{
	const struct hba_list *const d = &r->databases;

	if (l->physical)
		return (d->keywords & HBA_REPLICATION) != 0 ? HBA_FITS :
		    HBA_DIFFERS;
	if ((d->keywords & HBA_ALL) != 0 ||
	    ((d->keywords & HBA_SAMEUSER) != 0 &&
	    strcmp(l->database, l->user) == 0))
		return HBA_FITS;
	return hba_list_has(d, l->database);
}

static enum hba_fit fits_user(const struct rule *r,
    const struct hba_login *l)
{
	const struct hba_list *const u = &r->users;

	return (u->keywords & HBA_ALL) != 0 ? HBA_FITS :
	    hba_list_has(u, l->user);
}

/* a and b; doubts stay. */
static enum hba_fit both(enum hba_fit a, enum hba_fit b)
{
	if (a == HBA_DIFFERS || b == HBA_DIFFERS)
		return HBA_DIFFERS;
	return a == HBA_FITS ? b : HBA_DOUBT;
}

/* Cheap tests first: the address may ask the kernel. */
static bool fits(const struct rule *r, const struct hba_login *l)
{
	enum hba_fit fit = HBA_DIFFERS;

	if (fits_connection(r, l))
		fit = both(fits_database(r, l), fits_user(r, l));
	if (fit != HBA_DIFFERS && r->connection != LOCAL)
		fit = both(fit, hba_address_has(&r->address, l));
	return fit == HBA_FITS ||
	    (fit == HBA_DOUBT && r->said.method == AUTH_REJECT);
}

const struct hba_rule *hba_find(const struct hba *h,
    const struct hba_login *l)
{
	const struct rule *r;

	if (h == NULL)
		return NULL;
	DL_FOREACH(h->rules, r) {
		if (fits(r, l))
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

bool hba_asks_host(const struct hba *h, const struct hba_login *l)
{
	const struct rule *r;

	if (h == NULL || l->addr->family == NET_UNIX)
		return false;
	DL_FOREACH(h->rules, r) {
		if (r->address.kind == HBA_HOST && fits_connection(r, l) &&
		    fits_database(r, l) != HBA_DIFFERS)
			return true;
		/* no login gets further */
		if ((r->users.keywords & HBA_ALL) != 0 &&
		    r->address.kind != HBA_HOST && fits(r, l))
			return false;
	}
	return false;
}

size_t hba_count(const struct hba *h)
{
	const struct rule *r;
	size_t n = 0;

	DL_COUNT(h->rules, r, n);
	return n;
}
