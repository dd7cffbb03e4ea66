/* test_jwt.c - tokens that are signed rightly, wrongly and not at all.
 * SPDX-License-Identifier: ISC */
#include "base/jwt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define NOW 1000000
#define TEXT 8192

/* Made once: keys of three kinds, and short ones. */
static EVP_PKEY *rsa, *rsa_short, *ec, *ed, *stranger;
static char set_text[TEXT];	/* the JWK Set with rsa, ec and ed */
static struct jwks *set;

static struct jwt_demand demand = {
	.issuer = "https://issuer.example", .audience = "db",
	.scope = "openid sql", .claim = "sub", .now = NOW,
};

#define GOOD "\"iss\":\"https://issuer.example\",\"aud\":\"db\"," \
	"\"scope\":\"sql x openid\",\"sub\":\"ann\""
#define CLAIMS "{" GOOD ",\"exp\":1000100}"

/* --- making --- */

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

static void param(EVP_PKEY *k, const char *name, char *out)
{
	BIGNUM *bn = NULL;
	uint8_t bytes[1024];

	assert_int_equal(EVP_PKEY_get_bn_param(k, name, &bn), 1);
	const int n = BN_bn2bin(bn, bytes);

	encode(bytes, (size_t)n, out);
	BN_free(bn);
}

static void write_rsa(EVP_PKEY *k, const char *more, char *out)
{
	char n[2048], e[64];

	param(k, OSSL_PKEY_PARAM_RSA_N, n);
	param(k, OSSL_PKEY_PARAM_RSA_E, e);
	snprintf(out, TEXT, "{\"kty\":\"RSA\",\"n\":\"%s\",\"e\":\"%s\"%s}", n,
	    e, more);
}

static void write_ec(EVP_PKEY *k, const char *more, char *out)
{
	uint8_t point[65];
	char x[64], y[64];
	size_t n;

	assert_int_equal(EVP_PKEY_get_octet_string_param(k,
	    OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, point, sizeof point, &n), 1);
	assert_int_equal(n, 65);
	encode(point + 1, 32, x);
	encode(point + 33, 32, y);
	snprintf(out, TEXT, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\","
	    "\"y\":\"%s\"%s}", x, y, more);
}

static void write_ed(EVP_PKEY *k, const char *more, char *out)
{
	uint8_t raw[32];
	size_t n = sizeof raw;
	char x[64];

	assert_int_equal(EVP_PKEY_get_raw_public_key(k, raw, &n), 1);
	encode(raw, n, x);
	snprintf(out, TEXT, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"%s\""
	    "%s}", x, more);
}

static size_t raw_of_der(const uint8_t *der, size_t len, uint8_t *raw)
{
	const unsigned char *at = der;
	ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &at, (long)len);

	assert_non_null(s);
	BN_bn2binpad(ECDSA_SIG_get0_r(s), raw, 32);
	BN_bn2binpad(ECDSA_SIG_get0_s(s), raw + 32, 32);
	ECDSA_SIG_free(s);
	return 64;
}

static size_t sign(EVP_PKEY *k, const char *text, uint8_t *out, size_t size)
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	const bool is_ed = EVP_PKEY_is_a(k, "ED25519");
	uint8_t der[128];
	size_t len = size;

	assert_int_equal(EVP_DigestSignInit(c, NULL,
	    is_ed ? NULL : EVP_sha256(), NULL, k), 1);
	if (EVP_PKEY_is_a(k, "EC")) {
		len = sizeof der;
		assert_int_equal(EVP_DigestSign(c, der, &len,
		    (const uint8_t *)text, strlen(text)), 1);
		len = raw_of_der(der, len, out);
	} else {
		assert_int_equal(EVP_DigestSign(c, out, &len,
		    (const uint8_t *)text, strlen(text)), 1);
	}
	EVP_MD_CTX_free(c);
	return len;
}

/* Owned. k may be NULL: no signature. */
static char *token_of(EVP_PKEY *k, const char *header, const char *payload)
{
	const size_t size = 2 * (strlen(header) + strlen(payload)) + 2048;
	char *out = malloc(size);
	uint8_t signature[1024];
	size_t at = encode(header, strlen(header), out);

	out[at++] = '.';
	at += encode(payload, strlen(payload), out + at);
	out[at] = '\0';
	const size_t n = k == NULL ? 0 : sign(k, out, signature,
	    sizeof signature);

	out[at++] = '.';
	encode(signature, n, out + at);
	return out;
}

