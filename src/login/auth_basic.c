/* auth_basic.c - methods without an exchange, and those with a password.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "login/auth_parts.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/password.h"
#include "proto/scram.h"

#define MD5_SALT 4

static const char wrong_password[] = "password authentication failed";

/* --- decided at once --- */

static enum auth_result accept(struct auth *a, struct writer *out)
{
	(void)a;
	(void)out;
	return AUTH_OK;
}

static enum auth_result begin_trust(struct auth *a, struct writer *out)
{
	(void)out;
	if (a->request.credentials != NULL)
		return AUTH_OK;
	return auth_refuse(a, "\"trust\" authentication failed", "");
}

/* What a rule says, or that there is none. */
static enum auth_result refuse(struct auth *a, struct writer *out)
{
	static const char *const texts[] = {
		[AUTH_HBA] = "no authentication method is found",
		[AUTH_REJECT] = "login rejected",
	};

	(void)out;
	return auth_refuse(a, texts[a->request.type], "");
}

/* --- what the password methods share --- */

const char *auth_read_password(struct auth *a, const uint8_t *body,
    size_t len)
{
	struct reader r;

	reader_init(&r, body, len);
	const char *password = reader_str(&r);

	if (password == NULL || reader_left(&r) > 0) {
		auth_deny(a, wrong_password, "malformed password message");
		return NULL;
	}
	if (password[0] == '\0') {
		auth_deny(a, "empty password returned by client", "");
		return NULL;
	}
	return password;
}

static enum secret_kind kind_of(const struct auth_request *rq)
{
	return rq->credentials != NULL ? rq->credentials->kind : SECRET_NONE;
}

/* What was typed is not what is stored. */
static enum auth_result wrong(struct auth *a)
{
	return auth_deny(a, wrong_password,
	    kind_of(&a->request) == SECRET_UNUSABLE ? AUTH_UNUSABLE : "");
}

/* --- plain --- */

enum auth_result auth_ask_password(struct writer *out)
{
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_CLEARTEXT);
	writer_end(out);
	return AUTH_MORE;
}

static enum auth_result begin_plain(struct auth *a, struct writer *out)
{
	(void)a;
	return auth_ask_password(out);
}

static bool matches_md5(const struct auth_request *rq, const char *password)
{
	char secret[MD5_SECRET_LEN + 1];
	const bool same = md5_secret(password, rq->user, secret) == 0 &&
	    crypto_equal_str(rq->credentials->secret, secret);

	secret_wipe(secret, sizeof secret);
	return same;
}

/* Whether it matches is known when the keys of the password are. */
struct typed {
	uint8_t server_key[SHA256_BYTES];	/* what it must have */
	bool real;		/* false: it is compared to take its time */
};

static enum auth_result compare(struct auth *a, struct writer *out)
{
	const struct typed *t = a->state;

	(void)out;
	if (!a->derive.ok)
		return auth_deny_memory(a);
	if (crypto_equal(a->derive.keys.server_key, t->server_key,
	    sizeof t->server_key) && t->real)
		return AUTH_OK;
	return wrong(a);
}

static enum auth_result compare_keys(struct auth *a, const char *password,
    const struct scram_verifier *v)
{
	const struct scram_salt salt = { v->salt, v->salt_len,
	    v->iterations };
	struct typed *t = secmem_zalloc(sizeof *t);

	a->state = t;
	if (t == NULL)
		return auth_deny_memory(a);
	memcpy(t->server_key, v->server_key, sizeof t->server_key);
	t->real = kind_of(&a->request) == SECRET_SCRAM;
	switch (derive_typed(a->request.offload, password, &salt,
	    &a->derive)) {
	case DERIVE_READY:
		return compare(a, NULL);
	case DERIVE_FULL:
		return auth_deny_busy(a, "too many passwords wait to be "
		    "derived");
	case DERIVE_WAIT:
		break;
	}
	return AUTH_WAIT;
}

static enum auth_result compare_scram(struct auth *a, const char *password)
{
	const struct scram_verifier *v = credentials_verifier(
	    a->request.credentials, a->request.scram_iterations);

	return v == NULL ? auth_deny_memory(a) :
	    compare_keys(a, password, v);
}

