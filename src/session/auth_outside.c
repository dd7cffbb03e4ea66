/* auth_outside.c - methods where another vouches: the kernel, a certificate.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <string.h>

#include "conf/ident.h"
#include "session/auth.h"

/* Is name, known outside, good for the user who wants in? */
static bool is_allowed(const struct auth_request *rq, const char *name)
{
	return rq->map != NULL ? ident_map_allows(rq->map, name, rq->user) :
	    strcmp(name, rq->user) == 0;
}

/* --- cert (spec/authentication.md section 3.4) --- */

static enum auth_result deny_cert(struct auth *a, const char *detail)
{
	return auth_deny(a, "certificate authentication failed", detail);
}

static enum auth_result begin_cert(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	char detail[sizeof a->detail];

	(void)out;
	if (!rq->tls)
		return deny_cert(a, "TLS connection required");
	if (rq->cert_name == NULL)
		return deny_cert(a, "TLS client certificate required");
	if (is_allowed(rq, rq->cert_name))
		return rq->credentials != NULL ? AUTH_OK : deny_cert(a, "");
	if (rq->map == NULL)
		return deny_cert(a, "TLS certificate name mismatch");
	snprintf(detail, sizeof detail, "ident map: %s does not have a match",
	    ident_map_name(rq->map));
	return deny_cert(a, detail);
}

/* --- peer (section 3.5) --- */

static enum auth_result deny_peer(struct auth *a, const char *detail)
{
	return auth_deny(a, "unix socket login rejected", detail);
}

static enum auth_result begin_peer(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	char detail[sizeof a->detail];

	(void)out;
	if (rq->os_user == NULL)
		return deny_peer(a, "");
	if (is_allowed(rq, rq->os_user))
		return rq->credentials != NULL ? AUTH_OK : deny_peer(a, "");
	if (rq->map == NULL)
		return deny_peer(a, "");
	snprintf(detail, sizeof detail, "ident map %s cannot be matched",
	    ident_map_name(rq->map));
	return deny_peer(a, detail);
}

const struct auth_method *auth_outside(enum auth_type type)
{
	static const struct auth_method cert = { .begin = begin_cert };
	static const struct auth_method peer = { .begin = begin_peer };

	return type == AUTH_CERT ? &cert : type == AUTH_PEER ? &peer : NULL;
}
