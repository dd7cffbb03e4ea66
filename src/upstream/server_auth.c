/* server_auth.c - authenticates pgsluice to a server.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_auth.h"

#include <string.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/require.h"
#include "io/gssapi.h"
#include "pool/credentials.h"
#include "proto/msg.h"
#include "proto/password.h"
#include "proto/scram.h"
#include "session/server.h"
#include "upstream/derive.h"

#define PREFIX "server login failed: "

/* The steps of the exchange; the value of server_auth.step. */
enum step {
	STEP_START,		/* all zero: the server has asked nothing yet */
	STEP_ANSWERED,		/* a password was sent */
	STEP_SASL_FIRST,	/* client-first was sent */
	STEP_DERIVING,		/* the keys for client-final are made */
	STEP_SASL_FINAL,	/* client-final was sent */
	STEP_SASL_VERIFIED,	/* the server has proved that it knows the
				 * secret */
	STEP_GSS_TOKEN,		/* a token is made */
	STEP_GSS_SENT,		/* ... and was sent: the server has to answer */
	STEP_GSS_VERIFIED,	/* as with SASL */
	STEP_OVER,		/* AuthenticationOk has arrived, or the exchange
				 * has failed */
};

struct server_scram {
	struct scram_client client;
	struct derive_wait derive;	/* keys for the salt of the server */
	struct server_auth *auth;	/* borrowed: the owner */
};

/* What is needed to answer a message. */
struct request {
	struct server_auth *a;
	const char *user;
	struct credentials *credentials;	/* NULL: no secret is known */
	struct reader body;			/* after the code */
	struct writer *out;
};

static enum server_auth_result server_auth_fail(struct server_auth *a,
    const char *text, const char *detail)
{
	a->step = STEP_OVER;
	err_set(&a->error, ERRCODE_PROTOCOL_VIOLATION, PREFIX "%s", text);
	text_copy(a->detail, sizeof a->detail, detail);
	return SERVER_AUTH_FAILED;
}

static enum server_auth_result fail_memory(struct server_auth *a)
{
	server_auth_fail(a, "out of memory", "");
	err_set(&a->error, ERRCODE_OUT_OF_MEMORY, "%s", a->error.text);
	return SERVER_AUTH_FAILED;
}

static enum server_auth_result fail_kind(struct server_auth *a,
    const char *detail, const char *hint)
{
	a->hint = hint;
	return server_auth_fail(a, "wrong password type", detail);
}

static enum server_auth_result fail_malformed(struct server_auth *a)
{
	return server_auth_fail(a, "malformed authentication message",
	    "malformed authentication message");
}

static enum server_auth_result fail_unknown(struct server_auth *a,
    uint32_t code)
{
	fail_kind(a, "", SERVER_HINT_METHOD);
	struct text t;

	text_init(&t, a->detail, sizeof a->detail);
	text_addf(&t, "unknown/unsupported auth method: %u", (unsigned)code);
	return SERVER_AUTH_FAILED;
}

static enum secret_kind server_auth_kind_of(const struct request *q)
{
	return q->credentials != NULL ? q->credentials->kind : SECRET_NONE;
}

static const char *secret_of(const struct request *q)
{
	return q->credentials != NULL ? q->credentials->secret : "";
}

static enum server_auth_result sent(struct server_auth *a,
    const struct writer *out, enum step step)
{
	if (out->failed)
		return fail_memory(a);
	a->step = (uint8_t)step;
	return SERVER_AUTH_MORE;
}

/* One function for each message; see spec/authentication.md section 5. */

static enum server_auth_result fail_unbound(struct server_auth *a)
{
	return server_auth_fail(a, "channel binding is required, but the "
	    "server did not use it", "channel binding is required, but the "
	    "server did not use it");
}

static bool must_bind(const struct server_auth *a)
{
	return a->mode == BINDING_REQUIRE;
}

/* (spec/authentication.md section 5) */
static enum server_auth_result fail_required(struct server_auth *a,
    const char *what)
{
	static const char text[] = "authentication method requirement failed";
	char detail[sizeof a->detail];
	struct text t;

	text_init(&t, detail, sizeof detail);
	text_addf(&t, "%s: server %s, which server_require_auth forbids", text,
	    what);
	return server_auth_fail(a, text, detail);
}

static enum server_auth_result on_ok(struct request *q)
{
	if (reader_left(&q->body) > 0)
		return fail_malformed(q->a);
	if (q->a->step == STEP_START && (q->a->forbidden & REQUIRE_NONE))
		return fail_required(q->a, "asked for no authentication");
	if (must_bind(q->a) && q->a->step != STEP_SASL_VERIFIED)
		return fail_unbound(q->a);
	q->a->step = STEP_OVER;
	return SERVER_AUTH_OK;
}

