/* auth_deny.c - how the methods refuse, and who a name known outside may be.
 * SPDX-License-Identifier: ISC */
#include "login/auth_parts.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "conf/hba.h"
#include "conf/ident.h"

const struct ident_map *auth_map(const struct auth_request *rq)
{
	return rq->rule != NULL ? rq->rule->map : NULL;
}

bool auth_is_allowed(const struct auth_request *rq, const char *name)
{
	const struct ident_map *const map = auth_map(rq);

	if (map != NULL)
		return ident_map_allows(map, name, rq->user, rq->caseless);
	return (rq->caseless ? text_casecmp(name, rq->user) :
	    strcmp(name, rq->user)) == 0;
}

static enum auth_result auth_deny_deny(struct auth *a, const char *code,
    const char *text, const char *detail)
{
	err_set(&a->refusal->error, code, "%s", text);
	text_copy(a->refusal->detail, sizeof a->refusal->detail, detail);
	return AUTH_DENY;
}

enum auth_result auth_deny(struct auth *a, const char *text,
    const char *detail)
{
	return auth_deny_deny(a, ERRCODE_INVALID_PASSWORD, text, detail);
}

enum auth_result auth_refuse(struct auth *a, const char *text,
    const char *detail)
{
	return auth_deny_deny(a, ERRCODE_INVALID_AUTHORIZATION, text, detail);
}

enum auth_result auth_deny_violation(struct auth *a, const char *text)
{
	return auth_deny_deny(a, ERRCODE_PROTOCOL_VIOLATION, text, "");
}

enum auth_result auth_deny_memory(struct auth *a)
{
	err_nomem(&a->refusal->error);
	a->refusal->detail[0] = '\0';
	return AUTH_DENY;
}

enum auth_result auth_deny_busy(struct auth *a, const char *detail)
{
	err_set(&a->refusal->error, ERRCODE_TOO_MANY_CONNECTIONS,
	    "too many logins wait to be checked");
	text_copy(a->refusal->detail, sizeof a->refusal->detail, detail);
	return AUTH_DENY;
}
