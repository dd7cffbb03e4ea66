/* tls_setup.c - the TLS contexts of a configuration: all of them, or none.
 * SPDX-License-Identifier: ISC */
#include "upstream/tls_setup.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "conf/hba.h"
#include "conf/require.h"
#include "io/gssapi.h"
#include "io/tls_context.h"
#include "login/auth.h"

/* The authorities of a file, while contexts are made that share them. */
struct authority {
	const char *path, *crl;		/* borrowed */
	struct tls_store *store;	/* counted */
	struct authority *next;
};

struct maker {
	struct tls_setup *setup;	/* owned */
	struct authority *authorities;	/* owned */
};

static const char *or_empty(const char *s)
{
	return s != NULL ? s : "";
}

/* Borrowed; NULL with e set. */
static struct tls_store *get_store(struct maker *m, const char *path,
    const char *crl, struct err *e)
{
	struct authority *a;

	LL_FOREACH(m->authorities, a) {
		if (strcmp(a->path, or_empty(path)) == 0 &&
		    strcmp(a->crl, or_empty(crl)) == 0)
			return a->store;
	}
	a = mem_zalloc(sizeof *a);
	if (a == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	a->path = or_empty(path);
	a->crl = or_empty(crl);
	a->store = tls_store_new(path, crl, e);
	if (a->store == NULL) {
		mem_free(a);
		return NULL;
	}
	LL_PREPEND(m->authorities, a);
	return a->store;
}

/* --- clients --- */

static bool asks_for_cert(const struct hba_rule *r)
{
	return r->method == AUTH_CERT;
}

static bool cannot_bind(const struct hba_rule *r)
{
	return !auth_can_bind(r->method);
}

/* A client that must bind its login to TLS has to be able to. */
static int check_binding(const struct config *c, struct err *e)
{
	static const char item[] = "client_channel_binding=require";
	const struct settings *s = &c->set;
	const struct hba_rule *rule = hba_find_like(c->hba, cannot_bind);
	char buf[32];

	if (s->client_channel_binding != BINDING_REQUIRE)
		return 0;
	if (s->client_tls_sslmode == SSLMODE_DISABLE)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s requires client_tls_sslmode",
		    item);
	if (!auth_can_bind((enum auth_type)s->auth_type))
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s cannot be met by auth_type=%s",
		    item, option_show(option_find("auth_type"), s, buf,
		    sizeof buf));
	if (s->auth_type == AUTH_HBA && rule != NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s cannot be met by the method in "
		    "line %u of \"%s\"", item, rule->line,
		    or_empty(s->auth_hba_file));
	return 0;
}

/* Clients that must encrypt by GSSAPI have to be able to. */
static int check_gssenc(const struct settings *s, struct err *e)
{
	if (s->client_gssencmode != GSSENCMODE_REQUIRE)
		return 0;
	if (!GSSAPI_BUILT)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "client_gssencmode=require needs a build with GSSAPI");
	if (s->client_tls_sslmode >= SSLMODE_REQUIRE)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "client_gssencmode=require and client_tls_sslmode=require "
		    "exclude each other");
	return 0;
}

/* A login to a server by a ticket has to be possible. */
static int check_server_gss(const struct config *c, struct err *e)
{
	const struct config_db *db = c->dbs;

	while (db != NULL && db->server_gss != 1)
		db = db->next;
	if (GSSAPI_BUILT || (c->set.server_gss == 0 && db == NULL))
		return 0;
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "server_gss=1 needs a build with GSSAPI");
}

/* A login to a server that must be bound to TLS has to be allowed. */
static int check_servers(const struct config *c, struct err *e)
{
	unsigned forbidden;

	if (require_auth_parse(c->set.server_require_auth, &forbidden, e) < 0)
		return -1;
	if (c->set.server_channel_binding == BINDING_REQUIRE &&
	    (forbidden & REQUIRE_SCRAM))
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "server_channel_binding=require "
		    "requires scram-sha-256, which server_require_auth "
		    "forbids");
	return 0;
}

bool tls_setup_is_asked_for(const char *setting)
{
	static const char *const names[] = {
		"auth_type", "auth_hba_file", "client_channel_binding",
		"client_gssencmode", "server_gss",
		"server_channel_binding", "server_require_auth",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(names[i], setting) == 0)
			return true;
	}
	return false;
}

