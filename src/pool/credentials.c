/* credentials.c - a stored secret and what was derived from it, once.
 * SPDX-License-Identifier: ISC */
#include "pool/credentials.h"

#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"

struct credentials *credentials_new(const char *secret)
{
	struct credentials *c = mem_new(MEM_CREDENTIALS, sizeof *c);

	if (c == NULL)
		return NULL;
	c->refs = 1;
	c->kind = secret_kind(secret);
	c->secret = mem_strdup(secret);
	if (c->secret == NULL)
		credentials_unref(&c);
	return c;
}

struct credentials *credentials_ref(struct credentials *c)
{
	c->refs++;
	return c;
}

static void free_verifier(struct credentials *c)
{
	if (c->verifier != NULL)
		secret_wipe(c->verifier, sizeof *c->verifier);
	mem_free(c->verifier);
	c->verifier = NULL;
}

static void free_keys(struct credentials *c)
{
	if (c->keys != NULL)
		secret_wipe(c->keys, sizeof *c->keys);
	mem_free(c->keys);
	mem_free(c->keys_salt);
	c->keys = NULL;
	c->keys_salt = NULL;
	c->keys_salt_len = 0;
	c->keys_iterations = 0;
}

void credentials_unref(struct credentials **cp)
{
	struct credentials *c = *cp;

	*cp = NULL;
	if (c == NULL || --c->refs > 0)
		return;
	secret_free(c->secret);
	free_verifier(c);
	free_keys(c);
	mem_delete(MEM_CREDENTIALS, c, sizeof *c);
}

static int make_verifier(const struct credentials *c, int iterations,
    struct scram_verifier *v)
{
	if (c->kind == SECRET_SCRAM)
		return scram_verifier_parse(v, c->secret);
	if (c->kind != SECRET_PLAIN)
		return -1;
	uint8_t salt[SCRAM_SALT_BYTES];

	crypto_random(salt, sizeof salt);
	return scram_verifier_derive(v, c->secret, salt, sizeof salt,
	    iterations);
}

/* One made here is remade when the setting changed: all users show the same. */
static bool verifier_is_current(const struct credentials *c, int iterations)
{
	return c->verifier != NULL && (c->kind == SECRET_SCRAM ||
	    c->verifier->iterations == iterations);
}

const struct scram_verifier *credentials_verifier(struct credentials *c,
    int iterations)
{
	if (verifier_is_current(c, iterations))
		return c->verifier;
	free_verifier(c);
	struct scram_verifier *v = mem_zalloc(sizeof *v);

	if (v != NULL && make_verifier(c, iterations, v) == 0)
		return c->verifier = v;
	mem_free(v);
	return NULL;
}

/* RFC 5802 section 3: StoredKey is the hash of ClientKey. */
static bool is_client_key(const struct scram_verifier *v, const uint8_t *key)
{
	uint8_t hash[SHA256_BYTES];
	const bool same = crypto_sha256(key, SHA256_BYTES, hash) == 0 &&
	    crypto_equal(hash, v->stored_key, sizeof hash);

	secret_wipe(hash, sizeof hash);
	return same;
}

void credentials_learn(struct credentials *c, const uint8_t *client_key)
{
	if (c->kind != SECRET_SCRAM || c->verifier == NULL ||
	    c->keys != NULL || !is_client_key(c->verifier, client_key))
		return;
	c->keys = mem_zalloc(sizeof *c->keys);
	if (c->keys == NULL)
		return;
	memcpy(c->keys->client_key, client_key, SHA256_BYTES);
	memcpy(c->keys->server_key, c->verifier->server_key, SHA256_BYTES);
}

/* Are the keys those for this salt and count? */
static bool keys_fit(const struct credentials *c, const void *salt,
    size_t salt_len, int iterations)
{
	return c->keys != NULL && c->keys_iterations == iterations &&
	    c->keys_salt_len == salt_len &&
	    memcmp(c->keys_salt, salt, salt_len) == 0;
}

const struct scram_keys *credentials_keys(struct credentials *c,
    const void *salt, size_t salt_len, int iterations)
{
	/* learned keys are those of the stored salt; the server decides */
	if (c->kind == SECRET_SCRAM)
		return c->keys;
	if (keys_fit(c, salt, salt_len, iterations))
		return c->keys;
	if (c->kind != SECRET_PLAIN)
		return NULL;
	free_keys(c);
	c->keys = mem_zalloc(sizeof *c->keys);
	c->keys_salt = mem_dup(salt, salt_len);
	if (c->keys == NULL || c->keys_salt == NULL ||
	    scram_keys_derive(c->keys, c->secret, salt, salt_len,
	    iterations) < 0) {
		free_keys(c);
		return NULL;
	}
	c->keys_salt_len = salt_len;
	c->keys_iterations = iterations;
	return c->keys;
}
