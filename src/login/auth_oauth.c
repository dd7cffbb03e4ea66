/* auth_oauth.c - a client shows a token that somebody else has signed.
 * (spec/authentication.md section 3.10)
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/jwt.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/time.h"
#include "conf/hba.h"
#include "conf/ident.h"
#include "conf/oauth_options.h"
#include "io/offload.h"
#include "login/auth_parts.h"
#include "proto/bearer.h"
#include "proto/msg.h"

/* How far the exchange is. */
enum oauth_step {
	OAUTH_FIRST,		/* the mechanism, or a password, is awaited */
	OAUTH_RESPONSE,		/* the client's response, which did not come
				 * with the mechanism */
	OAUTH_CHECKING,		/* a thread looks at the token */
	OAUTH_FAILED,		/* the client was told; its dummy is awaited */
};

/* A token to be checked; on the thread, only check_token() touches it. */
struct oauth_check {
	struct offload_job job;		/* first */
	struct auth *auth;		/* the loop's: what waits */
	struct oauth_options *options;	/* counted */
	char *token;			/* owned, of secmem */
	int64_t now;			/* seconds since 1970 */
	struct jwt_found found;		/* the answer, if it is right */
	bool right;
	struct err why;			/* it is not */
};

struct oauth_exchange {
	enum oauth_step step;
	struct oauth_check *check;	/* a thread's, too: OAUTH_CHECKING */
	char detail[256];		/* OAUTH_FAILED: for the log */
};

/* --- the check --- */

static void check_token(struct offload_job *j)
{
	struct oauth_check *const q = (struct oauth_check *)j;
	struct jwks *keys = jwks_file_get(q->options->keys, q->now, &q->why);
	const struct jwt_demand demand = {
		.keys = keys,
		.issuer = q->options->issuer,
		.audience = q->options->audience,
		.scope = q->options->scope,
		.claim = q->options->claim,
		.now = q->now,
	};

	q->right = keys != NULL &&
	    jwt_check(q->token, &demand, &q->found, &q->why) == 0;
	jwks_unref(&keys);
}

static void on_checked(struct offload_job *j)
{
	struct auth *const a = ((struct oauth_check *)j)->auth;

	a->request.wake(a);
}

static void free_check(struct offload_job *j)
{
	struct oauth_check *const q = (struct oauth_check *)j;

	oauth_options_unref(&q->options);
	secmem_free(q->token);
	mem_free(q);
}

static struct oauth_check *oauth_check_new(struct auth *a, const char *token,
    size_t len)
{
	static const struct offload_ops ops = {
		.work = check_token, .done = on_checked, .free = free_check,
	};
	struct oauth_check *const q = mem_zalloc(sizeof(*q));

	if (q == NULL)
		return NULL;
	q->job.ops = &ops;
	q->auth = a;
	q->options = oauth_options_ref(a->request.rule->oauth);
	q->now = time_wall(time_now()) / USEC;
	q->token = secmem_zalloc(len + 1);
	if (q->token != NULL) {
		memcpy(q->token, token, len);
		return q;
	}
	free_check(&q->job);
	return NULL;
}

/* --- refusals --- */

static enum auth_result refuse_login(struct auth *a, const char *detail)
{
	char text[256];

	snprintf(text, sizeof(text),
	    "OAuth bearer authentication failed for user \"%s\"",
	    a->request.user);
	return auth_refuse(a, text, detail);
}

static void write_challenge(struct auth *a, struct writer *out, bool status)
{
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_SASL_CONTINUE);
	if (status)
		bearer_write_status(out, a->request.rule->oauth->issuer,
		    a->request.rule->oauth->scope);
	writer_end(out);
}

/* RFC 7628 section 3.2.3: first it is told why, and how to do better. */
static enum auth_result fail_token(struct auth *a, const char *detail,
    struct writer *out)
{
	struct oauth_exchange *const x = a->state;

	if (oauth_is_cleartext(a->request.rule->oauth))
		return refuse_login(a, detail);
	x->step = OAUTH_FAILED;
	text_copy(x->detail, sizeof(x->detail), detail);
	write_challenge(a, out, true);
	return AUTH_MORE;
}

static enum auth_result fail_by(struct auth *a, const char *why,
    struct writer *out)
{
	char detail[sizeof(a->refusal->detail)];
	struct text t;

	text_init(&t, detail, sizeof(detail));
	text_add(&t, "OAuth: ");
	text_add(&t, why);
	return fail_token(a, detail, out);
}

/* --- the exchange --- */

static enum auth_result oauth_begin(struct auth *a, struct writer *out)
{
	a->state = NULL;
	/* what is sent in clear, others can send, too */
	if (!a->request.tls)
		return auth_refuse(a, "the method oauth requires TLS", "");
	a->state = mem_zalloc(sizeof(struct oauth_exchange));
	if (a->state == NULL)
		return auth_deny_memory(a);
	if (oauth_is_cleartext(a->request.rule->oauth))
		return auth_ask_password(out);
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_SASL);
	writer_str(out, BEARER_MECHANISM);
	writer_u8(out, 0);	/* ends the list */
	writer_end(out);
	return AUTH_MORE;
}