static EVP_PKEY *kind(const char *name, unsigned bits)
{
	EVP_PKEY *const k = bits > 0 ? EVP_PKEY_Q_keygen(NULL, NULL, name,
	    (size_t)bits) : strcmp(name, "EC") == 0 ?
	    EVP_PKEY_Q_keygen(NULL, NULL, name, "P-256") :
	    EVP_PKEY_Q_keygen(NULL, NULL, name);

	assert_non_null(k);
	return k;
}

static int make(void **state)
{
	char a[TEXT], b[TEXT], c[TEXT];
	struct err e;

	(void)state;
	rsa = kind("RSA", 2048);
	rsa_short = kind("RSA", 1024);
	stranger = kind("RSA", 2048);
	ec = kind("EC", 0);
	ed = kind("ED25519", 0);
	write_rsa(rsa, ",\"kid\":\"r\",\"use\":\"sig\",\"alg\":\"RS256\"", a);
	write_ec(ec, ",\"kid\":\"e\",\"key_ops\":[\"verify\"]", b);
	write_ed(ed, ",\"kid\":\"d\",\"x\\u0079z\":1", c);
	assert_true(snprintf(set_text, sizeof set_text, "{\"keys\":[%s,%s,%s]}",
	    a, b, c) < (int)sizeof set_text);
	set = jwks_parse(set_text, strlen(set_text), &e);
	assert_non_null(set);
	demand.keys = set;
	return 0;
}

static int drop(void **state)
{
	EVP_PKEY *const all[] = { rsa, rsa_short, stranger, ec, ed };

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		EVP_PKEY_free(all[i]);
	jwks_unref(&set);
	return 0;
}

/* NULL: it was accepted; else why not. */
static const char *check(const char *token)
{
	static struct err e;
	struct jwt_found found;
	char *copy = malloc(strlen(token) + 1);	/* no byte behind it */

	memcpy(copy, token, strlen(token) + 1);
	memset(&e, 0, sizeof e);
	const int rc = jwt_check(copy, &demand, &found, &e);

	free(copy);
	if (rc == 0) {
		assert_string_equal(found.name, "ann");
		return NULL;
	}
	assert_int_equal(rc, -1);
	assert_true(e.text[0] != '\0');
	return e.text;
}

static const char *check_signed(EVP_PKEY *k, const char *header,
    const char *payload)
{
	char *t = token_of(k, header, payload);
	const char *const why = check(t);

	free(t);
	return why;
}

static void assert_why(const char *why, const char *part, const char *input)
{
	if (part == NULL && why != NULL)
		fail_msg("refused (%s): %s", why, input);
	if (part != NULL && (why == NULL || strstr(why, part) == NULL))
		fail_msg("%s, not %s: %s", why == NULL ? "accepted" : why, part,
		    input);
}

/* --- tests --- */

static void test_each_algorithm_is_verified_by_its_key(void **state)
{
	(void)state;
	assert_null(check_signed(rsa, "{\"alg\":\"RS256\",\"kid\":\"r\"}",
	    CLAIMS));
	assert_null(check_signed(ec, "{\"alg\":\"ES256\",\"kid\":\"e\"}",
	    CLAIMS));
	assert_null(check_signed(ed, "{\"alg\":\"EdDSA\",\"kid\":\"d\"}",
	    CLAIMS));
}

