/* scram_verifier.c - keys from passwords, and stored verifiers.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "proto/password.h"
#include "proto/scram.h"

#define SECRET_PREFIX SCRAM_MECHANISM "$"

/* Everything up to stop, or up to the end for stop '\0'. */
static bool take_until(const char **at, char stop, struct scram_span *field)
{
	const char *end = strchr(*at, stop);
	if (end == NULL)
		return false;
	field->at = *at;
	field->len = (size_t)(end - *at);
	*at = stop == '\0' ? end : end + 1;
	return true;
}

static bool parse_fields(struct scram_verifier *v, const char *at)
{
	struct scram_span iterations, salt, stored, server;

	return take_until(&at, ':', &iterations) &&
	    take_until(&at, '$', &salt) && take_until(&at, ':', &stored) &&
	    take_until(&at, '\0', &server) &&
	    scram_text_iterations(iterations, &v->iterations) &&
	    scram_text_salt(salt, v->salt, &v->salt_len) &&
	    scram_text_key(stored, v->stored_key) &&
	    scram_text_key(server, v->server_key);
}

/* PostgreSQL docs, pg_authid: the form of rolpassword. */
int scram_verifier_parse(struct scram_verifier *v, const char *secret)
{
	memset(v, 0, sizeof *v);
	if (strncmp(secret, SECRET_PREFIX, strlen(SECRET_PREFIX)) == 0 &&
	    parse_fields(v, secret + strlen(SECRET_PREFIX)))
		return 0;
	secret_wipe(v, sizeof *v);
	return -1;
}

char *scram_verifier_text(const struct scram_verifier *v)
{
	char salt[CRYPTO_BASE64_SIZE(SCRAM_SALT_MAX)], iterations[16];
	char stored[CRYPTO_BASE64_SIZE(SHA256_BYTES)];
	char server[CRYPTO_BASE64_SIZE(SHA256_BYTES)];

	snprintf(iterations, sizeof iterations, "%d", v->iterations);
	crypto_base64_encode(v->salt, v->salt_len, salt);
	crypto_base64_encode(v->stored_key, sizeof v->stored_key, stored);
	crypto_base64_encode(v->server_key, sizeof v->server_key, server);
	char *text = scram_text_join(SECRET_PREFIX, iterations, ":", salt, "$",
	    stored, ":", server, NULL);

	secret_wipe(stored, sizeof stored);
	secret_wipe(server, sizeof server);
	return text;
}

static bool limits_are_kept(size_t salt_len, int iterations)
{
	return salt_len >= 1 && salt_len <= SCRAM_SALT_MAX && iterations >= 1 &&
	    iterations <= SCRAM_ITERATIONS_MAX;
}

/* RFC 5802 §3: SaltedPassword, ClientKey, ServerKey. */
static int derive_from_salted(struct scram_keys *k,
    const uint8_t salted[SHA256_BYTES])
{
	if (crypto_hmac_sha256(salted, SHA256_BYTES, "Client Key",
		strlen("Client Key"), k->client_key) != 0)
		return -1;
	return crypto_hmac_sha256(salted, SHA256_BYTES, "Server Key",
	    strlen("Server Key"), k->server_key);
}

int scram_keys_derive(struct scram_keys *k, const char *password,
    const void *salt, size_t salt_len, int iterations)
{
	uint8_t salted[SHA256_BYTES];

	memset(k, 0, sizeof *k);
	if (!limits_are_kept(salt_len, iterations))
		return -1;
	char *prepared = saslprep(password);
	if (prepared == NULL)
		return -1;

	int rc =
	    crypto_pbkdf2_sha256(prepared, salt, salt_len, iterations, salted);
	secret_free(prepared);
	if (rc == 0)
		rc = derive_from_salted(k, salted);
	secret_wipe(salted, sizeof salted);
	if (rc != 0)
		secret_wipe(k, sizeof *k);
	return rc;
}

int scram_verifier_fill(struct scram_verifier *v, const struct scram_keys *k,
    const void *salt, size_t salt_len)
{
	v->salt_len = salt_len;
	memmove(v->salt, salt, salt_len);
	memset(v->salt + salt_len, 0, sizeof v->salt - salt_len);
	memcpy(v->server_key, k->server_key, sizeof k->server_key);
	return crypto_sha256(k->client_key, sizeof k->client_key,
	    v->stored_key);
}

int scram_verifier_derive(struct scram_verifier *v, const char *password,
    const void *salt, size_t salt_len, int iterations)
{
	struct scram_keys k;
	int rc = -1;

	if (password[0] != '\0')
		rc =
		    scram_keys_derive(&k, password, salt, salt_len, iterations);
	if (rc == 0) {
		rc = scram_verifier_fill(v, &k, salt, salt_len);
		v->iterations = iterations;
		secret_wipe(&k, sizeof k);
	}
	if (rc != 0)
		secret_wipe(v, sizeof *v);
	return rc;
}

int scram_mock_salt(const uint8_t seed[SHA256_BYTES], const char *user,
    uint8_t *out, size_t len)
{
	uint8_t block[SHA256_BYTES];
	const size_t user_len = strlen(user);
	uint8_t *const text = mem_alloc(user_len + 1);
	int rc = text != NULL ? 0 : -1;

	for (size_t at = 0; rc == 0 && at < len; at += sizeof block) {
		const size_t n = len - at < sizeof block ? len - at :
		    sizeof block;

		memcpy(text, user, user_len);
		text[user_len] = (uint8_t)(at / sizeof block);
		rc = crypto_hmac_sha256(seed, SHA256_BYTES, text, user_len + 1,
		    block);
		memcpy(out + at, block, n);
	}
	secret_wipe(block, sizeof block);
	mem_free(text);
	return rc;
}

int scram_verifier_mock(struct scram_verifier *v, const char *user,
    const uint8_t seed[SHA256_BYTES], const struct scram_shape *shape)
{
	memset(v, 0, sizeof *v);
	if (!limits_are_kept(shape->salt_len, shape->iterations) ||
	    scram_mock_salt(seed, user, v->salt, shape->salt_len) != 0)
		return -1;
	v->iterations = shape->iterations;
	v->salt_len = shape->salt_len;
	/* zeros are SHA-256 of nothing known; random keys would take time */
	return 0;
}
