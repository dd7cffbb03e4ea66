/* wait.c - why the clients of a pool wait for a server.
 * SPDX-License-Identifier: ISC */
#include "pool/wait.h"

#include <stdio.h>

#include "base/ledger.h"
#include "conf/require.h"
#include "pool/catalog.h"
#include "pool/hosts.h"
#include "pool/limit.h"
#include "pool/pool.h"

static bool is_full(const struct pool *p)
{
	return p->limits.size > 0 &&
	    pool_held(p) >= (unsigned)p->limits.size;
}

static enum wait_reason failed(const struct pool *p)
{
	return p->limits.attrs != ATTRS_ANY ? WAIT_HOST : WAIT_LOGIN_FAILED;
}

static enum wait_reason logging_in(const struct pool *p)
{
	if (p->password_waits > 0)
		return WAIT_PASSWORD;
	return p->failing ? failed(p) : WAIT_LOGIN;
}

static enum wait_reason on_the_way(const struct pool *p)
{
	return p->server_count[SERVER_LOGIN] == 0 ? WAIT_CHECK :
	    logging_in(p);
}

/* Of all parts. */
static unsigned pinned(const struct pool *p)
{
	return p->listeners + (p->share.ledger == NULL ? p->pinned :
	    ledger_taken(p->share.ledger, LEDGER_PINNED));
}

static enum wait_reason full(const struct pool *p)
{
	/* in use is none: a larger pool would not help */
	if (p->server_count[SERVER_LOGIN] == pool_held(p))
		return on_the_way(p);
	return pinned(p) > 0 && pinned(p) == pool_held(p) ?
	    WAIT_PINNED : WAIT_POOL_SIZE;
}

/* No server is coming for the last in the queue: what is in the way? */
static enum wait_reason obstacle(const struct pool *p)
{
	if (is_full(p))
		return full(p);
	if (p->failing)
		return failed(p);
	if (limit_is_full(p, LIMIT_DB))
		return WAIT_MAX_DB;
	if (limit_is_full(p, LIMIT_USER))
		return WAIT_MAX_USER;
	/* one is launched in this turn, or as many as may be already */
	return WAIT_LOGIN;
}

enum wait_reason wait_reason(const struct pool *p, enum client_state state,
    const struct catalog *c, usec_t now)
{
	if (state != CLIENT_WAITING && state != CLIENT_WELCOME &&
	    state != CLIENT_DEDICATED_WAITING)
		return WAIT_NONE;
	if (pool_stands_still(p, c))
		return WAIT_PAUSED;
	if (drain_stops(c, p, now) && (state == CLIENT_DEDICATED_WAITING ||
	    pool_uncovered(p) > 0))
		return WAIT_DRAINED;
	if (state == CLIENT_DEDICATED_WAITING &&
	    p->server_count[SERVER_DEDICATED_LOGIN] > 0)
		return logging_in(p);
	if (state == CLIENT_DEDICATED_WAITING || pool_uncovered(p) > 0)
		return obstacle(p);
	return on_the_way(p);
}

static const struct {
	const char *name, *setting;
	const char *hint;
} words[WAIT_REASONS] = {
	[WAIT_PAUSED] = { "paused", "RESUME",
	    "The administrator ends it with RESUME." },
	[WAIT_DRAINED] = { "drained", "RESUME HOST",
	    "The administrator ends it with RESUME HOST." },
	[WAIT_POOL_SIZE] = { "pool_size", "default_pool_size",
	    "The settings are default_pool_size, and pool_size of the "
	    "database or user." },
	[WAIT_PINNED] = { "pinned", "max_pinned",
	    "Raise the pool's size, or keep max_pinned below it; pin_timeout "
	    "closes idle clients. SHOW CLIENTS EXTENDED shows the pins." },
	[WAIT_MAX_DB] = { "max_db_connections", "max_db_connections",
	    "The setting is max_db_connections." },
	[WAIT_MAX_USER] = { "max_user_connections", "max_user_connections",
	    "The setting is max_user_connections." },
	[WAIT_LOGIN] = { "server_login", "server_login_concurrency",
	    "The settings are server_connect_timeout and "
	    "server_login_concurrency." },
	[WAIT_PASSWORD] = { "password", "password_timeout",
	    "Look at password_command or password_file in [databases] and "
	    "[users]; the log says more." },
	[WAIT_LOGIN_FAILED] = { "server_login_failed", "server_login_retry",
	    NULL },
	[WAIT_HOST] = { "no_host", "target_session_attrs",
	    "Look at the hosts in [databases], and at which of them is the "
	    "primary. They are asked again twice a second." },
	[WAIT_CHECK] = { "server_check", "server_check_query",
	    "The settings are server_reset_query and server_check_query." },
};