int tls_setup_check(const struct config *c, struct err *e)
{
	const struct settings *s = &c->set;
	const bool has_ca = or_empty(s->client_tls_ca_file)[0] != '\0';
	const struct hba_rule *rule = hba_find_like(c->hba, asks_for_cert);

	if (s->auth_type == AUTH_CERT &&
	    s->client_tls_sslmode != SSLMODE_VERIFY_FULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "auth_type=cert requires "
		    "client_tls_sslmode=SSLMODE_VERIFY_FULL");
	if (s->auth_type == AUTH_CERT && !has_ca)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "auth_type=cert requires client_tls_ca_file");
	/* else clients that the system's authorities know would be let in */
	if (s->auth_type == AUTH_HBA && rule != NULL && !has_ca &&
	    s->client_tls_sslmode != SSLMODE_DISABLE)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "the method cert in line %u of "
		    "\"%s\" requires client_tls_ca_file", rule->line,
		    or_empty(s->auth_hba_file));
	if (s->client_tls_sslmode == SSLMODE_VERIFY_FULL && !has_ca)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "client_tls_sslmode requires client_tls_ca_file");
	return check_gssenc(s, e) < 0 || check_server_gss(c, e) < 0 ||
	    check_binding(c, e) < 0 ? -1 :
	    check_servers(c, e);
}

static int make_client(struct maker *m, struct err *e)
{
	const struct settings *s = &m->setup->config->set;
	struct tls_opts o = {
		.accepts = true,
		.verify = s->client_tls_sslmode >= SSLMODE_VERIFY_CA ?
		    TLS_VERIFY_CHAIN : TLS_VERIFY_OPTIONAL,
		.ca_file = s->client_tls_ca_file,
		.key_file = s->client_tls_key_file,
		.cert_file = s->client_tls_cert_file,
		.protocols = s->client_tls_protocols,
		.ciphers = s->client_tls_ciphers,
		.tls13_ciphers = s->client_tls13_ciphers,
		.dheparams = s->client_tls_dheparams,
		.ecdhcurve = s->client_tls_ecdhcurve,
		.groups = s->client_tls_groups,
	};

	m->setup->client_mode = (enum ssl_mode)s->client_tls_sslmode;
	if (tls_setup_check(m->setup->config, e) < 0)
		return -1;
	if (s->client_tls_sslmode == SSLMODE_DISABLE)
		return 0;
	o.store = get_store(m, o.ca_file, s->client_tls_crl_file, e);
	if (o.store == NULL)
		return -1;
	m->setup->client = tls_context_new(&o, e);
	return m->setup->client == NULL ? -1 : 0;
}

/* The protocols and ciphers are those for clients. */
static int make_http(struct maker *m, struct err *e)
{
	const struct settings *s = &m->setup->config->set;
	const struct tls_opts o = {
		.accepts = true,
		.key_file = s->http_tls_key_file,
		.cert_file = s->http_tls_cert_file,
		.protocols = s->client_tls_protocols,
		.ciphers = s->client_tls_ciphers,
		.tls13_ciphers = s->client_tls13_ciphers,
		.dheparams = s->client_tls_dheparams,
		.ecdhcurve = s->client_tls_ecdhcurve,
		.groups = s->client_tls_groups,
	};

	if (or_empty(o.key_file)[0] == '\0' && or_empty(o.cert_file)[0] == '\0')
		return 0;
	if (or_empty(o.key_file)[0] == '\0' || or_empty(o.cert_file)[0] == '\0')
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "http_tls_cert_file and http_tls_key_file must be set "
		    "together");
	m->setup->http = tls_context_new(&o, e);
	return m->setup->http == NULL ? err_prepend(e, "HTTP: ") : 0;
}

/* --- servers --- */

static enum tls_verify verify_of(int mode)
{
	switch (mode) {
	case SSLMODE_VERIFY_CA: return TLS_VERIFY_CHAIN;
	case SSLMODE_VERIFY_FULL: return TLS_VERIFY_NAME;
	default: return TLS_VERIFY_NONE;
	}
}

