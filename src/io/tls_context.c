/* tls_context.c - the part of TLS that all connections of a configuration
 * share.
 * SPDX-License-Identifier: ISC */
#include "io/tls_context.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/tls_parts.h"

#define VERIFY_DEPTH 6		/* spec/authentication.md section 9.3 */
#define TICKET_SECONDS 600	/* a verified client may come back that long */
#define WORD_MAX 1024
#define KEY_FILE_MAX 65536
#define KEY_CHEAP 2048		/* bits: 0.3 ms a signature, 4096 bits 5 ms */
#define GROUPS "X25519:P-256:P-384:P-521"	/* of client_tls_groups */

/* RFC 7301; PostgreSQL's name for its protocol */
static const unsigned char alpn[] = "\012postgresql";

#define ALPN_BYTES (sizeof alpn - 1)

struct tls_store {
	unsigned refs;
	X509_STORE *x509;		/* owned */
};

int tls_err(struct err *e, const char *prefix)
{
	const unsigned long code = ERR_peek_error();
	const char *why = code == 0 ? NULL : ERR_reason_error_string(code);

	if (code != 0 && ERR_SYSTEM_ERROR(code))
		why = input_why((int)ERR_GET_REASON(code));
	err_set(e, ERRCODE_PROTOCOL_VIOLATION, "%s%s", prefix,
	    why != NULL ? why :
	    "unknown TLS error");
	ERR_clear_error();
	return -1;
}

/* Before the library opens path. */
static bool is_readable(const char *path)
{
	if (input_check(path) == 0)
		return true;
	ERR_raise_data(ERR_LIB_SYS, errno, "%s", path);
	return false;
}

/* --- authorities --- */

static bool is_given(const char *s)
{
	return s != NULL && s[0] != '\0';
}

/*
 * From now on a certificate without a list that says it is good is bad, as it is
 * with PostgreSQL.
 */
static int add_revoked(X509_STORE *to, const char *path, struct err *e)
{
	X509_LOOKUP *lookup = X509_STORE_add_lookup(to, X509_LOOKUP_file());

	if (lookup != NULL && is_readable(path) &&
	    X509_load_crl_file(lookup, path, X509_FILETYPE_PEM) > 0 &&
	    X509_STORE_set_flags(to, X509_V_FLAG_CRL_CHECK |
	    X509_V_FLAG_CRL_CHECK_ALL) == 1)
		return 0;
	tls_err(e, "");
	return err_prepend(e, "failed to load CRL file \"%s\": ", path);
}

struct tls_store *tls_store_new(const char *ca_file, const char *crl_file,
    struct err *e)
{
	struct tls_store *s = mem_zalloc(sizeof *s);
	const bool system = !is_given(ca_file);

	if (s != NULL)
		s->x509 = X509_STORE_new();
	if (s == NULL || s->x509 == NULL) {
		err_nomem(e);
		goto fail;
	}
	s->refs = 1;
	if (!(system ? X509_STORE_set_default_paths(s->x509) == 1 :
	    is_readable(ca_file) &&
	    X509_STORE_load_file(s->x509, ca_file) == 1)) {
		tls_err(e, "");
		err_prepend(e, "failed to load CA file \"%s\": ",
		    system ? "(system)" : ca_file);
	} else if (!is_given(crl_file) ||
	    add_revoked(s->x509, crl_file, e) == 0) {
		return s;
	}
fail:
	if (s != NULL)
		X509_STORE_free(s->x509);
	mem_free(s);
	return NULL;
}

void tls_store_unref(struct tls_store **sp)
{
	struct tls_store *s = *sp;

	*sp = NULL;
	if (s == NULL || --s->refs > 0)
		return;
	X509_STORE_free(s->x509);
	mem_free(s);
}

/* --- one item of the options each; 0, or -1 with e --- */

struct build {
	struct tls_core *core;
	const struct tls_opts *o;
	unsigned protocols;	/* TLS_V* */
};

static int invalid(const struct build *b, const char *item, const char *value,
    struct err *e)
{
	ERR_clear_error();
	return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid %s_tls_%s: %s", b->o->accepts ? "client" : "server", item,
	    value);
}