const char *wait_name(enum wait_reason reason)
{
	return words[reason].name;
}

const char *wait_setting(enum wait_reason reason)
{
	return words[reason].setting;
}

/* Of a limit that was lowered there are more: say so. */
static void explain_excess(unsigned have, int max, char *out, size_t size)
{
	if (max > 0 && have > (unsigned)max)
		snprintf(out, size, ", and %u more until they are given back",
		    have - (unsigned)max);
	else
		out[0] = '\0';
}

/* A server is on its way, or was. */
static void explain_login(const struct pool *p, enum wait_reason reason,
    char *out, size_t size)
{
	const char *const db = p->key.db->name, *const user = p->key.user->name;

	switch (reason) {
	case WAIT_LOGIN:
		snprintf(out, size, "A connection to database \"%s\" is being "
		    "made.", db);
		break;
	case WAIT_PASSWORD:
		snprintf(out, size, "The password of user \"%s\" for database "
		    "\"%s\" is being fetched.", user, db);
		break;
	case WAIT_LOGIN_FAILED:
		snprintf(out, size, "The last connection to database \"%s\" "
		    "failed: %s", db, pool_failure(p));
		break;
	case WAIT_HOST:
		snprintf(out, size, "No host of database \"%s\" meets "
		    "target_session_attrs = %s: %s", db,
		    session_attrs_word(p->limits.attrs), pool_failure(p));
		break;
	case WAIT_CHECK:
		snprintf(out, size, "A server connection of database \"%s\" "
		    "is reset or checked.", db);
		break;
	default:
		out[0] = '\0';
		break;
	}
}

static void explain_detail(const struct pool *p, enum wait_reason reason,
    char *out, size_t size)
{
	const char *const db = p->key.db->name, *const user = p->key.user->name;
	char more[64];

	switch (reason) {
	case WAIT_PAUSED:
		snprintf(out, size, "Database \"%s\" is paused.", db);
		break;
	case WAIT_DRAINED:
		snprintf(out, size, "All hosts of database \"%s\" are being "
		    "drained.", db);
		break;
	case WAIT_POOL_SIZE:
		explain_excess(pool_held(p), p->limits.size, more, sizeof more);
		snprintf(out, size, "All %d server connections of user \"%s\" "
		    "to database \"%s\" are in use%s.", p->limits.size, user,
		    db, more);
		break;
	case WAIT_PINNED:
		snprintf(out, size, "All %u server connections of user \"%s\" "
		    "to database \"%s\" are pinned by clients.", pinned(p), user, db);
		break;
	case WAIT_MAX_DB:
		explain_excess(limit_taken(p, LIMIT_DB), p->limits.max_db,
		    more, sizeof more);
		snprintf(out, size, "All %d server connections of database "
		    "\"%s\" are in use%s.", p->limits.max_db, db, more);
		break;
	case WAIT_MAX_USER:
		explain_excess(limit_taken(p, LIMIT_USER), p->limits.max_user,
		    more, sizeof more);
		snprintf(out, size, "All %d server connections of user "
		    "\"%s\" are in use%s.", p->limits.max_user, user, more);
		break;
	default:
		explain_login(p, reason, out, size);
		break;
	}
}

void wait_explain(const struct pool *p, enum wait_reason reason,
    struct wait_text *out)
{
	const char *const hint = reason == WAIT_LOGIN_FAILED ?
	    pool_failure_hint(p) : words[reason].hint;

	explain_detail(p, reason, out->detail, sizeof out->detail);
	snprintf(out->hint, sizeof out->hint, "%s", hint != NULL ? hint : "");
}