static int make_context(struct maker *m, struct tls_target *t, struct err *e)
{
	const struct config_tls *w = &t->what;
	struct tls_opts o = {
		.verify = verify_of(w->sslmode),
		.ca_file = w->ca_file,
		.key_file = w->key_file,
		.cert_file = w->cert_file,
		.protocols = w->protocols,
		.ciphers = w->ciphers,
		.tls13_ciphers = w->tls13_ciphers,
		.alpn = w->negotiation == TLS_DIRECT,
	};

	if (o.alpn && w->sslmode < SSLMODE_REQUIRE)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "server_tls_negotiation=direct "
		    "requires server_tls_sslmode=require or stricter");
	if (w->sslmode == SSLMODE_DISABLE)
		return m->setup->config->set.server_channel_binding !=
		    BINDING_REQUIRE ? 0 : err_set(e,
		    ERRCODE_INVALID_PARAMETER_VALUE,
		    "server_channel_binding=require requires "
		    "server_tls_sslmode");
	if (o.verify != TLS_VERIFY_NONE) {
		o.store = get_store(m, o.ca_file, w->crl_file, e);
		if (o.store == NULL)
			return -1;
	}
	t->context = tls_context_new(&o, e);
	return t->context == NULL ? -1 : 0;
}

static struct tls_target *find(const struct tls_setup *s,
    const struct config_tls *what)
{
	struct tls_target *t;

	LL_FOREACH(s->targets, t) {
		if (config_tls_equal(&t->what, what))
			return t;
	}
	return NULL;
}

/* own is taken. */
static int add_target(struct maker *m, const struct config_tls *tls,
    struct config_db *own, struct err *e)
{
	const struct config_tls what = config_tls_merge(
	    &m->setup->config->set, tls);
	struct tls_target *t;

	if (find(m->setup, &what) != NULL) {
		config_db_free(own);
		return 0;
	}
	t = mem_zalloc(sizeof *t);
	if (t == NULL) {
		config_db_free(own);
		return err_nomem(e);
	}
	t->what = what;
	t->own = own;
	LL_APPEND(m->setup->targets, t);
	return make_context(m, t, e);
}

static int make_servers(struct maker *m, struct err *e)
{
	const struct config *c = m->setup->config;
	struct err why;

	if (add_target(m, NULL, NULL, e) < 0)
		return -1;
	for (const struct config_db *db = c->dbs; db != NULL; db = db->next) {
		if (add_target(m, &db->tls, NULL, e) < 0)
			return err_prepend(e, "database \"%s\": ", db->name);
	}
	/* a faulty "*" entry was told of already, and is never used */
	struct config_db *any = config_auto_db(c, "any", &why);

	if (any != NULL && add_target(m, &any->tls, any, e) < 0)
		return err_prepend(e, "the \"*\" entry: ");
	return 0;
}

/* --- their files on disk --- */

/* What of a file tells that it is another one, or has another content. */
struct face {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, written;
	int error;
};

struct print {
	uint8_t sum[TLS_PRINT];	/* of the faces so far */
	int rc;
};

/* A link that leads elsewhere is seen, too: Kubernetes changes secrets so. */
static void print_file(struct print *p, const char *path)
{
	struct {
		uint8_t before[TLS_PRINT];
		struct face face;
	} all;
	struct stat st;

	_Static_assert(TLS_PRINT == SHA256_BYTES, "they differ");
	if (or_empty(path)[0] == '\0')
		return;
	/* padding counts, too */
	memset(&all, 0, sizeof all);
	memcpy(all.before, p->sum, sizeof all.before);
	if (stat(path, &st) < 0) {
		all.face.error = errno;
	} else {
		all.face.dev = st.st_dev;
		all.face.ino = st.st_ino;
		all.face.size = st.st_size;
		all.face.changed = st.st_ctim;
		all.face.written = st.st_mtim;
	}
	if (crypto_sha256(&all, sizeof all, p->sum) < 0)
		p->rc = -1;
}

static void print_target(struct print *p, const struct config_tls *tls)
{
	print_file(p, tls->ca_file);
	print_file(p, tls->crl_file);
	print_file(p, tls->key_file);
	print_file(p, tls->cert_file);
}

int tls_setup_print(const struct config *c, uint8_t print[TLS_PRINT])
{
	const struct settings *const s = &c->set;
	const char *const files[] = {
		s->client_tls_ca_file, s->client_tls_crl_file,
		s->client_tls_key_file, s->client_tls_cert_file,
		s->http_tls_key_file, s->http_tls_cert_file,
	};
	const struct config_tls all = config_tls_merge(s, NULL);
	struct print p = { .rc = 0 };
	struct err why;

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		print_file(&p, files[i]);
	print_target(&p, &all);
	for (const struct config_db *db = c->dbs; db != NULL; db = db->next)
		print_target(&p, &db->tls);
	struct config_db *const any = config_auto_db(c, "any", &why);

	if (any != NULL)
		print_target(&p, &any->tls);
	config_db_free(any);
	memcpy(print, p.sum, sizeof p.sum);
	return p.rc;
}

