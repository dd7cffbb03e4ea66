/* fuzz_tls_peer.c - any certificate: whose is it, and what binds to it?
 * SPDX-License-Identifier: ISC
 *
 * The input is a name that we look for, a NUL, and a certificate as DER. */
#include <assert.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/net.h"
#include "base/text.h"
#include "io/tls_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_kind(const X509 *cert, int kind)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name,
	    NULL, NULL);
	bool found = false;

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
		found = found ||
		    sk_GENERAL_NAME_value(names, i)->type == kind;
	GENERAL_NAMES_free(names);
	return found;
}

static bool is_in_subject(X509 *cert, const char *host)
{
	return X509_check_host(cert, host, 0,
	    X509_CHECK_FLAG_ALWAYS_CHECK_SUBJECT, NULL) == 1;
}

/* Who is taken for the host must be called so, and there where it counts. */
static void check_host(X509 *cert, const char *host)
{
	struct net_addr a;
	const bool is_ip = net_parse_ip(host, 0, &a) == 0;

	if (!tls_cert_is_for(cert, host))
		return;
	assert(host[0] != '\0');
	if (is_ip && X509_check_ip_asc(cert, host, 0) == 1)
		return;
	/* by a dNSName, then, or by the CommonName where it may count */
	if (X509_check_host(cert, host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
	    NULL) == 1)
		return;
	assert(!has_kind(cert, GEN_DNS));
	assert(!is_ip || !has_kind(cert, GEN_IPADD));
	assert(is_in_subject(cert, host));
}

/* What a client's certificate tells: no NUL, no end missing. */
static void check_names(X509 *cert)
{
	char name[TLS_NAME_MAX];

	memset(name, 'x', sizeof name);
	const bool one = tls_cert_name(cert, name, sizeof name);

	assert(memchr(name, '\0', sizeof name) != NULL);
	assert(one == (name[0] != '\0'));
}

static void check_binding(const X509 *cert)
{
	uint8_t out[TLS_BINDING_MAX];
	const size_t len = tls_cert_binding(cert, out);

	/* never a digest that is weak */
	assert(len == 0 || (len >= 28 && len <= sizeof out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *const nul = memchr(data, '\0', size);

	if (nul == NULL)
		return 0;
	const uint8_t *der = nul + 1;
	X509 *cert = d2i_X509(NULL, &der, (long)(data + size - der));

	if (cert != NULL) {
		check_host(cert, (const char *)data);
		check_names(cert);
		check_binding(cert);
	}
	X509_free(cert);
	ERR_clear_error();
	return 0;
}