static int set_protocols(struct build *b, struct err *e)
{
	static const struct {
		unsigned set;
		int version;
		uint64_t off;
	} rows[] = {
		{ TLS_V1_0, TLS1_VERSION, SSL_OP_NO_TLSv1 },
		{ TLS_V1_1, TLS1_1_VERSION, SSL_OP_NO_TLSv1_1 },
		{ TLS_V1_2, TLS1_2_VERSION, SSL_OP_NO_TLSv1_2 },
		{ TLS_V1_3, TLS1_3_VERSION, SSL_OP_NO_TLSv1_3 },
	};
	int least = 0, most = 0;

	if (tls_protocols_parse(b->o->protocols, &b->protocols) < 0)
		return invalid(b, "protocols", b->o->protocols, e);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!(b->protocols & rows[i].set)) {
			SSL_CTX_set_options(b->core->ssl, rows[i].off);
			continue;
		}
		least = least == 0 ? rows[i].version : least;
		most = rows[i].version;
	}
	/* not what openssl.cnf says: ours is the setting that counts */
	if (SSL_CTX_set_min_proto_version(b->core->ssl, least) == 1 &&
	    SSL_CTX_set_max_proto_version(b->core->ssl, most) == 1)
		return 0;
	return invalid(b, "protocols", b->o->protocols, e);
}

static bool tls_context_is_default(const char *ciphers)
{
	static const char *const words[] = {
		"default", "secure", "normal", "fast",
	};

	if (!is_given(ciphers))
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (text_casecmp(ciphers, words[i]) == 0)
			return true;
	}
	return false;
}

/* Both kinds of suites; a curve "none" takes the suites away that need one. */
static int set_ciphers(struct build *b, struct err *e)
{
	const struct tls_opts *o = b->o;
	const bool no_curve = o->accepts && is_given(o->ecdhcurve) &&
	    text_casecmp(o->ecdhcurve, "none") == 0;
	char list[WORD_MAX];
	struct text t;

	text_init(&t, list, sizeof list);
	if (tls_context_is_default(o->ciphers))
		text_add(&t, no_curve ? "DEFAULT" : "");
	else
		text_add(&t, o->ciphers);
	if (no_curve)
		text_add(&t, ":!kECDHE");
	if (t.cut || (t.len > 0 &&
	    SSL_CTX_set_cipher_list(b->core->ssl, list) != 1))
		return invalid(b, "ciphers", o->ciphers, e);
	if (is_given(o->tls13_ciphers) && (b->protocols & TLS_V1_3) &&
	    SSL_CTX_set_ciphersuites(b->core->ssl, o->tls13_ciphers) != 1) {
		ERR_clear_error();
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "failed to set the TLSv1.3 cipher suites: "
		    "%s_tls13_ciphers = %s",
		    o->accepts ? "client" : "server", o->tls13_ciphers);
	}
	return 0;
}

/*
 * Of 2048 bits, as PostgreSQL's own, whatever the size of the certificate's
 * key: each bit more is paid for by us, and anybody may ask for it. Where
 * @SECLEVEL forbids it there is none.
 */
static int set_dhe(struct build *b, struct err *e)
{
	EVP_PKEY *key = NULL;
	EVP_PKEY_CTX *make = EVP_PKEY_CTX_new_from_name(NULL, "DH", NULL);
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME,
		    (char *)"ffdhe2048", 0),
		OSSL_PARAM_construct_end(),
	};
	const bool made = make != NULL && EVP_PKEY_fromdata_init(make) == 1 &&
	    EVP_PKEY_fromdata(make, &key, EVP_PKEY_KEY_PARAMETERS, params) == 1;

	EVP_PKEY_CTX_free(make);
	if (!made)
		return tls_err(e, "DH parameters: ");
	if (SSL_CTX_set0_tmp_dh_pkey(b->core->ssl, key) != 1)
		EVP_PKEY_free(key);
	ERR_clear_error();
	return 0;
}

