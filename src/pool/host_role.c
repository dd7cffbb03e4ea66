/* host_role.c - is a server what target_session_attrs asks for?
 * SPDX-License-Identifier: ISC */
#include "pool/host_role.h"

#include <stddef.h>
#include <string.h>

void host_role_note(struct host_role *r, const char *name, const char *value)
{
	const enum fact fact = strcmp(value, "on") == 0 ? FACT_YES : FACT_NO;

	if (strcmp(name, "in_hot_standby") == 0)
		r->standby = fact;
	else if (strcmp(name, "default_transaction_read_only") == 0)
		r->read_only = fact;
}

static enum fact negated(enum fact f)
{
	return f == FACT_UNKNOWN ? f : f == FACT_YES ? FACT_NO : FACT_YES;
}

/* A standby is read-only, whatever its settings say. */
static enum fact is_read_only(const struct host_role *r)
{
	if (r->standby == FACT_YES || r->read_only == FACT_YES)
		return FACT_YES;
	return r->standby == FACT_NO ? r->read_only : FACT_UNKNOWN;
}

static enum fact fits(const struct host_role *r, enum session_attrs attrs)
{
	switch (attrs) {
	case ATTRS_ANY:
		break;
	case ATTRS_READ_WRITE:
		return negated(is_read_only(r));
	case ATTRS_READ_ONLY:
		return is_read_only(r);
	case ATTRS_PRIMARY:
		return negated(r->standby);
	case ATTRS_STANDBY:
	case ATTRS_PREFER_STANDBY:
		return r->standby;
	}
	return FACT_YES;
}

bool host_role_is_known(const struct host_role *r, enum session_attrs attrs)
{
	return fits(r, attrs) != FACT_UNKNOWN;
}

const char *host_role_misfit(const struct host_role *r,
    enum session_attrs attrs)
{
	static const char *const texts[] = {
		[ATTRS_READ_WRITE] = "session is read-only",
		[ATTRS_READ_ONLY] = "session is not read-only",
		[ATTRS_PRIMARY] = "server is in hot standby mode",
		[ATTRS_STANDBY] = "server is not in hot standby mode",
		[ATTRS_PREFER_STANDBY] = "server is not in hot standby mode",
	};

	return fits(r, attrs) == FACT_NO ? texts[attrs] : NULL;
}
