/* auth_cert.c - a client whose TLS certificate says who it is.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "conf/ident.h"
#include "login/auth_parts.h"

static enum auth_result deny(struct auth *a, const char *detail)
{
	return auth_refuse(a, "certificate authentication failed", detail);
}

/* (spec/authentication.md section 3.4) */
static enum auth_result begin(struct auth *a, struct writer *out)
{
	const struct auth_request *rq = &a->request;
	char detail[sizeof a->refusal->detail];

	(void)out;
	if (!rq->tls)
		return deny(a, "TLS connection required");
	if (rq->cert_name == NULL)
		return deny(a, "TLS client certificate required");
	if (auth_is_allowed(rq, rq->cert_name))
		return rq->credentials != NULL ? AUTH_OK : deny(a, "");
	if (rq->map == NULL)
		return deny(a, "TLS certificate name mismatch");
	snprintf(detail, sizeof detail, "ident map: %s does not have a match",
	    ident_map_name(rq->map));
	return deny(a, detail);
}

const struct auth_method *auth_cert(void)
{
	static const struct auth_method method = { .begin = begin };

	return &method;
}