static int set_exchange(struct build *b, struct err *e)
{
	const char *dh = b->o->dheparams, *curve = b->o->ecdhcurve;
	const char *groups = is_given(b->o->groups) ? b->o->groups : GROUPS;
	const bool auto_curve = !is_given(curve) ||
	    text_casecmp(curve, "auto") == 0 ||
	    text_casecmp(curve, "none") == 0;

	/* PostgreSQL up to 17 knows P-256 only: X25519 costs a round trip */
	if (!b->o->accepts)
		return SSL_CTX_set1_groups_list(b->core->ssl,
		    "P-256:X25519:P-384:P-521") == 1 ? 0 : tls_err(e, "");
	if (!is_given(dh) || text_casecmp(dh, "auto") == 0 ||
	    text_casecmp(dh, "legacy") == 0) {
		if (set_dhe(b, e) < 0)
			return -1;
	} else if (text_casecmp(dh, "none") != 0) {
		return invalid(b, "dheparams", dh, e);
	}
	/* never OpenSSL's own groups: ffdhe8192 takes 100 ms */
	if (SSL_CTX_set1_groups_list(b->core->ssl, groups) != 1)
		return invalid(b, "groups", groups, e);
	if (auto_curve || SSL_CTX_set1_groups_list(b->core->ssl, curve) == 1)
		return 0;
	return invalid(b, "ecdhecurve", curve, e);
}

/* A key that needs a passphrase must not ask for one at the terminal. */
static int no_passphrase(char *buf, int size, int rw, void *arg)
{
	(void)buf;
	(void)size;
	(void)rw;
	(void)arg;
	return -1;
}

/* Neither the text of the key nor what it is made from stays behind. */
static int use_key(SSL_CTX *ssl, const char *path)
{
	char *text = secmem_zalloc(KEY_FILE_MAX);
	const int fd = input_open(path);
	const ssize_t n = fd < 0 || text == NULL ? -1 :
	    read(fd, text, KEY_FILE_MAX);
	const int cause = errno;
	BIO *bio = NULL;
	EVP_PKEY *key = NULL;

	input_watch_end();
	if (n < 0)
		ERR_raise_data(ERR_LIB_SYS, cause, "%s", path);
	else
		bio = BIO_new_mem_buf(text, (int)n);
	mem_lib_wipe(true);
	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	const int rc = key != NULL && SSL_CTX_use_PrivateKey(ssl, key) == 1 ?
	    0 : -1;

	EVP_PKEY_free(key);
	mem_lib_wipe(false);
	BIO_free(bio);
	if (fd >= 0)
		close(fd);
	secmem_free(text);
	return rc;
}

static int failed_to_load(const char *what, const char *path, struct err *e)
{
	tls_err(e, "");
	return err_prepend(e, "failed to load %s \"%s\": ", what, path);
}

/* Those of elliptic curves take a millisecond at most. */
static bool is_dear(const EVP_PKEY *key)
{
	const int kind = EVP_PKEY_get_base_id(key);

	return (kind == EVP_PKEY_RSA || kind == EVP_PKEY_RSA_PSS) &&
	    EVP_PKEY_get_bits(key) > KEY_CHEAP;
}

static int set_certificate(struct build *b, struct err *e)
{
	const char *cert = b->o->cert_file, *key = b->o->key_file;
	SSL_CTX *ssl = b->core->ssl;

	SSL_CTX_set_default_passwd_cb(ssl, no_passphrase);
	if (!is_given(cert) && !is_given(key) && !b->o->accepts)
		return 0;
	if (!is_given(cert) || !is_given(key))
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    b->o->accepts ? "To allow TLS connections from clients, "
		    "client_tls_key_file and client_tls_cert_file must be set."
		    : "server_tls_key_file and server_tls_cert_file must both be "
		        "set, or neither");
	if (!is_readable(cert) ||
	    SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
		return failed_to_load("certificate file", cert, e);
	if (use_key(ssl, key) < 0)
		return failed_to_load("key file", key, e);
	if (SSL_CTX_check_private_key(ssl) != 1)
		return failed_to_load("key file", key, e);
	b->core->dear = is_dear(SSL_CTX_get0_privatekey(ssl));
	if (b->o->accepts)
		b->core->binding_len = (uint8_t)tls_cert_binding(
		    SSL_CTX_get0_certificate(ssl), b->core->binding);
	return 0;
}