/* --- the whole --- */

struct tls_setup *tls_setup_new(struct config *config, struct err *e)
{
	struct maker m = { .setup = mem_zalloc(sizeof *m.setup) };
	struct authority *a, *next;

	if (m.setup == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	m.setup->config = config_ref(config);
	/* before they are read: a change in between is one */
	if (tls_setup_print(config, m.setup->print) < 0) {
		(void)err_nomem(e);
		tls_setup_free(&m.setup);
		return NULL;
	}
	if (make_client(&m, e) < 0 || make_http(&m, e) < 0 ||
	    make_servers(&m, e) < 0)
		tls_setup_free(&m.setup);
	LL_FOREACH_SAFE(m.authorities, a, next) {
		tls_store_unref(&a->store);
		mem_free(a);
	}
	return m.setup;
}

/* own: a copy of from's, is taken. 0 or -1. */
static int share_target(struct tls_setup *s, const struct tls_target *from,
    struct config_db *own)
{
	struct tls_target *const t = mem_zalloc(sizeof *t);

	if (t == NULL) {
		config_db_free(own);
		return -1;
	}
	t->own = own;
	t->what = own == NULL ? from->what :
	    config_tls_merge(&s->config->set, &own->tls);
	LL_APPEND(s->targets, t);
	if (from->context == NULL)
		return 0;
	t->context = tls_context_share(from->context);
	return t->context == NULL ? -1 : 0;
}

static int share_targets(struct tls_setup *s, const struct tls_setup *from)
{
	const struct tls_target *t;
	struct err why;

	LL_FOREACH(from->targets, t) {
		struct config_db *const own = t->own == NULL ? NULL :
		    config_auto_db(s->config, "any", &why);

		if ((own == NULL && t->own != NULL) ||
		    share_target(s, t, own) < 0)
			return -1;
	}
	return 0;
}

struct tls_setup *tls_setup_share(const struct tls_setup *from)
{
	struct tls_setup *s = mem_zalloc(sizeof *s);

	if (s == NULL)
		return NULL;
	s->config = config_ref(from->config);
	s->client_mode = from->client_mode;
	if (from->client != NULL)
		s->client = tls_context_share(from->client);
	if ((from->client != NULL && s->client == NULL) ||
	    share_targets(s, from) < 0)
		tls_setup_free(&s);
	return s;
}

void tls_setup_free(struct tls_setup **sp)
{
	struct tls_setup *s = *sp;
	struct tls_target *t, *next;

	*sp = NULL;
	if (s == NULL)
		return;
	LL_FOREACH_SAFE(s->targets, t, next) {
		tls_context_unref(&t->context);
		config_db_free(t->own);
		mem_free(t);
	}
	tls_context_unref(&s->client);
	tls_context_unref(&s->http);
	config_unref(&s->config);
	mem_free(s);
}

const struct tls_target *tls_setup_find(const struct tls_setup *s,
    const struct config_db *db)
{
	const struct config_tls what = config_tls_merge(&s->config->set,
	    &db->tls);

	return find(s, &what);
}

bool tls_setup_recycles(const struct settings *a, const struct settings *b)
{
	const struct config_tls x = config_tls_merge(a, NULL);
	const struct config_tls y = config_tls_merge(b, NULL);

	return config_tls_recycles(&x, &y);
}

const char *tls_certificate_setting(enum tls_certificate which)
{
	static const char *const settings[TLS_CERTS] = {
		[TLS_CERT_CLIENT] = "client_tls_cert_file",
		[TLS_CERT_SERVER] = "server_tls_cert_file",
		[TLS_CERT_HTTP] = "http_tls_cert_file",
	};

	return settings[which];
}

static bool is_sooner(const struct tls_context *c, bool known, int64_t *left)
{
	int64_t own;

	if (c == NULL || !tls_context_seconds_left(c, &own))
		return known;
	if (!known || own < *left)
		*left = own;
	return true;
}

bool tls_setup_seconds_left(const struct tls_setup *s,
    enum tls_certificate which, int64_t *left)
{
	const struct tls_target *t;
	bool known = false;

	if (which == TLS_CERT_CLIENT)
		return is_sooner(s->client, false, left);
	if (which == TLS_CERT_HTTP)
		return is_sooner(s->http, false, left);
	LL_FOREACH(s->targets, t)
		known = is_sooner(t->context, known, left);
	return known;
}
