/* auth_gss.c - a client proves by a ticket of Kerberos who it is.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "conf/hba.h"
#include "io/gssapi.h"
#include "login/auth_parts.h"
#include "proto/msg.h"

static const char failed[] = "GSSAPI authentication failed";

static enum auth_result auth_gss_deny(struct auth *a, const char *detail)
{
	return auth_refuse(a, failed, detail);
}

static enum auth_result deny_peer(struct auth *a, const char *peer,
    const char *why)
{
	char detail[sizeof a->refusal->detail];

	snprintf(detail, sizeof detail, "GSSAPI: principal \"%.150s\" %s",
	    peer, why);
	return auth_gss_deny(a, detail);
}

static bool is_of_realm(const struct auth_request *rq, const char *realm)
{
	const char *const want = rq->rule->krb_realm;

	if (want == NULL || want[0] == '\0')
		return true;
	if (realm == NULL)
		return false;
	return (rq->caseless ? text_casecmp(want, realm) :
	    strcmp(want, realm)) == 0;
}

/* PostgreSQL source: pg_GSS_checkauth(). The realm is behind the first "@". */
static enum auth_result auth_gss_decide(struct auth *a, const char *peer)
{
	const struct auth_request *const rq = &a->request;
	const char *const at = strchr(peer, '@');
	char name[GSSAPI_PEER_MAX];

	if (!is_of_realm(rq, at == NULL ? NULL : at + 1))
		return deny_peer(a, peer, "is not of krb_realm");
	const size_t len = at == NULL || rq->rule->include_realm ?
	    strlen(peer) : (size_t)(at - peer);

	if (len >= sizeof name)
		return deny_peer(a, peer, "is too long");
	memcpy(name, peer, len);
	name[len] = '\0';
	if (!auth_is_allowed(rq, name))
		return deny_peer(a, peer, "may not log in as this user");
	return rq->credentials != NULL ? AUTH_OK :
	    deny_peer(a, peer, "asks for an unknown user");
}

static void on_stepped(void *owner)
{
	struct auth *const a = owner;

	a->request.wake(a);
}

static enum auth_result auth_gss_begin(struct auth *a, struct writer *out)
{
	/* by the context of the encryption */
	if (a->request.peer_name != NULL)
		return auth_gss_decide(a, a->request.peer_name);
	const struct gssapi_order order = {
		.keytab = a->request.options, .done = on_stepped, .owner = a,
	};

	a->request.options = NULL;	/* a reload may take it away */
	a->state = gssapi_new(&order);
	if (a->state == NULL)
		return auth_deny_memory(a);
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_GSS);
	writer_end(out);
	return AUTH_MORE;
}

static enum auth_result auth_gss_step(struct auth *a, const uint8_t *body,
    size_t len, struct writer *out)
{
	(void)out;
	switch (gssapi_step(a->state, a->request.offload, body, len)) {
	case OFFLOAD_TAKEN:
		return AUTH_WAIT;
	case OFFLOAD_FULL:
		return auth_deny_busy(a, "GSSAPI queue is full");
	case OFFLOAD_NO_THREAD:
		break;
	}
	return auth_gss_deny(a, "GSSAPI: no thread can be started");
}

/* PostgreSQL docs, Message Formats, AuthenticationGSSContinue. */
static void write_token(const struct gssapi *g, struct writer *out)
{
	size_t len;
	const void *const token = gssapi_token(g, &len);

	if (token == NULL)
		return;
	writer_begin(out, BE_AUTHENTICATION);
	writer_u32(out, MSG_AUTH_GSS_CONTINUE);
	writer_bytes(out, token, len);
	writer_end(out);
}

static enum auth_result auth_gss_resume(struct auth *a, struct writer *out)
{
	const struct gssapi *const g = a->state;
	char detail[sizeof a->refusal->detail];

	switch (gssapi_state(g)) {
	case GSSAPI_MORE:
		write_token(g, out);
		return AUTH_MORE;
	case GSSAPI_DONE:
		write_token(g, out);
		return auth_gss_decide(a, gssapi_peer(g));
	case GSSAPI_NO_MEMORY:
		return auth_deny_memory(a);
	case GSSAPI_FAILED:
		break;
	}
	snprintf(detail, sizeof detail, "GSSAPI: %.240s", gssapi_why(g));
	return auth_gss_deny(a, detail);
}

static void auth_gss_end(struct auth *a)
{
	struct gssapi *g = a->state;

	a->state = NULL;
	gssapi_free(&g);
}

const struct auth_method *auth_gss(void)
{
	static const struct auth_method method = {
		.begin = auth_gss_begin,
		.step = auth_gss_step,
		.resume = auth_gss_resume,
		.end = auth_gss_end,
	};

	return &method;
}
