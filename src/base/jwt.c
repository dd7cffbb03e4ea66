/* jwt.c - tokens that others have signed: is the signature right, and what do
 * they say?
 * SPDX-License-Identifier: ISC */
#include "base/jwt.h"

#include <jansson.h>
#include <math.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define DEPTH_MAX 16		/* of JSON: jansson descends on the stack */
#define RSA_BITS_MIN 2048	/* RFC 7518 section 3.3 */
#define RSA_BITS_MAX 16384	/* libcrypto verifies no more */
#define POINT 32		/* bytes of a coordinate, and of half a signature */
#define TIME_MAX 1e11		/* seconds: a date that is meant as one */

static int jwt_bad(struct err *e, const char *text)
{
	return err_set(e, ERRCODE_INVALID_AUTHORIZATION, "%s", text);
}

/* --- base64url and JSON --- */

/* Owned. */
struct bytes {
	uint8_t *at;
	size_t len;
};

static void bytes_fini(struct bytes *b)
{
	if (b->at != NULL)
		secret_wipe(b->at, b->len);
	mem_free(b->at);
	*b = (struct bytes){ NULL, 0 };
}

static char plain_digit(char c)
{
	if (c == '-')
		return '+';
	if (c == '_')
		return '/';
	/* of the other alphabet, and no padding here: RFC 7515 section 2 */
	return c == '+' || c == '/' || c == '=' ? '\0' : c;
}

/* RFC 4648 section 5. 0, or -1: no such text, or no memory. */
static int decode_url(const char *s, size_t len, struct bytes *out)
{
	const size_t padded = (len + 3) / 4 * 4;
	char *const text = mem_alloc(padded + 1);
	int n = -1;

	*out = (struct bytes){ mem_zalloc(padded + 1), padded };
	if (text != NULL && out->at != NULL) {
		memset(text, '=', padded);
		for (size_t i = 0; i < len; i++)
			text[i] = plain_digit(s[i]);
		n = crypto_base64_decode(text, padded, out->at, padded);
	}
	if (text != NULL)
		secret_wipe(text, padded);
	mem_free(text);
	if (n < 0) {
		bytes_fini(out);
		return -1;
	}
	out->len = (size_t)n;
	return 0;
}

static bool is_too_deep(const char *s, size_t len)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			quoted = !quoted;
		else if (quoted)
			i += s[i] == '\\';
		else if (s[i] == '{' || s[i] == '[')
			depth++;
		else if (s[i] == '}' || s[i] == ']')
			depth--;
		if (depth > DEPTH_MAX)
			return true;
	}
	return false;
}

/*
 * An object, with no name twice: two readers might take two different values. A
 * NUL in a string and what is no UTF-8 are refused by jansson. NULL: none.
 */
static json_t *read_object(const char *s, size_t len)
{
	json_t *const j = is_too_deep(s, len) ? NULL :
	    json_loadb(s, len, JSON_REJECT_DUPLICATES, NULL);

	if (json_is_object(j))
		return j;
	json_decref(j);
	return NULL;
}

/* NULL: there is none, or it is no string. */
static const char *string_of(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static bool says(const json_t *o, const char *name, const char *value)
{
	const char *const s = string_of(o, name);

	return s != NULL && strcmp(s, value) == 0;
}

static bool has(const json_t *o, const char *name)
{
	return json_object_get(o, name) != NULL;
}

/* --- keys --- */

struct algorithm {
	const char *name;	/* of a token's header */
	const char *kty, *crv;	/* of its keys; crv may be NULL */
	EVP_PKEY *(*make)(const json_t *jwk);	/* NULL: it is not usable */
	bool (*verify)(EVP_MD_CTX *c, EVP_PKEY *k, const struct bytes *signature,
	    const struct bytes *text);
};

struct key {
	struct key *next;
	const struct algorithm *algorithm;
	char *kid;		/* owned */
	EVP_PKEY *pkey;		/* owned */
};

struct jwks {
	atomic_uint refs;
	struct key *keys;	/* owned */
	size_t count;
};

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *b)
{
	OSSL_PARAM *const params = OSSL_PARAM_BLD_to_param(b);
	EVP_PKEY_CTX *const c = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *k = NULL;

	if (params == NULL || c == NULL || EVP_PKEY_fromdata_init(c) != 1 ||
	    EVP_PKEY_fromdata(c, &k, EVP_PKEY_PUBLIC_KEY, params) != 1)
		k = NULL;
	EVP_PKEY_CTX_free(c);
	OSSL_PARAM_free(params);
	return k;
}

