/* fuzz_jwt.c - any bytes as a set of keys, as a token, and as what a token that
 * is signed rightly says. The first byte chooses.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/jwt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW 1000000
#define PAYLOAD_MAX 16384

static EVP_PKEY *ed;
static struct jwks *set;

static size_t encode(const void *p, size_t n, char *out)
{
	size_t len = crypto_base64_encode(p, n, out);

	while (len > 0 && out[len - 1] == '=')
		out[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		out[i] = (char)(out[i] == '+' ? '-' : out[i] == '/' ? '_' :
		    out[i]);
	return len;
}

static void make(void)
{
	static const uint8_t seed[32] = "a key that nobody has to guess.";
	uint8_t raw[32];
	size_t n = sizeof raw;
	char x[64], text[256];
	struct err e;

	ed = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed,
	    sizeof seed);
	assert(ed != NULL && EVP_PKEY_get_raw_public_key(ed, raw, &n) == 1);
	encode(raw, n, x);
	snprintf(text, sizeof text, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":"
	    "\"Ed25519\",\"kid\":\"k\",\"x\":\"%s\"}]}", x);
	set = jwks_parse(text, strlen(text), &e);
	assert(set != NULL);
}

static void check(const char *token)
{
	const struct jwt_demand demand = {
		.keys = set,
		.issuer = "https://i", .audience = "db", .scope = "a b",
		.claim = "sub", .now = NOW,
	};
	struct jwt_found found;
	struct err e = { .text = "" };

	if (jwt_check(token, &demand, &found, &e) == 0) {
		assert(found.name[0] != '\0' &&
		    strlen(found.name) < JWT_NAME_MAX);
	} else {
		assert(e.text[0] != '\0');
	}
}

static void check_text(const uint8_t *data, size_t size)
{
	char *const token = malloc(size + 1);

	assert(token != NULL);
	memcpy(token, data, size);
	token[size] = '\0';
	check(token);
	free(token);
}

static void check_payload(const uint8_t *payload, size_t size)
{
	static const char header[] = "{\"alg\":\"EdDSA\",\"kid\":\"k\"}";
	static char token[2 * PAYLOAD_MAX];
	uint8_t signature[64];
	size_t n = sizeof signature, at;
	EVP_MD_CTX *const c = EVP_MD_CTX_new();

	if (size > PAYLOAD_MAX)
		size = PAYLOAD_MAX;
	at = encode(header, strlen(header), token);
	token[at++] = '.';
	at += encode(payload, size, token + at);
	assert(EVP_DigestSignInit(c, NULL, NULL, NULL, ed) == 1);
	assert(EVP_DigestSign(c, signature, &n, (const uint8_t *)token, at) ==
	    1);
	EVP_MD_CTX_free(c);
	token[at++] = '.';
	encode(signature, n, token + at);
	check(token);
}

static void check_set(const uint8_t *data, size_t size)
{
	struct err e = { .text = "" };
	struct jwks *k = jwks_parse((const char *)data, size, &e);

	assert(k != NULL ? jwks_count(k) > 0 : e.text[0] != '\0');
	jwks_unref(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (set == NULL)
		make();
	if (size == 0)
		return 0;
	switch (data[0]) {
	case 'k':
		check_set(data + 1, size - 1);
		break;
	case 't':
		check_text(data + 1, size - 1);
		break;
	default:
		check_payload(data + 1, size - 1);
		break;
	}
	return 0;
}
