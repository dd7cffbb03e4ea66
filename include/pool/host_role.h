/* host_role.h - is a server what target_session_attrs asks for?
 * SPDX-License-Identifier: ISC */
#ifndef POOL_HOST_ROLE_H
#define POOL_HOST_ROLE_H

#include <stdbool.h>

#include "conf/session_attrs.h"

enum fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

/* What a server has said of itself. All zero: nothing. */
struct host_role {
	enum fact standby;	/* in_hot_standby, pg_is_in_recovery() */
	enum fact read_only;	/* so its sessions are at first */
};

/* Take what a parameter of this name tells, if anything. */
void host_role_note(struct host_role *r, const char *name, const char *value);
/* Can it be said whether r fits? */
bool host_role_is_known(const struct host_role *r, enum session_attrs attrs);
/* NULL: r fits, or is not known not to; else why not, in libpq's words. */
const char *host_role_misfit(const struct host_role *r,
    enum session_attrs attrs);

#endif