/* 0, or -1. */
static int member(const json_t *jwk, const char *name, struct bytes *out)
{
	const char *const s = string_of(jwk, name);

	*out = (struct bytes){ NULL, 0 };
	return s != NULL ? decode_url(s, strlen(s), out) : -1;
}

static bool is_rsa_length(const EVP_PKEY *k)
{
	const int bits = EVP_PKEY_get_bits(k);

	return bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX;
}

static EVP_PKEY *rsa_of(const struct bytes *n, const struct bytes *e)
{
	BIGNUM *const bn = BN_bin2bn(n->at, (int)n->len, NULL);
	BIGNUM *const be = BN_bin2bn(e->at, (int)e->len, NULL);
	OSSL_PARAM_BLD *const b = OSSL_PARAM_BLD_new();
	EVP_PKEY *k = NULL;

	/* 1 as an exponent would let anybody sign */
	if (bn != NULL && be != NULL && b != NULL && BN_is_odd(be) &&
	    !BN_is_one(be) &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, be) == 1)
		k = from_params("RSA", b);
	OSSL_PARAM_BLD_free(b);
	BN_free(bn);
	BN_free(be);
	if (k != NULL && is_rsa_length(k))
		return k;
	EVP_PKEY_free(k);
	return NULL;
}

static EVP_PKEY *make_rsa(const json_t *jwk)
{
	struct bytes n, e = { NULL, 0 };
	EVP_PKEY *k = NULL;

	if (member(jwk, "n", &n) == 0 && member(jwk, "e", &e) == 0 &&
	    n.len <= RSA_BITS_MAX / 8 && e.len <= n.len)
		k = rsa_of(&n, &e);
	bytes_fini(&n);
	bytes_fini(&e);
	return k;
}

/* SEC 1 section 2.3.3; a point that is not on the curve makes no key. */
static EVP_PKEY *ec_of(const struct bytes *x, const struct bytes *y)
{
	uint8_t point[1 + 2 * POINT] = { 4 };
	OSSL_PARAM_BLD *const b = OSSL_PARAM_BLD_new();
	EVP_PKEY *k = NULL;

	memcpy(point + 1, x->at, POINT);
	memcpy(point + 1 + POINT, y->at, POINT);
	if (b != NULL &&
	    OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME,
	    "P-256", 0) == 1 &&
	    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point,
	    sizeof(point)) == 1)
		k = from_params("EC", b);
	OSSL_PARAM_BLD_free(b);
	return k;
}

static EVP_PKEY *make_ec(const json_t *jwk)
{
	struct bytes x, y = { NULL, 0 };
	EVP_PKEY *k = NULL;

	if (member(jwk, "x", &x) == 0 && member(jwk, "y", &y) == 0 &&
	    x.len == POINT && y.len == POINT)
		k = ec_of(&x, &y);
	bytes_fini(&x);
	bytes_fini(&y);
	return k;
}

static EVP_PKEY *make_ed(const json_t *jwk)
{
	struct bytes x;
	EVP_PKEY *k = NULL;

	if (member(jwk, "x", &x) == 0 && x.len == POINT)
		k = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, x.at,
		    x.len);
	bytes_fini(&x);
	return k;
}

static bool verify_rsa(EVP_MD_CTX *c, EVP_PKEY *k, const struct bytes *signature,
    const struct bytes *text)
{
	/* PKCS #1 v1.5 is what libcrypto does unless it is told otherwise */
	return EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, k) == 1 &&
	    EVP_DigestVerify(c, signature->at, signature->len, text->at,
	    text->len) == 1;
}

/* As DER, which libcrypto wants. NULL: no memory. To be freed by OPENSSL_free. */
static unsigned char *der_of(const struct bytes *signature, int *len)
{
	ECDSA_SIG *const s = ECDSA_SIG_new();
	BIGNUM *const r = BN_bin2bn(signature->at, POINT, NULL);
	BIGNUM *const v = BN_bin2bn(signature->at + POINT, POINT, NULL);
	unsigned char *der = NULL;

	if (s == NULL || r == NULL || v == NULL ||
	    ECDSA_SIG_set0(s, r, v) != 1) {
		BN_free(r);
		BN_free(v);
	} else {
		*len = i2d_ECDSA_SIG(s, &der);
	}
	ECDSA_SIG_free(s);
	return der;
}

/* RFC 7518 section 3.4: r and s, of 32 bytes each. */
static bool verify_ec(EVP_MD_CTX *c, EVP_PKEY *k, const struct bytes *signature,
    const struct bytes *text)
{
	int len = 0;
	unsigned char *const der = signature->len == 2 * POINT ?
	    der_of(signature, &len) : NULL;
	const bool ok = der != NULL && len > 0 &&
	    EVP_DigestVerifyInit(c, NULL, EVP_sha256(), NULL, k) == 1 &&
	    EVP_DigestVerify(c, der, (size_t)len, text->at, text->len) == 1;

	OPENSSL_free(der);
	return ok;
}

