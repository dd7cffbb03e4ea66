/* server_role.c - target_session_attrs: does a server fit that logs in?
 * (spec/pooling.md section 6a)
 * SPDX-License-Identifier: ISC */
#include "session/server_role.h"

#include "io/dns.h"
#include "pool/host_role.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"

static enum session_attrs attrs_of(const struct server *s)
{
	return s->ps.pool->limits.attrs;
}

/* A physical replication connection knows no SQL. */
bool server_role_question(const struct server *s, struct writer *w)
{
	if (s->attempt->no_sql ||
	    host_role_is_known(&s->attempt->role, attrs_of(s)))
		return false;
	writer_query(w, "SELECT pg_catalog.pg_is_in_recovery(), "
	    "pg_catalog.current_setting('transaction_read_only')");
	return true;
}

/* 't' or 'on' are true. */
static enum fact take_fact(struct reader *r)
{
	const uint32_t len = reader_u32(r);
	const uint8_t *const at = reader_bytes(r, r->failed ? 0 : len);

	if (r->failed || len == 0)
		return FACT_UNKNOWN;
	return at[0] == 't' || (len == 2 && at[1] == 'n') ? FACT_YES : FACT_NO;
}

void server_role_answer(struct server *s, const uint8_t *body, size_t len)
{
	struct reader r;

	reader_init(&r, body, len);
	(void)reader_u16(&r);	/* columns */
	s->attempt->role.standby = take_fact(&r);
	s->attempt->role.read_only = take_fact(&r);
}

/* One of several addresses of a name: others first, for a while. */
static void avoid_address(const struct server *s)
{
	if (s->host.kind == HOST_NAME)
		dns_avoid(s->ss->dns, s->host.text, &s->addr,
		    time_now() + s->ps.pool->limits.login_retry);
}

int server_role_check(struct server *s)
{
	struct pool *const p = s->ps.pool;
	const char *const why = host_role_misfit(&s->attempt->role,
	    attrs_of(s));

	s->standby = (uint8_t)s->attempt->role.standby;
	if (attrs_of(s) == ATTRS_ANY)
		return 0;
	hosts_set_misfit(p, s->host.item, why != NULL);
	if (why == NULL || (attrs_of(s) == ATTRS_PREFER_STANDBY &&
	    !hosts_better_left(p, s->ss->catalog, time_now())))
		return 0;
	hosts_failed(p, s->host.item, false, time_now());
	avoid_address(s);
	struct close_cause cause = close_cause(CLOSE_HOST_DOES_NOT_FIT);

	cause.text = why;
	server_fail_cause(s, cause);
	return -1;
}