/*
 * A refusal costs one derivation, whatever is stored: its time does not tell
 * users who exist from those who don't.
 */
static enum auth_result refuse_slowly(struct auth *a, const char *password)
{
	const struct auth_request *rq = &a->request;
	struct scram_verifier *v = mem_alloc(sizeof *v);
	enum auth_result r;

	if (v != NULL && auth_mock_verifier(rq, v) == 0)
		r = compare_keys(a, password, v);
	else
		r = auth_deny_memory(a);
	mem_free(v);
	return r;
}

/* spec/authentication.md section 3.1 */
static bool matches(const struct auth_request *rq, const char *password)
{
	switch (kind_of(rq)) {
	case SECRET_PLAIN:
		return crypto_equal_str(rq->credentials->secret, password);
	case SECRET_MD5:
		return matches_md5(rq, password);
	case SECRET_SCRAM:
	case SECRET_NONE:
	case SECRET_UNUSABLE:
		break;
	}
	return false;
}

static enum auth_result step_plain(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const char *password = auth_read_password(a, body, len);

	(void)out;
	if (password == NULL)
		return AUTH_DENY;
	if (kind_of(&a->request) == SECRET_SCRAM)
		return compare_scram(a, password);
	return matches(&a->request, password) ? AUTH_OK :
	    refuse_slowly(a, password);
}

static void end_plain(struct auth *a)
{
	secmem_free(a->state);
	a->state = NULL;
}

static enum auth_result again_plain(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	end_plain(a);
	return step_plain(a, body, len, out);
}

/* --- md5 --- */

static enum auth_result begin_md5(struct auth *a, struct writer *out)
{
	uint8_t *salt = mem_alloc(MD5_SALT);

	a->state = salt;
	if (salt == NULL)
		return auth_deny_memory(a);
	crypto_random(salt, MD5_SALT);
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_MD5);
	writer_bytes(out, salt, MD5_SALT);
	writer_end(out);
	return AUTH_MORE;
}

/*
 * What a client that knows the secret answers. Users without one get an answer
 * too, at the same cost, which step_md5() does not accept.
 */
static int expected_md5(const struct auth_request *rq,
    const uint8_t salt[MD5_SALT], char out[MD5_SECRET_LEN + 1])
{
	char secret[MD5_SECRET_LEN + 1];
	int rc;

	out[0] = '\0';
	if (kind_of(rq) == SECRET_MD5)
		return md5_response(rq->credentials->secret, salt, out);
	rc = md5_secret(kind_of(rq) == SECRET_PLAIN ?
	    rq->credentials->secret : "", rq->user, secret);
	if (rc == 0)
		rc = md5_response(secret, salt, out);
	secret_wipe(secret, sizeof secret);
	return rc;
}

static enum auth_result step_md5(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const enum secret_kind kind = kind_of(&a->request);
	const char *reply = auth_read_password(a, body, len);
	char expected[MD5_SECRET_LEN + 1];

	(void)out;
	if (reply == NULL)
		return AUTH_DENY;
	const bool same =
	    expected_md5(&a->request, a->state, expected) == 0 &&
	    crypto_equal_str(expected, reply);

	secret_wipe(expected, sizeof expected);
	if (same && (kind == SECRET_PLAIN || kind == SECRET_MD5))
		return AUTH_OK;
	return wrong(a);
}

static void end_md5(struct auth *a)
{
	mem_free(a->state);
	a->state = NULL;
}

/* --- the table --- */

const struct auth_method *auth_basic(enum auth_type type)
{
	static const struct auth_method methods[] = {
		[AUTH_ANY] = { .begin = accept },
		[AUTH_TRUST] = { .begin = begin_trust },
		[AUTH_PLAIN] = { .begin = begin_plain, .step = step_plain,
		    .resume = compare, .end = end_plain,
		    .again = again_plain },
		[AUTH_MD5] = { .begin = begin_md5, .step = step_md5,
		    .end = end_md5, .again = step_md5 },
		[AUTH_HBA] = { .begin = refuse },
		[AUTH_REJECT] = { .begin = refuse },
	};
	const size_t i = (size_t)type;

	if (i >= sizeof methods / sizeof *methods || methods[i].begin == NULL)
		return NULL;
	return &methods[i];
}
