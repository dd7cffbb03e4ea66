/* relay_watch.c - what passes is watched for what it may leave in the session.
 * SPDX-License-Identifier: ISC */
#include "session/relay_watch.h"

#include "proto/msg.h"
#include "proto/params.h"
#include "proto/sql.h"
#include "proto/sql_leave.h"
#include "proto/track_look.h"
#include "session/relay_parts.h"
#include "session/sessions.h"

/* What is not here yet may have any word. */
static bool may_leave(const struct relay_up *up)
{
	return up->have < up->size || sql_may_leave(up->m + MSG_HEADER,
	    up->size - MSG_HEADER);
}

/*
 * Does the text begin with a SET or RESET that leaves nothing which we don't
 * hear of: SET LOCAL, or one of a parameter that the server reports?
 */
static bool is_harmless(const struct relay_up *up)
{
	const char *sql = (const char *)up->m + MSG_HEADER;
	const size_t n = up->size - MSG_HEADER;
	char name[SQL_NAME_MAX];

	if (!sql_may_matter(sql, n))
		return false;
	if (sql_is_local(sql, n))
		return true;
	const char *at = sql;
	const enum sql_change what = sql_next_change(&at, sql + n, name);
	const int i = what == SQL_NO_CHANGE || name[0] == '\0' ? -1 :
	    params_find(up->c->ss->params, name);

	return i >= 0 && (up->s->origin.silent >> i & 1) == 0;
}

void relay_watch_call(const struct relay_up *up)
{
	struct trace *const t = &up->s->trace;

	if (up->m[0] == FE_FUNCTION_CALL || may_leave(up))
		t->marked = true;
	else if (is_harmless(up))
		t->local++;
}

void relay_watch_parse(const struct relay_up *up)
{
	if (!up->watched || !may_leave(up))
		return;
	up->s->trace.marked = true;
	/* who binds it later is not looked at */
	if (!up->named && (up->have <= MSG_HEADER || up->m[MSG_HEADER] != '\0'))
		up->s->trace.lasting = true;
}

void relay_watch_tag(const struct relay_down *d)
{
	const struct track *const t = &d->s->track;
	const char *const tag = (const char *)d->m + MSG_HEADER;
	const unsigned left = t->count;

	if (d->s->chore != CHORE_NONE || !relay_watches(d->s->ps.pool) ||
	    d->m[d->size - 1] != '\0')
		return;
	trace_tag(&d->s->trace, tag, left == 1 ||
	    (left == 2 && track_req(t, 1)->type == FE_SYNC));
}