static bool verify_ed(EVP_MD_CTX *c, EVP_PKEY *k, const struct bytes *signature,
    const struct bytes *text)
{
	return signature->len == 2 * POINT &&
	    EVP_DigestVerifyInit(c, NULL, NULL, NULL, k) == 1 &&
	    EVP_DigestVerify(c, signature->at, signature->len, text->at,
	    text->len) == 1;
}

/*
 * What a token may be signed by. `none` is no algorithm here, and a secret that
 * both sides have is no key. (RFC 8725 section 3.1)
 */
static const struct algorithm algorithms[] = {
	{ "RS256", "RSA", NULL, make_rsa, verify_rsa },
	{ "ES256", "EC", "P-256", make_ec, verify_ec },
	{ "EdDSA", "OKP", "Ed25519", make_ed, verify_ed },
};

#define ALGORITHMS (sizeof(algorithms) / sizeof(*algorithms))

static const struct algorithm *algorithm_of_key(const json_t *jwk)
{
	for (size_t i = 0; i < ALGORITHMS; i++) {
		const struct algorithm *const a = &algorithms[i];

		if (says(jwk, "kty", a->kty) &&
		    (a->crv == NULL || says(jwk, "crv", a->crv)))
			return a;
	}
	return NULL;
}

/* RFC 7517 sections 4.2 and 4.3 */
static bool is_for_verifying(const json_t *jwk)
{
	const json_t *const ops = json_object_get(jwk, "key_ops");
	const json_t *op;
	size_t i;

	if (has(jwk, "use") && !says(jwk, "use", "sig"))
		return false;
	if (ops == NULL)
		return true;
	json_array_foreach(ops, i, op) {
		if (json_is_string(op) &&
		    strcmp(json_string_value(op), "verify") == 0)
			return true;
	}
	return false;
}

static struct key *find_key(const struct jwks *set, const char *kid)
{
	struct key *k = set->keys;

	while (k != NULL && strcmp(k->kid, kid) != 0)
		k = k->next;
	return k;
}

static int put_key(struct jwks *set, const struct algorithm *a,
    const json_t *jwk, struct err *e)
{
	struct key *const k = mem_zalloc(sizeof(*k));

	if (k == NULL)
		return err_nomem(e);
	k->algorithm = a;
	k->kid = mem_strdup(string_of(jwk, "kid"));
	k->pkey = k->kid != NULL ? a->make(jwk) : NULL;
	if (k->pkey == NULL) {
		const bool no_memory = k->kid == NULL;

		mem_free(k->kid);
		mem_free(k);
		return no_memory ? err_nomem(e) : 0;
	}
	k->next = set->keys;
	set->keys = k;
	set->count++;
	return 0;
}

/* RFC 7517 section 5: what is not understood is left out. */
static int take_key(struct jwks *set, const json_t *jwk, struct err *e)
{
	const struct algorithm *const a = algorithm_of_key(jwk);
	const char *const kid = string_of(jwk, "kid");

	if (has(jwk, "d") || has(jwk, "k"))
		return jwt_bad(e, "it has a private key, and whoever reads it "
		    "can sign");
	if (a == NULL || kid == NULL || kid[0] == '\0' ||
	    !is_for_verifying(jwk) ||
	    (has(jwk, "alg") && !says(jwk, "alg", a->name)))
		return 0;
	if (find_key(set, kid) != NULL)
		return jwt_bad(e, "two of its keys have the same kid");
	return put_key(set, a, jwk, e);
}

static int take_keys(struct jwks *set, const json_t *o, struct err *e)
{
	const json_t *const keys = json_object_get(o, "keys");
	const json_t *jwk;
	size_t i;

	if (!json_is_array(keys))
		return jwt_bad(e, "it is no JWK Set");
	if (json_array_size(keys) > JWKS_KEYS_MAX)
		return jwt_bad(e, "it has too many keys");
	json_array_foreach(keys, i, jwk) {
		if (take_key(set, jwk, e) < 0)
			return -1;
	}
	return set->keys != NULL ? 0 : jwt_bad(e, "it has no usable key: one "
	    "with kid, for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519)");
}

struct jwks *jwks_parse(const char *text, size_t len, struct err *e)
{
	struct jwks *set = mem_zalloc(sizeof(*set));
	json_t *const o = len <= JWKS_MAX ? read_object(text, len) : NULL;
	int rc;

