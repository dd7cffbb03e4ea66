/* auth_scram.c - a client proves by SCRAM-SHA-256 that it knows a secret.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/reader.h"
#include "proto/scram.h"
#include "proto/writer.h"
#include "session/auth.h"

static const char failed[] = "SASL authentication failed";

struct exchange {
	struct scram_server scram;
	bool real;	/* false: whatever the proof, the answer is no */
};

static enum auth_result begin(struct auth *a, struct writer *out)
{
	a->state = mem_zalloc(sizeof(struct exchange));
	if (a->state == NULL)
		return auth_deny_memory(a);
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_SASL);
	writer_str(out, SCRAM_MECHANISM);
	writer_u8(out, 0);	/* ends the list */
	writer_end(out);
	return AUTH_MORE;
}

static enum auth_result deny(struct auth *a, const struct err *why)
{
	if (strcmp(why->code, "53200") == 0)
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

/* Challenge by the verifier, or by one nobody can answer. 0 or -1 with e. */
static int challenge(struct auth *a, const struct reader *in, char **out,
    struct err *e)
{
	struct exchange *x = a->state;
	const struct auth_request *rq = &a->request;
	const struct scram_verifier *v = NULL;
	struct scram_verifier *mock = NULL;
	int rc = -1;

	x->real = is_usable(rq->credentials);
	if (x->real) {
		v = credentials_verifier(rq->credentials,
		    rq->scram_iterations);
	} else {
		mock = mem_zalloc(sizeof *mock);
		if (mock != NULL && scram_verifier_mock(mock, rq->user,
		    rq->mock_salt, rq->scram_iterations) == 0)
			v = mock;
	}
	if (v == NULL)
		err_set(e, "53200", "out of memory");
	else
		rc = scram_server_first(&x->scram, v, (const char *)in->at,
		    reader_left(in), out, e);
	if (mock != NULL)
		secret_wipe(mock, sizeof *mock);
	mem_free(mock);
	return rc;
}

/*
 * PostgreSQL docs, Message Formats, SASLInitialResponse. The length comes from
 * the client: it must be what is left of the body, to the byte.
 * Returns 0, r at the data then; or -1, a denied.
 */
static int read_initial(struct auth *a, struct reader *r)
{
	const char *mechanism = reader_str(r);

	if (mechanism != NULL && strcmp(mechanism, SCRAM_MECHANISM) != 0) {
		auth_deny(a, "client selected an invalid SASL authentication "
		    "mechanism", "");
		return -1;
	}
	const uint32_t said = reader_u32(r);

	if (!r->failed && said == reader_left(r))
		return 0;
	auth_deny(a, failed, "malformed SASLInitialResponse");
	return -1;
}

static enum auth_result step_first(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	char *answer = NULL;
	struct reader r;
	struct err e;

	reader_init(&r, body, len);
	if (read_initial(a, &r) < 0)
		return AUTH_DENY;
	if (challenge(a, &r, &answer, &e) < 0)
		return deny(a, &e);
	write_sasl(out, MSG_AUTH_SASL_CONTINUE, answer);
	mem_free(answer);
	return AUTH_MORE;
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
	if (rc < 0 && strcmp(e.code, "28P01") != 0)
		return deny(a, &e);
	/* spec/logging.md section 9 */
	return auth_deny(a, failed, c != NULL && c->kind == SECRET_MD5 ?
	    "SCRAM authentication failed: user has MD5 secret" :
	    "password authentication failed");
}

static enum auth_result step(struct auth *a, const uint8_t *body, size_t len,
    struct writer *out)
{
	const struct exchange *x = a->state;

	return x->scram.step == SCRAM_START ?
	    step_first(a, body, len, out) : step_final(a, body, len, out);
}

static void end(struct auth *a)
{
	struct exchange *x = a->state;

	if (x == NULL)
		return;
	scram_server_fini(&x->scram);
	mem_free(x);
	a->state = NULL;
}

const struct auth_method *auth_scram(void)
{
	static const struct auth_method method = {
		.begin = begin, .step = step, .end = end,
	};

	return &method;
}