static enum auth_result submit_token(struct auth *a, const char *token,
    size_t len)
{
	struct oauth_exchange *const x = a->state;

	x->check = oauth_check_new(a, token, len);
	if (x->check == NULL)
		return auth_deny_memory(a);
	switch (offload_submit(a->request.offload, OFFLOAD_OAUTH,
	    &x->check->job)) {
	case OFFLOAD_TAKEN:
		x->step = OAUTH_CHECKING;
		return AUTH_WAIT;
	case OFFLOAD_FULL:
		return auth_deny_busy(a, "OAuth queue is full");
	case OFFLOAD_NO_THREAD:
		break;
	}
	/* the file of the keys may block, so nothing is done here */
	return refuse_login(a, "OAuth: no thread can be started");
}

static enum auth_result deny_malformed(struct auth *a, const struct err *why,
    const char *detail)
{
	a->refusal->error = *why;
	text_copy(a->refusal->detail, sizeof(a->refusal->detail), detail);
	return AUTH_DENY;
}

static enum auth_result take_response(struct auth *a, const char *at,
    size_t len, struct writer *out)
{
	struct bearer b;

	switch (bearer_read(&b, at, len)) {
	case BEARER_TOKEN:
		return submit_token(a, b.token, b.len);
	case BEARER_ASKS:
		/* it wants to know where to get one: no word in the log */
		return fail_token(a, "", out);
	case BEARER_OTHER:
		return fail_by(a, b.why.text, out);
	case BEARER_MALFORMED:
		break;
	}
	return deny_malformed(a, &b.why, b.detail);
}

/* PostgreSQL docs, Message Formats, SASLInitialResponse. */
static enum auth_result take_initial(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	struct oauth_exchange *const x = a->state;
	struct reader r;

	reader_init(&r, body, len);
	const char *const mechanism = reader_str(&r);
	const uint32_t said = reader_u32(&r);

	if (r.failed || (said != UINT32_MAX && said != reader_left(&r)) ||
	    (said == UINT32_MAX && reader_left(&r) > 0))
		return auth_deny_violation(a, "malformed SASLInitialResponse");
	if (strcmp(mechanism, BEARER_MECHANISM) != 0)
		return auth_deny_violation(a, "client selected an invalid SASL "
		    "authentication mechanism");
	if (said != UINT32_MAX)
		return take_response(a, (const char *)r.at, said, out);
	x->step = OAUTH_RESPONSE;
	write_challenge(a, out, false);
	return AUTH_MORE;
}

static enum auth_result take_password(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const char *const token = auth_read_password(a, body, len);

	if (token == NULL)
		return AUTH_DENY;
	return bearer_is_token(token, strlen(token)) ?
	    submit_token(a, token, strlen(token)) :
	    fail_by(a, "the password has a character that is not allowed in "
	    "a token", out);
}

static enum auth_result take_dummy(struct auth *a, const uint8_t *body,
    size_t len)
{
	const struct oauth_exchange *const x = a->state;

	if (len != strlen(BEARER_DUMMY) ||
	    memcmp(body, BEARER_DUMMY, len) != 0)
		return auth_deny_violation(a, "malformed OAUTHBEARER message");
	return refuse_login(a, x->detail);
}

static enum auth_result oauth_step(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	const struct oauth_exchange *const x = a->state;

	switch (x->step) {
	case OAUTH_FIRST:
		return oauth_is_cleartext(a->request.rule->oauth) ?
		    take_password(a, body, len, out) :
		    take_initial(a, body, len, out);
	case OAUTH_RESPONSE:
		return take_response(a, (const char *)body, len, out);
	case OAUTH_FAILED:
		return take_dummy(a, body, len);
	case OAUTH_CHECKING:
		break;
	}
	return auth_deny_violation(a, "malformed OAUTHBEARER message");
}

/* The token is right: may who has it be that user? */
static enum auth_result decide_user(struct auth *a,
    const struct oauth_check *q, struct writer *out)
{
	const struct ident_map *const map = auth_map(&a->request);
	char why[sizeof(a->refusal->detail)];

	if (auth_is_allowed(&a->request, q->found.name))
		return AUTH_OK;
	if (map == NULL)
		return fail_by(a, "the token is of another user", out);
	snprintf(why, sizeof(why), "ident map %s has no match for the user of "
	    "the token", ident_map_name(map));
	return fail_by(a, why, out);
}

/* The answer is there; the check is freed when this returns. */
static enum auth_result oauth_resume(struct auth *a, struct writer *out)
{
	struct oauth_exchange *const x = a->state;
	const struct oauth_check *const q = x->check;

	x->check = NULL;
	if (q->right)
		return decide_user(a, q, out);
	return err_is_nomem(&q->why) ? auth_deny_memory(a) :
	    fail_by(a, q->why.text, out);
}

/* It knows, so it is as if it had sent its dummy. */
static bool oauth_had_failed(struct auth *a)
{
	const struct oauth_exchange *const x = a->state;

	if (x == NULL || x->step != OAUTH_FAILED)
		return false;
	(void)refuse_login(a, x->detail);
	return true;
}

static void oauth_end(struct auth *a)
{
	struct oauth_exchange *const x = a->state;

	a->state = NULL;
	if (x != NULL && x->check != NULL && x->step == OAUTH_CHECKING)
		offload_cancel(a->request.offload, &x->check->job);
	else if (x != NULL && x->check != NULL)
		free_check(&x->check->job);
	mem_free(x);
}

const struct auth_method *auth_oauth(void)
{
	static const struct auth_method method = {
		.begin = oauth_begin,
		.step = oauth_step,
		.resume = oauth_resume,
		.had_failed = oauth_had_failed,
		.end = oauth_end,
	};

	return &method;
}
