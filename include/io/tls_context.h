/* tls_context.h - the part of TLS that all connections of a configuration
 * share.
 * SPDX-License-Identifier: ISC */
#ifndef IO_TLS_CONTEXT_H
#define IO_TLS_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct tls_context;
struct tls_store;

enum tls_verify {
	TLS_VERIFY_NONE,
	TLS_VERIFY_OPTIONAL,	/* a certificate may lack, but not be wrong */
	TLS_VERIFY_CHAIN,	/* there must be one of our authorities */
	TLS_VERIFY_NAME,	/* ... and it must name the host */
};

/* Texts as in the settings (pgsluice.ini(5)); NULL and "" = default. */
struct tls_opts {
	bool accepts;		/* for clients; else towards servers */
	enum tls_verify verify;
	struct tls_store *store;	/* borrowed; NULL: verify is NONE */
	const char *ca_file;	/* clients are told whom we trust */
	const char *key_file, *cert_file;
	const char *protocols, *ciphers, *tls13_ciphers;
	const char *dheparams, *ecdhcurve, *groups;	/* accepting side only */
	bool alpn;		/* connecting side: insist on "postgresql" */
};

/*
 * Reads the files. One reference, or NULL with e naming the item: "invalid
 * client_tls_protocols: x". Connections hold references of their own.
 */
struct tls_context *tls_context_new(const struct tls_opts *o, struct err *e);
/*
 * Another for connections of another thread, with the same certificate, keys of
 * tickets and rules. NULL: no memory. References are for one thread.
 */
struct tls_context *tls_context_share(const struct tls_context *c);
/* Until its certificate expires (< 0: since then); false: it has none. */
bool tls_context_seconds_left(const struct tls_context *c, int64_t *left);
struct tls_context *tls_context_ref(struct tls_context *c);
void tls_context_unref(struct tls_context **c);

/*
 * The authorities of a PEM file, or ("" and NULL) the system's authorities, and
 * the certificates revoked by them ("" and NULL: none); to be shared by the
 * contexts that trust them. One reference, or NULL with e.
 */
struct tls_store *tls_store_new(const char *ca_file, const char *crl_file,
    struct err *e);
void tls_store_unref(struct tls_store **s);

#endif