static void test_header_must_name_a_key_and_its_algorithm(void **state)
{
	static const char algorithm[] = "RS256, ES256 or EdDSA",
	    other[] = "another algorithm", object[] = "header of the token";
	static const struct {
		const char *header, *why;
	} rows[] = {
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"JWT\"}", NULL },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"AT+jwt\"}",
		    NULL },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"jku\":\"https://evil\"}",
		    NULL },
		{ "{\"alg\":\"none\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"None\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"HS256\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"PS256\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"RS512\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"rs256\",\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":[\"RS256\"],\"kid\":\"r\"}", algorithm },
		{ "{\"kid\":\"r\"}", algorithm },
		{ "{\"alg\":\"ES256\",\"kid\":\"r\"}", other },
		{ "{\"alg\":\"RS256\",\"kid\":\"e\"}", other },
		{ "{\"alg\":\"EdDSA\",\"kid\":\"e\"}", other },
		{ "{\"alg\":\"RS256\"}", "no kid" },
		{ "{\"alg\":\"RS256\",\"kid\":1}", "no kid" },
		{ "{\"alg\":\"RS256\",\"kid\":\"\"}", "no usable key" },
		{ "{\"alg\":\"RS256\",\"kid\":\"R\"}", "no usable key" },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\\u0000\"}", object },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"kid\":\"r\"}", object },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"crit\":[]}", "critical" },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":\"dpop+jwt\"}",
		    "neither JWT" },
		{ "{\"alg\":\"RS256\",\"kid\":\"r\",\"typ\":1}",
		    "neither JWT" },
		{ "[\"RS256\"]", object },
		{ "\"RS256\"", object },
		{ "", object },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_why(check_signed(rsa, rows[i].header, CLAIMS),
		    rows[i].why, rows[i].header);
}

