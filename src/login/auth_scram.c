/* auth_scram.c - a client proves by SCRAM-SHA-256 that it knows a secret.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "login/auth_parts.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/scram.h"

static const char failed[] = "SASL authentication failed";

struct exchange {
	struct scram_server scram;
	bool real;	/* false: whatever the proof, the answer is no */
	char *first;	/* owned: client-first, which waits for a verifier */
	size_t first_len;
};

static enum auth_result auth_scram_begin(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	struct exchange *x = secmem_zalloc(sizeof *x);

	a->state = x;
	if (x == NULL)
		return auth_deny_memory(a);
	if (rq->must_bind && rq->binding.len == 0)
		return auth_deny(a, failed, "channel binding is required, "
		    "but not possible without TLS and a suitable certificate");
	x->scram.binding = rq->binding;
	x->scram.random = rq->random;
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_SASL);
	if (rq->binding.len > 0)
		writer_str(out, SCRAM_MECHANISM_PLUS);
	if (!rq->must_bind)
		writer_str(out, SCRAM_MECHANISM);
	writer_u8(out, 0);	/* ends the list */
	writer_end(out);
	return AUTH_MORE;
}

static enum auth_result auth_scram_deny(struct auth *a, const struct err *why)
{
	if (err_is_nomem(why))
		return auth_deny_memory(a);
	return auth_deny(a, failed, why->text);
}

static void write_sasl(struct writer *out, uint32_t code, const char *data)
{
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, code);
	writer_bytes(out, data, strlen(data));
	writer_end(out);
}

/* Can c prove anything by SCRAM? An empty secret and an md5 one never do. */
static bool is_usable(const struct credentials *c)
{
	return c != NULL &&
	    (c->kind == SECRET_PLAIN || c->kind == SECRET_SCRAM);
}

static enum auth_result challenge(struct auth *a,
    const struct scram_verifier *v, struct writer *out)
{
	struct exchange *x = a->state;
	char *answer;
	struct err e;

	if (scram_server_first(&x->scram, v, x->first, x->first_len, &answer,
	    &e) < 0)
		return auth_scram_deny(a, &e);
	write_sasl(out, MSG_AUTH_SASL_CONTINUE, answer);
	mem_free(answer);
	return AUTH_MORE;
}

/* By the verifier that is there by now. */
static enum auth_result challenge_real(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	const struct scram_verifier *v = !a->derive.ok ? NULL :
	    credentials_verifier(rq->credentials, rq->scram_iterations);

	return v == NULL ? auth_deny_memory(a) : challenge(a, v, out);
}

/* By one that no proof can match; made in the time that a real one takes. */
static enum auth_result challenge_mock(struct auth *a, struct writer *out)
{
	struct scram_verifier v;

	return auth_mock_verifier(&a->request, &v) == 0 ?
	    challenge(a, &v, out) : auth_deny_memory(a);
}

/*
 * PostgreSQL docs, Message Formats, SASLInitialResponse. The length comes from
 * the client: it must be what is left of the body, to the byte.
 * Returns 0, r at the data then; or -1, a denied.
 */
static int read_initial(struct auth *a, struct reader *r)
{
	const struct auth_request *rq = &a->request;
	struct exchange *x = a->state;
	const char *mechanism = reader_str(r);

	x->scram.plus = mechanism != NULL && rq->binding.len > 0 &&
	    strcmp(mechanism, SCRAM_MECHANISM_PLUS) == 0;
	if (mechanism != NULL && !x->scram.plus &&
	    (rq->must_bind || strcmp(mechanism, SCRAM_MECHANISM) != 0)) {
		auth_deny_violation(a, "client selected an invalid SASL "
		    "authentication mechanism");
		return -1;
	}
	const uint32_t said = reader_u32(r);

	if (!r->failed && said == reader_left(r))
		return 0;
	auth_deny(a, failed, "malformed SASLInitialResponse");
	return -1;
}

/* Wait until the verifier is derived from a plain secret, if it must be. */
static enum auth_result find_verifier(struct auth *a, struct writer *out)
{
	uint8_t bytes[SCRAM_SALT_BYTES];
	const struct scram_salt salt = { bytes, sizeof bytes,
	    a->request.scram_iterations };

	if (auth_own_salt(&a->request, bytes) != 0)
		return auth_deny_memory(a);
	switch (derive_verifier(a->request.offload, a->request.credentials,
	    &salt, &a->derive)) {
	case DERIVE_READY:
		return challenge_real(a, out);
	case DERIVE_FULL:
		return auth_deny_busy(a, "too many passwords wait to be "
		    "derived");
	case DERIVE_WAIT:
		break;
	}
	return AUTH_WAIT;
}

static enum auth_result step_first(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	struct exchange *x = a->state;
	struct reader r;

	reader_init(&r, body, len);
	if (read_initial(a, &r) < 0)
		return AUTH_DENY;
	x->first_len = reader_left(&r);
	x->first = mem_dup(r.at, x->first_len);
	if (x->first == NULL)
		return auth_deny_memory(a);
	x->real = is_usable(a->request.credentials);
	return x->real ? find_verifier(a, out) : challenge_mock(a, out);
}

static enum auth_result step_final(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	struct exchange *x = a->state;
	struct credentials *c = a->request.credentials;
	char *answer = NULL;
	struct err e;
	const int rc = scram_server_final(&x->scram, (const char *)body, len,
	    &answer, &e);

	if (rc == 0 && x->real) {
		write_sasl(out, MSG_AUTH_SASL_FINAL, answer);
		mem_free(answer);
		/* spec/authentication.md section 3.3 */
		if (c->kind == SECRET_SCRAM)
			credentials_learn(c, x->scram.client_key);
		return AUTH_OK;
	}
	mem_free(answer);
	if (rc < 0 && strcmp(e.code, ERRCODE_INVALID_PASSWORD) != 0)
		return auth_scram_deny(a, &e);
	if (c != NULL && c->kind == SECRET_UNUSABLE)
		return auth_deny(a, failed, AUTH_UNUSABLE);
	/* spec/logging.md section 9 */
	return auth_deny(a, failed, c != NULL && c->kind == SECRET_MD5 ?
	    "SCRAM authentication failed: user has MD5 secret" :
	    "password authentication failed");
}

static enum auth_result auth_scram_step(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const struct exchange *x = a->state;

	return x->scram.step == SCRAM_START ?
	    step_first(a, body, len, out) : step_final(a, body, len, out);
}

static void auth_scram_end(struct auth *a)
{
	struct exchange *x = a->state;

	if (x == NULL)
		return;
	scram_server_fini(&x->scram);
	mem_free(x->first);
	secmem_free(x);
	a->state = NULL;
}

const struct auth_method *auth_scram(void)
{
	static const struct auth_method method = {
		.begin = auth_scram_begin,
		.step = auth_scram_step,
		.resume = challenge_real,
		.end = auth_scram_end,
	};

	return &method;
}

static struct scram_shape shape_of(const struct auth_request *rq)
{
	struct scram_shape s = { 0, SCRAM_SALT_BYTES };

	if (rq->mock_shape != NULL)
		s = rq->mock_shape->salt;
	if (s.iterations == 0)
		s.iterations = rq->scram_iterations;
	return s;
}

int auth_mock_verifier(const struct auth_request *rq,
    struct scram_verifier *v)
{
	const struct scram_shape s = shape_of(rq);

	return scram_verifier_mock(v, rq->user, rq->mock_salt, &s);
}

int auth_own_salt(const struct auth_request *rq, uint8_t *out)
{
	return scram_mock_salt(rq->mock_salt, rq->user, out,
	    SCRAM_SALT_BYTES);
}
