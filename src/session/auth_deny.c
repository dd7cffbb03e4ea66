/* auth_deny.c - how the methods refuse, and who a name known outside may be.
 * SPDX-License-Identifier: ISC */
#include "session/auth.h"

#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "conf/ident.h"

bool auth_is_allowed(const struct auth_request *rq, const char *name)
{
	return rq->map != NULL ? ident_map_allows(rq->map, name, rq->user) :
	    strcmp(name, rq->user) == 0;
}

enum auth_result auth_deny(struct auth *a, const char *text,
    const char *detail)
{
	err_set(&a->refusal->error, "08P01", "%s", text);
	text_copy(a->refusal->detail, sizeof a->refusal->detail, detail);
	return AUTH_DENY;
}

enum auth_result auth_deny_memory(struct auth *a)
{
	err_set(&a->refusal->error, "53200", "out of memory");
	a->refusal->detail[0] = '\0';
	return AUTH_DENY;
}

enum auth_result auth_deny_busy(struct auth *a, const char *detail)
{
	err_set(&a->refusal->error, "53300", "too many logins wait to be checked");
	text_copy(a->refusal->detail, sizeof a->refusal->detail, detail);
	return AUTH_DENY;
}
