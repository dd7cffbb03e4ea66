/* tls_peer.c - what a TLS connection and its certificates tell.
 * SPDX-License-Identifier: ISC */
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "base/net.h"
#include "base/text.h"
#include "io/gssenc.h"
#include "io/stream.h"
#include "io/tls_parts.h"

#define SHAKE_BYTES 46000	/* of OpenSSL during a handshake, the most */
#define UP_BYTES 17000		/* and later */

static const struct tls *tls_peer_find(const struct stream *s)
{
	return s->tls != NULL && s->tls->up ? s->tls : NULL;
}

/* --- the connection --- */

/* The exchange, as far as known: OpenSSL forgets a server's DH key at once. */
static void add_exchange(struct text *t, SSL *ssl)
{
	const int kind = SSL_CIPHER_get_kx_nid(SSL_get_current_cipher(ssl));
	const int group = SSL_get_negotiated_group(ssl);
	EVP_PKEY *key = NULL;

	if (kind == NID_kx_dhe && SSL_get_peer_tmp_key(ssl, &key) == 1)
		text_addf(t, "/DH=%d", EVP_PKEY_get_bits(key));
	else if (kind != NID_kx_dhe && group != NID_undef &&
	    OBJ_nid2sn(group) != NULL)
		text_addf(t, "/ECDH=%s", OBJ_nid2sn(group));
	EVP_PKEY_free(key);
	ERR_clear_error();
}

const char *tls_describe(const struct stream *s, char *buf, size_t size)
{
	const struct tls *c = tls_peer_find(s);
	struct text t;

	text_init(&t, buf, size);
	if (gssenc_state(s) == GSSENC_UP)
		text_add(&t, "GSSAPI");
	if (c == NULL)
		return buf;
	text_addf(&t, "%s/%s", SSL_get_version(c->ssl),
	    SSL_get_cipher_name(c->ssl));
	/* spec/authentication.md section 9.5 */
	if (!c->ctx->core->accepts || SSL_version(c->ssl) < TLS1_3_VERSION)
		add_exchange(&t, c->ssl);
	return buf;
}

bool tls_has_alpn(const struct stream *s)
{
	const struct tls *c = tls_peer_find(s);
	const unsigned char *name = NULL;
	unsigned len = 0;

	if (c != NULL)
		SSL_get0_alpn_selected(c->ssl, &name, &len);
	return len > 0;
}

/* --- the names of the peer --- */

static X509 *peer_cert(const struct stream *s)
{
	const struct tls *c = tls_peer_find(s);

	return c == NULL ? NULL : SSL_get0_peer_certificate(c->ssl);
}

bool tls_peer_is_verified(const struct stream *s)
{
	return peer_cert(s) != NULL &&
	    s->tls->ctx->core->verify != TLS_VERIFY_NONE &&
	    SSL_get_verify_result(s->tls->ssl) == X509_V_OK;
}

/* The name as UTF-8; false: the name has a NUL, or is too long. */
static bool tls_peer_copy_name(const ASN1_STRING *from, char *buf, size_t size)
{
	unsigned char *utf8 = NULL;
	const int len = ASN1_STRING_to_UTF8(&utf8, from);
	bool fits = len > 0 && (size_t)len < size &&
	    memchr(utf8, '\0', (size_t)len) == NULL;

	if (fits) {
		memcpy(buf, utf8, (size_t)len);
		buf[len] = '\0';
	}
	OPENSSL_free(utf8);
	ERR_clear_error();
	return fits;
}

bool tls_cert_name(const X509 *cert, char *buf, size_t size)
{
	buf[0] = '\0';
	X509_NAME *subject = X509_get_subject_name(cert);
	const int i = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

	/* with two common names it is not clear which one counts */
	if (i < 0 ||
	    X509_NAME_get_index_by_NID(subject, NID_commonName, i) >= 0)
		return false;
	return tls_peer_copy_name(X509_NAME_ENTRY_get_data(
	    X509_NAME_get_entry(subject, i)), buf, size);
}

bool tls_peer_name(const struct stream *s, char *buf, size_t size)
{
	const X509 *cert = peer_cert(s);

	buf[0] = '\0';
	return cert != NULL && tls_cert_name(cert, buf, size);
}

/* Has cert's subjectAltName an address? */
static bool names_addresses(const X509 *cert)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name,
	    NULL, NULL);
	bool found = false;

	for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++)
		found = sk_GENERAL_NAME_value(names, i)->type == GEN_IPADD;
	GENERAL_NAMES_free(names);
	return found;
}

/*
 * (spec/authentication.md section 9.2) As libpq: the CommonName counts where
 * the subjectAltName has nothing of the kind that is asked for.
 */
bool tls_cert_is_for(X509 *cert, const char *host)
{
	unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
	struct net_addr a;
	bool is_for = false;

	if (net_parse_ip(host, 0, &a) == 0) {
		is_for = X509_check_ip_asc(cert, host, 0) == 1;
		if (!is_for && names_addresses(cert))
			flags |= X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
	}
	is_for = is_for || X509_check_host(cert, host, 0, flags, NULL) == 1;
	ERR_clear_error();
	return is_for;
}

/* --- channel binding --- */

/* RFC 5929 section 4.1: the digest of the signature, but never a weak one. */
size_t tls_cert_binding(const X509 *cert, uint8_t out[TLS_BINDING_MAX])
{
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	int nid = NID_undef;
	const EVP_MD *md = NULL;

	_Static_assert(sizeof digest <= TLS_BINDING_MAX, "no room");
	if (X509_get_signature_info((X509 *)cert, &nid, NULL, NULL, NULL) == 1 &&
	    nid != NID_undef)
		md = nid == NID_md5 || nid == NID_sha1 ? EVP_sha256() :
		    EVP_get_digestbynid(nid);
	if (md == NULL || X509_digest(cert, md, digest, &len) != 1)
		len = 0;
	ERR_clear_error();
	memcpy(out, digest, len);
	return len;
}

size_t tls_end_point(const struct stream *s, uint8_t out[TLS_BINDING_MAX])
{
	const struct tls *c = tls_peer_find(s);

	if (c == NULL)
		return 0;
	if (!c->ctx->core->accepts) {
		const X509 *cert = SSL_get0_peer_certificate(c->ssl);

		return cert == NULL ? 0 : tls_cert_binding(cert, out);
	}
	memcpy(out, c->ctx->core->binding, c->ctx->core->binding_len);
	return c->ctx->core->binding_len;
}

size_t tls_memory(const struct stream *s)
{
	static const size_t bytes[] = {
		[TLS_NONE] = 0,
		[TLS_HANDSHAKE] = SHAKE_BYTES,
		[TLS_UP] = UP_BYTES,
	};

	return bytes[tls_state(s)] + gssenc_memory(s);
}