static int set_verify(struct build *b, struct err *e)
{
	const struct tls_opts *o = b->o;
	SSL_CTX *ssl = b->core->ssl;

	if (o->verify == TLS_VERIFY_NONE) {
		SSL_CTX_set_verify(ssl, SSL_VERIFY_NONE, NULL);
		return 0;
	}
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER |
	    (o->verify > TLS_VERIFY_OPTIONAL ?
	    SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0), NULL);
	SSL_CTX_set_verify_depth(ssl, VERIFY_DEPTH);
	SSL_CTX_set1_cert_store(ssl, o->store->x509);
	if (!o->accepts || !is_given(o->ca_file))
		return 0;
	/* so that a client with several certificates takes the right one */
	STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(o->ca_file);
	if (names == NULL)
		return failed_to_load("CA file", o->ca_file, e);
	SSL_CTX_set_client_CA_list(ssl, names);
	return 0;
}

/*
 * The chain between our certificate and the authority that the other side
 * knows. Unless the file has the chain, OpenSSL would look for it at each
 * handshake among our own authorities, which may be a directory: look for it
 * here, once. To find nothing is fine.
 */
static int set_chain(struct build *b, struct err *e)
{
	SSL_CTX *ssl = b->core->ssl;
	STACK_OF(X509) *chain = NULL;

	(void)e;
	SSL_CTX_set_mode(ssl, SSL_MODE_NO_AUTO_CHAIN);
	if (SSL_CTX_get0_certificate(ssl) == NULL)
		return 0;
	SSL_CTX_get0_chain_certs(ssl, &chain);
	if (chain == NULL || sk_X509_num(chain) == 0)
		(void)SSL_CTX_build_cert_chain(ssl,
		    SSL_BUILD_CHAIN_FLAG_NO_ROOT |
		    SSL_BUILD_CHAIN_FLAG_IGNORE_ERROR |
		    SSL_BUILD_CHAIN_FLAG_CLEAR_ERROR);
	ERR_clear_error();
	return 0;
}

/* An offer that lacks ours is refused; no offer at all is fine. */
static int select_alpn(SSL *ssl, const unsigned char **out,
    unsigned char *out_len, const unsigned char *in, unsigned in_len,
    void *arg)
{
	unsigned char *found;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&found, out_len, alpn, ALPN_BYTES, in,
	    in_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = found;
	return SSL_TLSEXT_ERR_OK;
}