static enum server_auth_result server_auth_answer(const struct request *q,
    const char *password)
{
	writer_begin(q->out, FE_PASSWORD);
	writer_str(q->out, password);
	writer_end(q->out);
	return sent(q->a, q->out, STEP_ANSWERED);
}

static enum server_auth_result on_cleartext(struct request *q)
{
	if (reader_left(&q->body) > 0)
		return fail_malformed(q->a);
	if (must_bind(q->a))
		return fail_unbound(q->a);
	if (q->a->forbidden & REQUIRE_PASSWORD)
		return fail_required(q->a, "asked for a password in clear "
		    "text");
	if (server_auth_kind_of(q) == SECRET_UNUSABLE)
		return fail_kind(q->a, "cannot send the password: wrong "
		    "password type", SERVER_HINT_SECRET);
	q->a->cleartext = secret_of(q)[0] != '\0';
	return server_auth_answer(q, secret_of(q));
}

static enum server_auth_result on_md5(struct request *q)
{
	const uint8_t *salt = reader_bytes(&q->body, 4);
	char secret[MD5_SECRET_LEN + 1], response[MD5_SECRET_LEN + 1];
	enum server_auth_result r;
	int rc = 0;

	if (salt == NULL || reader_left(&q->body) > 0)
		return fail_malformed(q->a);
	if (must_bind(q->a))
		return fail_unbound(q->a);
	if (q->a->forbidden & REQUIRE_MD5)
		return fail_required(q->a, "asked for an MD5 hash");
	if (server_auth_kind_of(q) == SECRET_SCRAM ||
	    server_auth_kind_of(q) == SECRET_UNUSABLE)
		return fail_kind(q->a,
		    "cannot do MD5 authentication: wrong password type",
		    SERVER_HINT_SECRET);
	if (server_auth_kind_of(q) == SECRET_MD5)
		text_copy(secret, sizeof secret, secret_of(q));
	else
		rc = md5_secret(secret_of(q), q->user, secret);
	if (rc == 0 && md5_response(secret, salt, response) == 0)
		r = server_auth_answer(q, response);
	else
		r = server_auth_fail(q->a, "MD5 is not available",
		    "cannot do MD5 authentication: MD5 is not available");
	secret_wipe(secret, sizeof secret);
	return r;
}

enum { OFFERS_SCRAM = 1, OFFERS_PLUS = 2 };

/* The set of mechanisms in the list; -1: not a list. */
static int offers(struct reader *r)
{
	int found = 0;

	for (;;) {
		const char *name = reader_str(r);

		if (name == NULL)
			return -1;
		if (name[0] == '\0')
			return reader_left(r) > 0 ? -1 : found;
		if (strcmp(name, SCRAM_MECHANISM) == 0)
			found |= OFFERS_SCRAM;
		else if (strcmp(name, SCRAM_MECHANISM_PLUS) == 0)
			found |= OFFERS_PLUS;
	}
}

/* The reason why this secret cannot be used with SCRAM, or NULL. */
static const char *scram_obstacle(const struct request *q)
{
	if (server_auth_kind_of(q) == SECRET_MD5 ||
	    server_auth_kind_of(q) == SECRET_UNUSABLE)
		return "cannot do SCRAM authentication: wrong password type";
	if (server_auth_kind_of(q) == SECRET_SCRAM &&
	    q->credentials->learned == NULL)
		return "cannot do SCRAM authentication: password is SCRAM "
		    "secret but client authentication did not provide SCRAM "
		    "keys";
	return NULL;
}

static enum server_auth_result fail_scram(const struct request *q,
    const char *obstacle)
{
	return fail_kind(q->a, obstacle,
	    server_auth_kind_of(q) == SECRET_SCRAM ? SERVER_HINT_KEYS :
	    SERVER_HINT_SECRET);
}

static void server_auth_on_derived(struct derive_wait *w)
{
	struct server_scram *x = container_of(w, struct server_scram, derive);

	x->auth->wake(x->auth);
}

/* PostgreSQL docs, Message Formats, SASLInitialResponse. */
static enum server_auth_result send_first(const struct request *q, bool plus)
{
	struct server_scram *x = secmem_zalloc(sizeof *x);

	q->a->scram = x;
	if (x == NULL)
		return fail_memory(q->a);
	x->auth = q->a;
	x->derive.ready = server_auth_on_derived;
	if (plus)
		x->client.binding = q->a->binding;
	else
		x->client.unbound = q->a->binding.len > 0;
	char *first = scram_client_first(&x->client);

