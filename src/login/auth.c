/* auth.c - how a client proves who it is: finds the method and runs it.
 * SPDX-License-Identifier: ISC */
#include "login/auth_parts.h"

#include <stddef.h>
#include <string.h>
#include <sys/uio.h>

#include "base/container.h"
#include "pool/credentials.h"
#include "proto/scram.h"

/* spec/authentication.md section 3: what these say where they aren't built. */
static const char *absent_text(enum auth_type type)
{
	switch (type) {
	case AUTH_LDAP: return "ldap is not supported by this build";
	case AUTH_PAM: return "PAM authentication failed";
	default: return "no authentication method is found";
	}
}

/* (spec/authentication.md sections 3 and 7) md5 asks for what is stored. */
static bool md5_is_scram(const struct auth_request *rq)
{
	switch (rq->credentials != NULL ? rq->credentials->kind :
	    SECRET_NONE) {
	case SECRET_SCRAM:
		return true;
	case SECRET_PLAIN:
	case SECRET_MD5:
		return rq->must_bind;
	case SECRET_NONE:
	case SECRET_UNUSABLE:
		break;
	}
	return rq->must_bind ||
	    (rq->mock_shape != NULL && rq->mock_shape->scram);
}

const struct auth_method *auth_method_find(const struct auth_request *rq)
{
	if (rq->type == AUTH_SCRAM_SHA_256 ||
	    (rq->type == AUTH_MD5 && md5_is_scram(rq)))
		return auth_scram();
	if (rq->type == AUTH_CERT)
		return auth_cert();
	if (rq->type == AUTH_PEER)
		return auth_peer();
	if (rq->type == AUTH_GSS)
		return auth_gss();
	if (rq->type == AUTH_OAUTH)
		return auth_oauth();
	const struct auth_method *m = auth_basic(rq->type);

	return m != NULL ? m : auth_ask(rq->type);
}

bool auth_can_bind(enum auth_type type)
{
	switch (type) {
	case AUTH_ANY:
	case AUTH_TRUST:
	case AUTH_PLAIN:
	case AUTH_CERT:
	case AUTH_LDAP:
	case AUTH_PAM:
	case AUTH_GSS:
	case AUTH_OAUTH:
		return false;
	case AUTH_MD5:
	case AUTH_SCRAM_SHA_256:
	case AUTH_HBA:
	case AUTH_PEER:
	case AUTH_REJECT:
		break;
	}
	return true;
}

/* All but the result. */
static void close_exchange(struct auth *a)
{
	if (a->method == NULL)
		return;
	derive_leave(&a->derive);
	if (a->method->end != NULL)
		a->method->end(a);
	a->method = NULL;
	credentials_unref(&a->request.credentials);
}

void auth_end(struct auth *a)
{
	close_exchange(a);
	credentials_unref(&a->typed);
}

/* What it was compared with may be out of date, whether it fits or not. */
static bool may_judge_again(const struct auth *a)
{
	return a->request.doubtful && a->method != NULL &&
	    a->method->again != NULL;
}

/* A result that is final ends the exchange: each is good for one attempt. */
static enum auth_result settle(struct auth *a, enum auth_result r)
{
	if ((r == AUTH_OK || r == AUTH_DENY) && !may_judge_again(a))
		close_exchange(a);
	return r;
}

/* A setting may ask for more than any peer puts up with. */
static int sane_iterations(int n)
{
	if (n < 1)
		return 1;
	return n < SCRAM_ITERATIONS_MAX ? n : SCRAM_ITERATIONS_MAX;
}

static void on_derived(struct derive_wait *w)
{
	struct auth *a = container_of(w, struct auth, derive);

	a->request.wake(a);
}

enum auth_result auth_begin(struct auth *a, const struct auth_request *rq,
    struct writer *out)
{
	*a = (struct auth){ .method = auth_method_find(rq),
		.refusal = a->refusal };
	if (a->method == NULL)
		return auth_refuse(a, absent_text(rq->type), "");
	if (rq->must_bind && !auth_can_bind(rq->type)) {
		a->method = NULL;
		return auth_refuse(a, "channel binding is required",
		    "channel binding is required, but this method has none");
	}
	a->request = *rq;
	a->derive.ready = on_derived;
	a->request.scram_iterations = sane_iterations(rq->scram_iterations);
	if (rq->credentials != NULL)
		credentials_ref(rq->credentials);
	if (a->method->begin == NULL)
		return AUTH_MORE;
	return settle(a, a->method->begin(a, out));
}

enum auth_result auth_step(struct auth *a, const uint8_t *body, size_t len,
    struct writer *out)
{
	if (a->method == NULL || a->method->step == NULL)
		return settle(a, auth_deny_violation(a,
		    "client password pkt before startup packet"));
	return settle(a, a->method->step(a, body, len, out));
}

enum auth_result auth_resume(struct auth *a, struct writer *out)
{
	return settle(a, a->method->resume(a, out));
}

bool auth_had_failed(struct auth *a)
{
	if (a->method == NULL || a->method->had_failed == NULL ||
	    !a->method->had_failed(a))
		return false;
	close_exchange(a);
	return true;
}

bool auth_can_judge_again(const struct auth *a, const struct credentials *c)
{
	struct auth_request rq = a->request;

	rq.credentials = (struct credentials *)c;
	return may_judge_again(a) && auth_method_find(&rq) == a->method;
}

enum auth_result auth_judge_again(struct auth *a, struct credentials *c,
    const struct iovec *body, struct writer *out)
{
	credentials_unref(&a->request.credentials);
	a->request.credentials = credentials_ref(c);
	a->request.doubtful = false;
	return settle(a, a->method->again(a, body->iov_base,
	    body->iov_len, out));
}