static int set_rest(struct build *b, struct err *e)
{
	static const unsigned char id[] = "pgsluice";
	SSL_CTX *ssl = b->core->ssl;

	SSL_CTX_set_options(ssl, SSL_OP_NO_COMPRESSION |
	    SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* an idle connection owns no buffer */
	SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_info_callback(ssl, tls_on_info);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	if (!b->o->accepts) {
		if (!b->o->alpn || SSL_CTX_set_alpn_protos(ssl, alpn,
		    ALPN_BYTES) == 0)
			return 0;
		return tls_err(e, "ALPN: ");
	}
	SSL_CTX_set_alpn_select_cb(ssl, select_alpn, NULL);
	/* sessions are kept by the clients; a new context forgets them */
	SSL_CTX_set_timeout(ssl, TICKET_SECONDS);
	if (SSL_CTX_set_num_tickets(ssl, 1) == 1 &&
	    SSL_CTX_set_max_send_fragment(ssl, TLS_RECORD) == 1 &&
	    SSL_CTX_set_session_id_context(ssl, id, sizeof id - 1) == 1)
		return 0;
	return tls_err(e, "");
}

/* --- the whole --- */

static struct tls_core *core_new(const struct tls_opts *o, struct err *e)
{
	static int (*const setters[])(struct build *b, struct err *e) = {
		set_protocols, set_ciphers, set_exchange, set_certificate,
		set_verify, set_chain, set_rest,
	};
	struct tls_core *core = mem_zalloc(sizeof *core);
	struct build b = { .core = core, .o = o };

	ERR_clear_error();
	if (core != NULL) {
		core->refs = 1;
		core->verify = o->verify;
		core->accepts = o->accepts;
		core->alpn = o->alpn;
		core->ssl = SSL_CTX_new(o->accepts ? TLS_server_method() :
		    TLS_client_method());
	}
	if (core == NULL || core->ssl == NULL) {
		err_nomem(e);
		tls_core_unref(&core);
		return NULL;
	}
	for (size_t i = 0; core != NULL && i < sizeof setters / sizeof *setters;
	    i++) {
		if (setters[i](&b, e) < 0)
			tls_core_unref(&core);
	}
	return core;
}

struct tls_core *tls_core_ref(struct tls_core *core)
{
	core->refs++;
	return core;
}

void tls_core_unref(struct tls_core **cp)
{
	struct tls_core *core = *cp;

	*cp = NULL;
	if (core == NULL || --core->refs > 0)
		return;
	SSL_CTX_free(core->ssl);
	mem_free(core);
}

struct tls_context *tls_context_of_core(struct tls_core *core)
{
	struct tls_context *c = mem_zalloc(sizeof *c);

	if (c == NULL) {
		tls_core_unref(&core);
		return NULL;
	}
	c->refs = 1;
	c->core = core;
	c->wire = mem_alloc(sizeof *c->wire);
	c->bio = tls_bio_new();
	if (c->wire == NULL || c->bio == NULL)
		tls_context_unref(&c);
	else
		c->wire->out_len = 0;
	return c;
}

struct tls_context *tls_context_new(const struct tls_opts *o, struct err *e)
{
	struct tls_core *core = core_new(o, e);
	struct tls_context *c = NULL;

	if (core == NULL)
		return NULL;
	c = tls_context_of_core(core);
	if (c == NULL)
		err_nomem(e);
	return c;
}

struct tls_context *tls_context_share(const struct tls_context *c)
{
	return tls_context_of_core(tls_core_ref(c->core));
}

bool tls_context_seconds_left(const struct tls_context *c, int64_t *left)
{
	const X509 *const own = SSL_CTX_get0_certificate(c->core->ssl);
	int days, seconds;

	if (own == NULL || ASN1_TIME_diff(&days, &seconds, NULL,
	    X509_get0_notAfter(own)) != 1)
		return false;
	*left = (int64_t)days * 86400 + seconds;
	return true;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
	c->refs++;
	return c;
}

void tls_context_unref(struct tls_context **cp)
{
	struct tls_context *c = *cp;

	*cp = NULL;
	if (c == NULL || --c->refs > 0)
		return;
	tls_core_unref(&c->core);
	BIO_free(c->bio);
	mem_free(c->wire);
	mem_free(c);
}

#define ALL (TLS_V1_0 | TLS_V1_1 | TLS_V1_2 | TLS_V1_3)
#define SECURE (TLS_V1_2 | TLS_V1_3)

struct word {
	const char *name;
	unsigned set;
};

static const struct word words[] = {
	{ "tlsv1.0", TLS_V1_0 },
	{ "tlsv1.1", TLS_V1_1 },
	{ "tlsv1.2", TLS_V1_2 },
	{ "tlsv1.3", TLS_V1_3 },
	{ "tlsv1", ALL },
	{ "all", ALL },
	{ "legacy", ALL },	/* spec/settings.md section 12 */
	{ "secure", SECURE },
	{ "default", SECURE },
};

/* 0: no such word. */
static unsigned tls_context_find(const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strlen(words[i].name) == len &&
		    strncasecmp(words[i].name, s, len) == 0)
			return words[i].set;
	}
	return 0;
}

int tls_protocols_parse(const char *text, unsigned *out)
{
	unsigned set = 0;

	if (text == NULL || text[0] == '\0') {
		*out = SECURE;
		return 0;
	}
	for (bool first = true;; first = false) {
		text += strspn(text, " \t");
		const bool without = text[0] == '!';

		text += without;
		const size_t len = strcspn(text, ",:");
		const unsigned found = tls_context_find(text, len);

		if (found == 0)
			return -1;
		if (first && without)
			set = ALL;
		set = without ? set & ~found : set | found;
		text += len;
		if (*text++ == '\0')
			break;
	}
	*out = set;
	return set == 0 ? -1 : 0;
}