	if (set == NULL) {
		json_decref(o);
		err_nomem(e);
		return NULL;
	}
	set->refs = 1;
	if (len > JWKS_MAX)
		rc = jwt_bad(e, "it is longer than 1 MB");
	else if (o == NULL)
		rc = jwt_bad(e, "it is no JSON object");
	else
		rc = take_keys(set, o, e);
	json_decref(o);
	ERR_clear_error();
	if (rc < 0)
		jwks_unref(&set);
	return set;
}

struct jwks *jwks_ref(struct jwks *k)
{
	k->refs++;
	return k;
}

void jwks_unref(struct jwks **kp)
{
	struct jwks *const set = *kp;
	struct key *k;

	*kp = NULL;
	if (set == NULL || --set->refs > 0)
		return;
	while ((k = set->keys) != NULL) {
		set->keys = k->next;
		EVP_PKEY_free(k->pkey);
		mem_free(k->kid);
		mem_free(k);
	}
	mem_free(set);
}

size_t jwks_count(const struct jwks *k)
{
	return k->count;
}

/* --- a token: RFC 7515 section 7.1 --- */

/* Borrowed, but for the decoded parts. */
struct jws {
	const char *header, *payload, *signature;
	size_t header_len, payload_len, signature_len;
};

static int cut_parts(struct jws *t, const char *s, size_t len, struct err *e)
{
	const char *const end = s + len;
	const char *const first = memchr(s, '.', len);
	const char *const second = first == NULL ? NULL :
	    memchr(first + 1, '.', (size_t)(end - first - 1));

	if (second == NULL ||
	    memchr(second + 1, '.', (size_t)(end - second - 1)) != NULL)
		return jwt_bad(e, "the token has not three parts: it is no "
		    "signed JWT");
	*t = (struct jws){
		.header = s, .header_len = (size_t)(first - s),
		.payload = first + 1,
		.payload_len = (size_t)(second - first - 1),
		.signature = second + 1,
		.signature_len = (size_t)(end - second - 1),
	};
	return 0;
}

/* NULL: e is set. */
static json_t *read_part(const char *s, size_t len, const char *what,
    struct err *e)
{
	struct bytes b;
	json_t *o = NULL;

	if (decode_url(s, len, &b) == 0)
		o = read_object((const char *)b.at, b.len);
	bytes_fini(&b);
	if (o == NULL)
		err_set(e, ERRCODE_INVALID_AUTHORIZATION, "the %s of the token "
		    "is no JSON object", what);
	return o;
}

/* A token of another kind is not for this: RFC 8725 section 3.11. */
static bool is_for_access(const json_t *header)
{
	static const char *const types[] = {
		"JWT", "at+jwt", "application/at+jwt",
	};
	const char *const typ = string_of(header, "typ");

	if (!has(header, "typ"))
		return true;
	for (size_t i = 0; typ != NULL &&
	    i < sizeof(types) / sizeof(*types); i++) {
		if (text_casecmp(typ, types[i]) == 0)
			return true;
	}
	return false;
}

/* The header picks a key; the key knows its algorithm. */
static const struct key *choose_key(const struct jwks *set,
    const json_t *header, struct err *e)
{
	const char *const alg = string_of(header, "alg");
	const char *const kid = string_of(header, "kid");
	const struct key *k = NULL;
	size_t i = 0;

	while (alg != NULL && i < ALGORITHMS &&
	    strcmp(algorithms[i].name, alg) != 0)
		i++;
	if (alg == NULL || i == ALGORITHMS)
		jwt_bad(e, "the token is not signed by RS256, ES256 or EdDSA");
	else if (has(header, "crit"))
		jwt_bad(e, "the token has critical extensions, and none is "
		    "known");
	else if (!is_for_access(header))
		jwt_bad(e, "the type of the token is neither JWT nor at+jwt");
	else if (kid == NULL)
		jwt_bad(e, "the token does not name its key: it has no kid");
	else if ((k = find_key(set, kid)) == NULL)
		jwt_bad(e, "no usable key has the kid of the token");
	else if (k->algorithm != &algorithms[i]) {
		jwt_bad(e, "the key of the token is for another algorithm");
		k = NULL;
	}
	return k;
}

static bool is_signed(const struct jws *t, const struct key *k)
{
	/* RFC 7515 section 5.1: both parts, as they came */
	const struct bytes text = { (uint8_t *)t->header,
		t->header_len + 1 + t->payload_len };
	struct bytes signature;
	bool ok = false;

	if (decode_url(t->signature, t->signature_len, &signature) == 0) {
		EVP_MD_CTX *const c = EVP_MD_CTX_new();

		ok = c != NULL &&
		    k->algorithm->verify(c, k->pkey, &signature, &text);
		EVP_MD_CTX_free(c);
	}
	bytes_fini(&signature);
	ERR_clear_error();
	return ok;
}