	if (first == NULL)
		return fail_memory(q->a);
	writer_begin(q->out, FE_PASSWORD);
	writer_str(q->out, plus ? SCRAM_MECHANISM_PLUS : SCRAM_MECHANISM);
	writer_u32(q->out, (uint32_t)strlen(first));
	writer_bytes(q->out, first, strlen(first));
	writer_end(q->out);
	mem_free(first);
	return sent(q->a, q->out, STEP_SASL_FIRST);
}

static enum server_auth_result on_sasl(struct request *q)
{
	static const char no_mechanism[] =
	    "none of the server's SASL authentication mechanisms are supported";
	const int offered = offers(&q->body);
	const char *obstacle = scram_obstacle(q);

	if (offered < 0)
		return fail_malformed(q->a);
	if (q->a->forbidden & REQUIRE_SCRAM)
		return fail_required(q->a, "asked for SASL");
	const bool plus = (offered & OFFERS_PLUS) && q->a->binding.len > 0;

	if (!plus && must_bind(q->a))
		return fail_unbound(q->a);
	if (!plus && !(offered & OFFERS_SCRAM)) {
		q->a->hint = SERVER_HINT_METHOD;
		return server_auth_fail(q->a, no_mechanism, no_mechanism);
	}
	if (obstacle != NULL)
		return fail_scram(q, obstacle);
	return send_first(q, plus);
}

/* --- GSSAPI --- */

void server_auth_on_stepped(void *owner)
{
	struct server_auth *const a = owner;

	a->wake(a);
}

static enum server_auth_result step_gss(const struct request *q,
    const void *token, size_t len)
{
	switch (gssapi_step(q->a->gss, q->a->offload, token, len)) {
	case OFFLOAD_TAKEN:
		q->a->step = STEP_GSS_TOKEN;
		return SERVER_AUTH_WAIT;
	case OFFLOAD_FULL:
		return server_auth_fail(q->a, "GSSAPI queue is full",
		    "GSSAPI queue is full");
	case OFFLOAD_NO_THREAD:
		break;
	}
	return server_auth_fail(q->a, "no thread can be started",
	    "no thread can be started");
}

/* PostgreSQL docs, Message Flow: AuthenticationGSS. */
static enum server_auth_result on_gss(struct request *q)
{
	if (reader_left(&q->body) > 0)
		return fail_malformed(q->a);
	if (q->a->gss == NULL)
		return fail_unknown(q->a, MSG_AUTH_GSS);
	if (must_bind(q->a))
		return fail_unbound(q->a);
	if (q->a->forbidden & REQUIRE_GSS)
		return fail_required(q->a, "asked for GSSAPI");
	return step_gss(q, NULL, 0);
}

static enum server_auth_result on_gss_continue(struct request *q)
{
	const size_t len = reader_left(&q->body);

	return step_gss(q, reader_bytes(&q->body, len), len);
}

/* A token of ours is made, or the server's was the last one. */
static enum server_auth_result resume_gss(struct server_auth *a,
    struct writer *out)
{
	const enum gssapi_state state = gssapi_state(a->gss);
	size_t len;
	const void *const token = gssapi_token(a->gss, &len);

	if (state == GSSAPI_NO_MEMORY)
		return fail_memory(a);
	if (state == GSSAPI_FAILED) {
		a->hint = SERVER_HINT_TICKET;
		return server_auth_fail(a, "GSSAPI authentication failed",
		    gssapi_why(a->gss));
	}
	if (token != NULL) {
		writer_begin(out, FE_PASSWORD);
		writer_bytes(out, token, len);
		writer_end(out);
	}
	return sent(a, out, state == GSSAPI_DONE ? STEP_GSS_VERIFIED :
	    STEP_GSS_SENT);
}

/* --- SASL, once more --- */

static enum server_auth_result resume_scram(struct server_auth *a,
    struct writer *out)
{
	struct server_scram *x = a->scram;
	char *final = x->derive.ok ?
	    scram_client_final(&x->client, &x->derive.keys) : NULL;

	derive_leave(&x->derive);
	if (final == NULL)
		return fail_memory(a);
	writer_begin(out, FE_PASSWORD);
	writer_bytes(out, final, strlen(final));
	writer_end(out);
	mem_free(final);
	return sent(a, out, STEP_SASL_FINAL);
}

/* The keys for the salt of the challenge must be known first. */
static enum server_auth_result find_keys(const struct request *q)
{
	struct server_scram *x = q->a->scram;
	const struct scram_salt salt = { x->client.salt, x->client.salt_len,
	    x->client.iterations };

