/* credentials.c - a stored secret and what was derived from it, once.
 * SPDX-License-Identifier: ISC */
#include "pool/credentials.h"

#include <string.h>
#include <utlist.h>

#include "base/crypto.h"
#include "base/mem.h"

struct credentials *credentials_new(const char *secret)
{
	struct credentials *c = mem_new(MEM_CREDENTIALS, sizeof *c);

	if (c == NULL)
		return NULL;
	c->refs = 1;
	c->kind = secret_kind(secret);
	c->secret = secmem_strdup(secret);
	if (c->secret == NULL)
		credentials_unref(&c);
	return c;
}

struct credentials *credentials_ref(struct credentials *c)
{
	c->refs++;
	return c;
}

struct credentials *credentials_renew(struct credentials *now,
    const char *secret)
{
	return now != NULL && strcmp(now->secret, secret) == 0 ?
	    credentials_ref(now) : credentials_new(secret);
}

static void free_keys(struct credentials *c)
{
	struct known_keys *k;

	secmem_free(c->learned);
	while ((k = c->known) != NULL) {
		c->known = k->next;
		secmem_free(k);
	}
}

void credentials_unref(struct credentials **cp)
{
	struct credentials *c = *cp;

	*cp = NULL;
	if (c == NULL || --c->refs > 0)
		return;
	secmem_free(c->secret);
	secmem_free(c->verifier);
	free_keys(c);
	mem_delete(MEM_CREDENTIALS, c, sizeof *c);
}

static struct scram_verifier *parse_verifier(const char *secret)
{
	struct scram_verifier *v = secmem_zalloc(sizeof *v);

	if (v != NULL && scram_verifier_parse(v, secret) == 0)
		return v;
	secmem_free(v);
	return NULL;
}

const struct scram_verifier *credentials_verifier(struct credentials *c,
    int iterations)
{
	if (c->kind == SECRET_SCRAM) {
		if (c->verifier == NULL)
			c->verifier = parse_verifier(c->secret);
		return c->verifier;
	}
	/* made again if the setting changed: all users show the same count */
	return c->verifier != NULL && c->verifier->iterations == iterations ?
	    c->verifier : NULL;
}

int credentials_put_verifier(struct credentials *c, const struct scram_keys *k,
    const struct scram_salt *salt)
{
	struct scram_verifier *v = secmem_zalloc(sizeof *v);

	if (v == NULL || c->kind != SECRET_PLAIN ||
	    scram_verifier_fill(v, k, salt->at, salt->len) < 0) {
		secmem_free(v);
		return -1;
	}
	v->iterations = salt->iterations;
	secmem_free(c->verifier);
	c->verifier = v;
	return 0;
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
	    c->learned != NULL || !is_client_key(c->verifier, client_key))
		return;
	c->learned = secmem_zalloc(sizeof *c->learned);
	if (c->learned == NULL)
		return;
	memcpy(c->learned->client_key, client_key, SHA256_BYTES);
	memcpy(c->learned->server_key, c->verifier->server_key, SHA256_BYTES);
}

static bool credentials_fits(const struct known_keys *k,
    const struct scram_salt *salt)
{
	return k->iterations == salt->iterations &&
	    k->salt_len == salt->len &&
	    memcmp(k->salt, salt->at, salt->len) == 0;
}

const struct scram_keys *credentials_keys(struct credentials *c,
    const struct scram_salt *salt)
{
	struct known_keys *k;

	/* learned keys belong to the stored salt, so the server decides */
	if (c->kind == SECRET_SCRAM)
		return c->learned;
	LL_FOREACH(c->known, k) {
		if (!credentials_fits(k, salt))
			continue;
		LL_DELETE(c->known, k);
		LL_PREPEND(c->known, k);
		return &k->keys;
	}
	return NULL;
}

/* Removes the keys that were not used for longest. */
static void forget_keys(struct credentials *c)
{
	struct known_keys **at = &c->known;

	for (int i = 0; *at != NULL && i < CREDENTIALS_SALTS - 1; i++)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	secmem_free(*at);
	*at = NULL;
}

void credentials_put_keys(struct credentials *c, const struct scram_keys *k,
    const struct scram_salt *salt)
{
	struct known_keys *known;

	if (c->kind != SECRET_PLAIN || credentials_keys(c, salt) != NULL)
		return;
	known = secmem_zalloc(sizeof *known + salt->len);
	if (known == NULL)
		return;
	forget_keys(c);
	known->keys = *k;
	known->iterations = salt->iterations;
	known->salt_len = salt->len;
	memcpy(known->salt, salt->at, salt->len);
	LL_PREPEND(c->known, known);
}