static void test_claims_must_be_as_demanded(void **state)
{
	static const char issuer[] = "another issuer",
	    audience[] = "another audience", scope[] = "lacks a scope",
	    user[] = "names the user", object[] = "payload of the token",
	    exp[] = "exp of the token", nbf[] = "nbf of the token";
#define ISS "\"iss\":\"https://issuer.example\","
#define AUD "\"aud\":\"db\","
#define EXP ",\"exp\":1000100}"
#define SCOPE "\"scope\":\"openid sql\","
	static const struct {
		const char *claims, *why;
	} rows[] = {
		{ CLAIMS, NULL },
		/* iss */
		{ "{" AUD SCOPE "\"sub\":\"ann\"" EXP, issuer },
		{ "{\"iss\":\"https://issuer.example/\"," AUD SCOPE
		    "\"sub\":\"ann\"" EXP, issuer },
		{ "{\"iss\":[\"https://issuer.example\"]," AUD SCOPE
		    "\"sub\":\"ann\"" EXP, issuer },
		/* aud */
		{ "{" ISS "\"aud\":[\"x\",\"db\"]," SCOPE "\"sub\":\"ann\"" EXP,
		    NULL },
		{ "{" ISS "\"aud\":[\"db\",1]," SCOPE "\"sub\":\"ann\"" EXP,
		    audience },
		{ "{" ISS "\"aud\":[[\"db\"]]," SCOPE "\"sub\":\"ann\"" EXP,
		    audience },
		{ "{" ISS "\"aud\":[]," SCOPE "\"sub\":\"ann\"" EXP, audience },
		{ "{" ISS "\"aud\":{\"db\":\"db\"}," SCOPE "\"sub\":\"ann\"" EXP,
		    audience },
		{ "{" ISS "\"aud\":\"db2\"," SCOPE "\"sub\":\"ann\"" EXP,
		    audience },
		{ "{" ISS SCOPE "\"sub\":\"ann\"" EXP, audience },
		/* exp, with 30 s for clocks that differ */
		{ "{" GOOD ",\"exp\":999971}", NULL },
		{ "{" GOOD ",\"exp\":999970}", "expired" },
		{ "{" GOOD ",\"exp\":999970.5}", NULL },
		{ "{" GOOD ",\"exp\":1e7}", NULL },
		{ "{" GOOD ",\"exp\":0}", "expired" },
		{ "{" GOOD "}", exp },
		{ "{" GOOD ",\"exp\":null}", exp },
		{ "{" GOOD ",\"exp\":\"1000100\"}", exp },
		{ "{" GOOD ",\"exp\":-1}", exp },
		{ "{" GOOD ",\"exp\":-1e300}", exp },
		{ "{" GOOD ",\"exp\":1e300}", exp },
		{ "{" GOOD ",\"exp\":9223372036854775807}", exp },
		{ "{" GOOD ",\"exp\":1e999}", object },
		{ "{" GOOD ",\"exp\":9223372036854775808}", object },
		{ "{" GOOD ",\"exp\":1,\"exp\":1000100}", object },
		/* nbf */
		{ "{" GOOD ",\"nbf\":1000030" EXP, NULL },
		{ "{" GOOD ",\"nbf\":1000031" EXP, "not valid yet" },
		{ "{" GOOD ",\"nbf\":\"0\"" EXP, nbf },
		{ "{" GOOD ",\"nbf\":null" EXP, nbf },
		/* scope, scp */
		{ "{" ISS AUD "\"sub\":\"ann\"" EXP, scope },
		{ "{" ISS AUD "\"scope\":\"openid\",\"sub\":\"ann\"" EXP,
		    scope },
		{ "{" ISS AUD "\"scope\":\"openid sqlx\",\"sub\":\"ann\"" EXP,
		    scope },
		{ "{" ISS AUD "\"scp\":[\"sql\",\"openid\"],\"sub\":\"ann\"" EXP,
		    NULL },
		{ "{" ISS AUD "\"scp\":\"sql openid\",\"sub\":\"ann\"" EXP,
		    NULL },
		{ "{" ISS AUD "\"scp\":[\"sql openid\"],\"sub\":\"ann\"" EXP,
		    scope },
		{ "{" ISS AUD "\"scope\":\"x\",\"scp\":\"sql openid\","
		    "\"sub\":\"ann\"" EXP, scope },
		{ "{" ISS AUD "\"scope\":[1,null],\"sub\":\"ann\"" EXP, scope },
		/* the user */
		{ "{" ISS AUD SCOPE "\"name\":\"ann\"" EXP, user },
		{ "{" ISS AUD SCOPE "\"sub\":\"\"" EXP, user },
		{ "{" ISS AUD SCOPE "\"sub\":7" EXP, user },
		{ "{" ISS AUD SCOPE "\"sub\":[\"ann\"]" EXP, user },
		{ "{" ISS AUD SCOPE "\"sub\":null" EXP, user },
		{ "{" ISS AUD SCOPE "\"sub\":\"ann\\u0000x\"" EXP, object },
		{ "{" ISS AUD SCOPE "\"sub\":\"ann\\ud800\"" EXP, object },
		{ "{" ISS AUD SCOPE "\"sub\":\"ann\xff\"" EXP, object },
		{ "{" ISS AUD SCOPE "\"sub\":\"bob\",\"sub\":\"ann\"" EXP,
		    object },
		/* JSON */
		{ CLAIMS " x", object },
		{ "", object },
		{ "null", object },
		{ "{" GOOD ",\"x\":[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]" EXP, NULL },
		{ "{" GOOD ",\"x\":[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]" EXP,
		    object },
		{ "{" GOOD ",\"x\":\"[[[[[[[[[[[[[[[[[[[[\\\"[[\"" EXP, NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_why(check_signed(ed, "{\"alg\":\"EdDSA\",\"kid\":\"d\"}",
		    rows[i].claims), rows[i].why, rows[i].claims);
}

static void test_a_name_that_is_too_long_is_refused(void **state)
{
	char claims[2048];
	char name[JWT_NAME_MAX + 1];

	(void)state;
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	snprintf(claims, sizeof claims, "{" ISS AUD SCOPE "\"sub\":\"%s\"" EXP,
	    name);
	assert_why(check_signed(ed, "{\"alg\":\"EdDSA\",\"kid\":\"d\"}", claims),
	    "too long", claims);
}

static void test_another_key_or_text_makes_the_signature_wrong(void **state)
{
	static const char header[] = "{\"alg\":\"RS256\",\"kid\":\"r\"}";
	char *good = token_of(rsa, header, CLAIMS);
	char *other = token_of(rsa, header, "{\"sub\":\"root\"}");
	char mixed[4096];

	(void)state;
	assert_why(check_signed(stranger, header, CLAIMS), "signature", header);
	assert_why(check_signed(ed, header, CLAIMS), "signature", header);
	assert_why(check_signed(NULL, header, CLAIMS), "signature", header);
	/* the payload of one with the signature of another */
	snprintf(mixed, sizeof mixed, "%.*s%s",
	    (int)(strrchr(other, '.') - other), other, strrchr(good, '.'));
	assert_why(check(mixed), "signature", mixed);
	free(good);
	free(other);
}

/* The public key is known to all: as the secret of an HMAC it proves nothing. */
static void test_hmac_by_the_public_key_is_refused(void **state)
{
	static const char header[] = "{\"alg\":\"HS256\",\"kid\":\"r\"}";
	char *t = token_of(NULL, header, CLAIMS);
	char forged[4096];
	uint8_t mac[SHA256_BYTES];
	char text[64];

	(void)state;
	t[strlen(t) - 1] = '\0';
	assert_int_equal(crypto_hmac_sha256(set_text, strlen(set_text), t,
	    strlen(t), mac), 0);
	encode(mac, sizeof mac, text);
	snprintf(forged, sizeof forged, "%s.%s", t, text);
	assert_why(check(forged), "RS256, ES256 or EdDSA", forged);
	free(t);
}

/* Each byte that is changed, and each end that is cut off. */
static void test_every_change_of_a_token_is_noticed(void **state)
{
	static const char *const headers[] = {
		"{\"alg\":\"EdDSA\",\"kid\":\"d\"}",
		"{\"alg\":\"ES256\",\"kid\":\"e\"}",
	};

	(void)state;
	for (size_t n = 0; n < COUNT(headers); n++) {
		char *t = token_of(n == 0 ? ed : ec, headers[n], CLAIMS);
		const size_t len = strlen(t);

		for (size_t i = 0; i < len; i++) {
			const char was = t[i];

			t[i] = was == 'A' ? 'B' : 'A';
			assert_non_null(check(t));
			t[i] = '\0';
			assert_non_null(check(t));
			t[i] = was;
		}
		assert_null(check(t));
		free(t);
	}
}

static void test_what_is_no_token_is_refused(void **state)
{
	static const char parts[] = "three parts";
	static const struct {
		const char *token, *why;
	} rows[] = {
		{ "", parts }, { ".", parts }, { "a", parts },
		{ "a.b", parts }, { "a.b.c.d", parts }, { "a.b.c.d.e", parts },
		{ "..", "header" }, { "a.b.c", "header" }, { "e30.e30.e30",
		    "RS256" },
		{ "e30=.e30.e30", "header" }, { "e3+.e30.e30", "header" },
		{ "e31.e30.e30", "header" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_why(check(rows[i].token), rows[i].why,
		    rows[i].token);
	char *huge = malloc(JWT_TEXT_MAX + 2);

	memset(huge, 'A', JWT_TEXT_MAX + 1);
	huge[JWT_TEXT_MAX + 1] = '\0';
	assert_why(check(huge), "too long", "AAA...");
	huge[JWT_TEXT_MAX] = '\0';
	assert_why(check(huge), parts, "AAA...");
	free(huge);
}

/* --- sets --- */

static void assert_set(const char *text, size_t keys, const char *why)
{
	struct err e = { .text = "" };
	struct jwks *k = jwks_parse(text, strlen(text), &e);

	if (why == NULL) {
		if (k == NULL)
			fail_msg("%s: %s", e.text, text);
		assert_int_equal(jwks_count(k), keys);
	} else {
		if (k != NULL)
			fail_msg("accepted: %s", text);
		assert_why(e.text, why, text);
	}
	jwks_unref(&k);
}

static void test_keys_that_are_not_usable_are_left_out(void **state)
{
	static const struct {
		void (*write)(EVP_PKEY *k, const char *more, char *out);
		EVP_PKEY **key;
		const char *more;
	} rows[] = {
		{ write_rsa, &rsa, "" },
		{ write_rsa, &rsa, ",\"kid\":\"\"" },
		{ write_rsa, &rsa, ",\"kid\":7" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"use\":\"enc\"" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"use\":1" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"alg\":\"RS512\"" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"alg\":\"HS256\"" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"alg\":\"ES256\"" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"key_ops\":[\"sign\"]" },
		{ write_rsa, &rsa, ",\"kid\":\"k\",\"key_ops\":\"verify\"" },
		{ write_rsa, &rsa_short, ",\"kid\":\"k\"" },
		{ write_ec, &ec, ",\"kid\":\"k\",\"alg\":\"RS256\"" },
		{ write_ed, &ed, ",\"kid\":\"k\",\"alg\":\"ES256\"" },
	};
	char key[TEXT], text[TEXT + 64];

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		rows[i].write(*rows[i].key, rows[i].more, key);
		snprintf(text, sizeof text, "{\"keys\":[%s]}", key);
		assert_set(text, 0, "no usable key");
	}
	static const char *const broken[] = {
		"{}", "7", "null", "[]",
		"{\"kty\":\"RSA\",\"kid\":\"k\"}",
		"{\"kty\":\"RSA\",\"kid\":\"k\",\"n\":\"!\",\"e\":\"AQAB\"}",
		"{\"kty\":\"RSA\",\"kid\":\"k\",\"n\":\"\",\"e\":\"\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k\",\"x\":\"AA\","
		    "\"y\":\"AA\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"k\","
		    "\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
		    "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
		"{\"kty\":\"EC\",\"crv\":\"P-384\",\"kid\":\"k\"}",
		"{\"kty\":\"OKP\",\"crv\":\"X25519\",\"kid\":\"k\",\"x\":"
		    "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}",
		"{\"kty\":\"oct\",\"kid\":\"k\"}",
	};
	for (size_t i = 0; i < COUNT(broken); i++) {
		snprintf(text, sizeof text, "{\"keys\":[%s]}", broken[i]);
		assert_set(text, 0, "no usable key");
	}
}

static void test_an_exponent_of_one_makes_no_key(void **state)
{
	char n[2048], text[TEXT];

	(void)state;
	param(rsa, OSSL_PKEY_PARAM_RSA_N, n);
	snprintf(text, sizeof text, "{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"k\","
	    "\"n\":\"%s\",\"e\":\"AQ\"}]}", n);
	assert_set(text, 0, "no usable key");
}

static void test_sets_that_are_wrong_are_refused(void **state)
{
	char one[TEXT], other[TEXT], text[2 * TEXT + 64];

	(void)state;
	write_ed(ed, ",\"kid\":\"k\"", one);
	write_ec(ec, ",\"kid\":\"k\"", other);
	snprintf(text, sizeof text, "{\"keys\":[%s,%s]}", one, other);
	assert_set(text, 0, "same kid");
	write_ec(ec, ",\"kid\":\"l\"", other);
	snprintf(text, sizeof text, "{\"keys\":[%s,%s]}", one, other);
	assert_set(text, 2, NULL);
	write_ec(ec, ",\"kid\":\"l\",\"d\":\"AA\"", other);
	snprintf(text, sizeof text, "{\"keys\":[%s,%s]}", one, other);
	assert_set(text, 0, "private key");
	assert_set("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AA\"}]}", 0,
	    "private key");
	assert_set("{\"keys\":[]}", 0, "no usable key");
	assert_set("{\"keys\":{}}", 0, "no JWK Set");
	assert_set("{}", 0, "no JWK Set");
	assert_set("[]", 0, "no JSON object");
	assert_set("", 0, "no JSON object");
	assert_set("{\"keys\":[],\"keys\":[]}", 0, "no JSON object");
}

static void test_a_set_that_is_too_large_is_refused(void **state)
{
	char *text = malloc(JWKS_MAX + 2);
	struct text t;

	(void)state;
	text_init(&t, text, JWKS_MAX);
	text_add(&t, "{\"keys\":[{}");
	for (int i = 0; i < JWKS_KEYS_MAX - 1; i++)
		text_add(&t, ",{}");
	text_add(&t, "]}");
	assert_set(text, 0, "no usable key");
	text_init(&t, text + t.len - 2, 16);
	text_add(&t, ",{}]}");
	assert_set(text, 0, "too many keys");
	memset(text, ' ', JWKS_MAX + 1);
	text[JWKS_MAX + 1] = '\0';
	assert_set(text, 0, "1 MB");
	free(text);
}

/* --- the file --- */

static void put_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_file(struct jwks_file *f, size_t keys, const char *why)
{
	struct err e = { .text = "" };
	struct jwks *k = jwks_file_get(f, (int64_t)time(NULL), &e);

	assert_why(k == NULL ? e.text : NULL, why, jwks_file_path(f));
	if (k != NULL)
		assert_int_equal(jwks_count(k), keys);
	jwks_unref(&k);
}

static void test_file_is_read_again_when_it_changes(void **state)
{
	char path[] = "/tmp/test_jwt.XXXXXX", one[TEXT], text[TEXT + 64];
	const int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	struct jwks_file *f = jwks_file_new(path);

	assert_file(f, 0, "no JSON object");
	put_text(path, set_text);
	assert_file(f, 3, NULL);
	write_ed(ed, ",\"kid\":\"k\"", one);
	snprintf(text, sizeof text, "{\"keys\":[%s]}", one);
	put_text(path, text);
	assert_file(f, 1, NULL);
	/* keys that were there before do not count any more */
	put_text(path, "{\"keys\":[]}");
	assert_file(f, 0, "no usable key");
	assert_int_equal(unlink(path), 0);
	assert_file(f, 0, "No such file");
	put_text(path, set_text);
	assert_file(f, 3, NULL);
	unlink(path);
	jwks_file_unref(&f);
}

/* What is unchanged is not read: the same set is given out. */
static void test_file_that_is_old_is_read_once(void **state)
{
	char path[] = "/tmp/test_jwt.XXXXXX";
	const int fd = mkstemp(path);
	struct err e;

	(void)state;
	close(fd);
	put_text(path, set_text);
	struct jwks_file *f = jwks_file_new(path);
	struct jwks *a = jwks_file_get(f, (int64_t)time(NULL) + 100, &e);
	struct jwks *b = jwks_file_get(f, (int64_t)time(NULL) + 100, &e);

	assert_non_null(a);
	assert_ptr_equal(a, b);
	jwks_unref(&a);
	jwks_unref(&b);
	unlink(path);
	jwks_file_unref(&f);
}

/* One that came in the same moment as what was read left no trace. */
static void test_file_that_was_read_too_early_is_read_again(void **state)
{
	char path[] = "/tmp/test_jwt.XXXXXX";
	const int fd = mkstemp(path);
	struct stat st;
	struct err e;

	(void)state;
	close(fd);
	put_text(path, set_text);
	assert_int_equal(stat(path, &st), 0);
	struct jwks_file *f = jwks_file_new(path);
	struct jwks *sets[4];

	for (int i = 0; i < 4; i++) {
		sets[i] = jwks_file_get(f, (int64_t)st.st_ctim.tv_sec +
		    (i < 2 ? i : 100), &e);
		assert_non_null(sets[i]);
	}
	assert_ptr_not_equal(sets[0], sets[1]);
	assert_ptr_not_equal(sets[1], sets[2]);
	assert_ptr_equal(sets[2], sets[3]);
	for (int i = 0; i < 4; i++)
		jwks_unref(&sets[i]);
	unlink(path);
	jwks_file_unref(&f);
}

static void test_each_failing_allocation_refuses_the_token(void **state)
{
	char *t = token_of(ed, "{\"alg\":\"EdDSA\",\"kid\":\"d\"}", CLAIMS);
	unsigned long n = 1;
	bool done = false;

	(void)state;
	for (; !done && n < 1000; n++) {
		struct err e;
		struct jwt_found found;

		mem_fail_at(n);
		struct jwks *k = jwks_parse(set_text, strlen(set_text), &e);
		struct jwt_demand d = demand;

		d.keys = k;
		done = k != NULL && jwks_count(k) == 3 &&
		    jwt_check(t, &d, &found, &e) == 0;
		mem_fail_at(0);
		jwks_unref(&k);
	}
	assert_true(done && n > 2);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_algorithm_is_verified_by_its_key),
		cmocka_unit_test(test_header_must_name_a_key_and_its_algorithm),
		cmocka_unit_test(test_claims_must_be_as_demanded),
		cmocka_unit_test(test_a_name_that_is_too_long_is_refused),
		cmocka_unit_test(
		    test_another_key_or_text_makes_the_signature_wrong),
		cmocka_unit_test(test_hmac_by_the_public_key_is_refused),
		cmocka_unit_test(test_every_change_of_a_token_is_noticed),
		cmocka_unit_test(test_what_is_no_token_is_refused),
		cmocka_unit_test(test_keys_that_are_not_usable_are_left_out),
		cmocka_unit_test(test_an_exponent_of_one_makes_no_key),
		cmocka_unit_test(test_sets_that_are_wrong_are_refused),
		cmocka_unit_test(test_a_set_that_is_too_large_is_refused),
		cmocka_unit_test(test_file_is_read_again_when_it_changes),
		cmocka_unit_test(test_file_that_is_old_is_read_once),
		cmocka_unit_test(
		    test_file_that_was_read_too_early_is_read_again),
		cmocka_unit_test(
		    test_each_failing_allocation_refuses_the_token),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