/* --- claims: RFC 7519 section 4.1 --- */

/* 0, or -1: it is no number, or none that is meant as a time. */
static int time_of(const json_t *o, const char *name, double *out)
{
	const json_t *const j = json_object_get(o, name);

	if (!json_is_number(j))
		return -1;
	*out = json_number_value(j);
	return isfinite(*out) && *out >= 0 && *out <= TIME_MAX ? 0 : -1;
}

static int check_times(const json_t *o, const struct jwt_demand *d,
    struct err *e)
{
	double expires, from = 0;

	if (time_of(o, "exp", &expires) < 0)
		return jwt_bad(e, "exp of the token is missing, or no time");
	if (has(o, "nbf") && time_of(o, "nbf", &from) < 0)
		return jwt_bad(e, "nbf of the token is no time");
	if ((double)d->now >= expires + JWT_LEEWAY)
		return jwt_bad(e, "the token has expired");
	if ((double)d->now + JWT_LEEWAY < from)
		return jwt_bad(e, "the token is not valid yet (nbf)");
	return 0;
}

/* A list with anything but strings in it is none. */
static bool is_for_audience(const json_t *aud, const char *audience)
{
	const json_t *item;
	bool found = false;
	size_t i;

	if (json_is_string(aud))
		return strcmp(json_string_value(aud), audience) == 0;
	json_array_foreach(aud, i, item) {
		if (!json_is_string(item))
			return false;
		found = found || strcmp(json_string_value(item),
		    audience) == 0;
	}
	return found;
}

static bool list_has_word(const char *list, const char *word, size_t len)
{
	while (*(list += strspn(list, " ")) != '\0') {
		const size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, n) == 0)
			return true;
		list += n;
	}
	return false;
}

/* scope of RFC 9068 is a text; scp of some issuers is that, or a list. */
static bool scope_has(const json_t *scope, const char *word, size_t len)
{
	const json_t *item;
	size_t i;

	if (json_is_string(scope))
		return list_has_word(json_string_value(scope), word, len);
	json_array_foreach(scope, i, item) {
		if (json_is_string(item) && json_string_length(item) == len &&
		    memcmp(json_string_value(item), word, len) == 0)
			return true;
	}
	return false;
}

static bool has_scope(const json_t *o, const char *demanded)
{
	const json_t *const scope = json_object_get(o,
	    has(o, "scope") ? "scope" : "scp");

	while (*(demanded += strspn(demanded, " ")) != '\0') {
		const size_t n = strcspn(demanded, " ");

		if (!scope_has(scope, demanded, n))
			return false;
		demanded += n;
	}
	return true;
}

static int check_claims(const json_t *o, const struct jwt_demand *d,
    struct jwt_found *found, struct err *e)
{
	const char *const name = string_of(o, d->claim);

	if (!says(o, "iss", d->issuer))
		return jwt_bad(e, "the token is of another issuer");
	if (!is_for_audience(json_object_get(o, "aud"), d->audience))
		return jwt_bad(e, "the token is for another audience");
	if (check_times(o, d, e) < 0)
		return -1;
	if (!has_scope(o, d->scope))
		return jwt_bad(e, "the token lacks a scope");
	if (name == NULL || name[0] == '\0' ||
	    !text_copy(found->name, sizeof(found->name), name))
		return jwt_bad(e, "the claim that names the user is missing, "
		    "empty, no string or too long");
	return 0;
}

int jwt_check(const char *token, const struct jwt_demand *d,
    struct jwt_found *found, struct err *e)
{
	const size_t len = strlen(token);
	struct jws t = { .header = NULL };

	if (len > JWT_TEXT_MAX)
		return jwt_bad(e, "the token is too long");
	if (cut_parts(&t, token, len, e) < 0)
		return -1;
	json_t *o = read_part(t.header, t.header_len, "header", e);
	const struct key *const k = o == NULL ? NULL :
	    choose_key(d->keys, o, e);

	json_decref(o);
	if (k == NULL)
		return -1;
	/* nothing of the payload is looked at before */
	if (!is_signed(&t, k))
		return jwt_bad(e, "the signature of the token is wrong");
	o = read_part(t.payload, t.payload_len, "payload", e);
	if (o == NULL)
		return -1;
	const int rc = check_claims(o, d, found, e);

	json_decref(o);
	return rc;
}