	switch (derive_keys(q->a->offload, q->credentials, &salt,
	    &x->derive)) {
	case DERIVE_READY:
		return resume_scram(q->a, q->out);
	case DERIVE_FULL:
		return server_auth_fail(q->a,
		    "too many passwords wait to be derived",
		    "too many passwords wait to be derived");
	case DERIVE_WAIT:
		break;
	}
	q->a->step = STEP_DERIVING;
	return SERVER_AUTH_WAIT;
}

static enum server_auth_result on_continue(struct request *q)
{
	const size_t len = reader_left(&q->body);
	const char *data = (const char *)reader_bytes(&q->body, len);
	/* a reload may have changed the secret since client-first */
	const char *obstacle = scram_obstacle(q);
	struct err e;

	if (obstacle != NULL)
		return fail_scram(q, obstacle);
	if (scram_client_challenge(&q->a->scram->client, data, len, &e) == 0)
		return find_keys(q);
	if (err_is_nomem(&e))
		return fail_memory(q->a);
	return server_auth_fail(q->a, e.text, e.text);
}

static enum server_auth_result on_final(struct request *q)
{
	const size_t len = reader_left(&q->body);
	const char *data = (const char *)reader_bytes(&q->body, len);
	struct err e;

	if (scram_client_verify(&q->a->scram->client, data, len, &e) == 0)
		return sent(q->a, q->out, STEP_SASL_VERIFIED);
	if (err_is_nomem(&e))
		return fail_memory(q->a);
	q->a->hint = SERVER_HINT_SECRET;
	return server_auth_fail(q->a,
	    strcmp(e.code, ERRCODE_INVALID_PASSWORD) == 0 ?
	    "invalid server signature" : "failed to verify server signature",
	    e.text);
}

#define AT(step) (1u << (step))

struct row {
	uint32_t code;
	unsigned steps;		/* AT() of the steps at which it may come */
	enum server_auth_result (*on)(struct request *q);
};

static const struct row *find_row(uint32_t code)
{
	static const struct row rows[] = {
		{ MSG_AUTH_OK, AT(STEP_START) | AT(STEP_ANSWERED) |
		    AT(STEP_SASL_VERIFIED) | AT(STEP_GSS_VERIFIED), on_ok },
		{ MSG_AUTH_GSS, AT(STEP_START), on_gss },
		{ MSG_AUTH_GSS_CONTINUE, AT(STEP_GSS_SENT), on_gss_continue },
		{ MSG_AUTH_CLEARTEXT, AT(STEP_START), on_cleartext },
		{ MSG_AUTH_MD5, AT(STEP_START), on_md5 },
		{ MSG_AUTH_SASL, AT(STEP_START), on_sasl },
		{ MSG_AUTH_SASL_CONTINUE, AT(STEP_SASL_FIRST), on_continue },
		{ MSG_AUTH_SASL_FINAL, AT(STEP_SASL_FINAL), on_final },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].code == code)
			return &rows[i];
	}
	return NULL;
}

static enum server_auth_result fail_order(struct server_auth *a,
    uint32_t code)
{
	/* a server that does not know the secret can send Ok, too */
	if (code == MSG_AUTH_OK && a->scram != NULL && a->step != STEP_OVER)
		return server_auth_fail(a, "failed to verify server signature",
		    "AuthenticationOk before the server proved itself");
	return server_auth_fail(a, "authentication message out of order",
	    "authentication message out of order");
}

enum server_auth_result server_auth_resume(struct server_auth *a,
    struct writer *out)
{
	return a->step == STEP_GSS_TOKEN ? resume_gss(a, out) :
	    resume_scram(a, out);
}

enum server_auth_result server_auth_step(struct server_auth *a,
    const char *user, struct credentials *credentials, const uint8_t *body,
    size_t len, struct writer *out)
{
	struct request q = {
		.a = a, .user = user, .credentials = credentials, .out = out,
	};

	reader_init(&q.body, body, len);
	const uint32_t code = reader_u32(&q.body);

	if (q.body.failed)
		return fail_malformed(a);
	const struct row *row = find_row(code);

	if (row == NULL)
		return fail_unknown(a, code);
	if ((row->steps & AT(a->step)) == 0)
		return fail_order(a, code);
	return row->on(&q);
}

void server_auth_end(struct server_auth *a)
{
	if (a->scram != NULL) {
		derive_leave(&a->scram->derive);
		scram_client_fini(&a->scram->client);
	}
	secmem_free(a->scram);
	a->scram = NULL;
	gssapi_free(&a->gss);
	a->step = STEP_OVER;
}
