/* slow.c - the log of queries that took long (log_min_duration).
 * SPDX-License-Identifier: ISC */
#include "session/slow.h"

#include <string.h>

#include "base/crypto.h"
#include "base/log.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "proto/prepared.h"
#include "proto/traceparent.h"
#include "session/client.h"
#include "session/sessions.h"

#define TEXT_BYTES 1000		/* of a query, at most */
#define MS (USEC / 1000)

void slow_forget(struct client *c)
{
	mem_free(c->traceparent);
	c->traceparent = NULL;
	if (c->query_text == NULL)
		return;
	secret_wipe(c->query_text, strlen(c->query_text));
	mem_free(c->query_text);
	c->query_text = NULL;
}

static void keep_text(struct client *c, const uint8_t *p, size_t n)
{
	const size_t len = strnlen((const char *)p,
	    n < TEXT_BYTES ? n : TEXT_BYTES);

	c->query_text = mem_alloc(len + 1);
	if (c->query_text == NULL)
		return;		/* the line comes without it */
	memcpy(c->query_text, p, len);
	c->query_text[len] = '\0';
}

static void keep(struct client *c, const uint8_t *p, size_t n)
{
	char trace[TRACEPARENT_BYTES];

	if (traceparent_find((const char *)p, n, trace))
		c->traceparent = mem_strdup(trace);
	if (sessions_settings(c->ss)->log_query_text)
		keep_text(c, p, n);
}

/* What is behind the NUL of the string at p; end when there is none. */
static const uint8_t *behind(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *const nul = p < end ?
	    memchr(p, 0, (size_t)(end - p)) : NULL;

	return nul == NULL ? end : nul + 1;
}

/* Bind: the statement's text is known if its name is ours to translate. */
static void keep_bound(struct client *c, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *const name = behind(p, end);

	if (name == end || memchr(name, 0, (size_t)(end - name)) == NULL)
		return;		/* not here yet */
	const struct prepared_name *const n = prepared_name_find(
	    c->statements, (const char *)name);

	if (n != NULL)
		keep(c, n->stmt->body, n->stmt->len);
}

void slow_note(struct client *c, const uint8_t *m, size_t n)
{
	const uint8_t *const body = m + MSG_HEADER;
	const uint8_t *const end = m + n;

	slow_forget(c);
	switch (m[0]) {
	case FE_QUERY:
		keep(c, body, (size_t)(end - body));
		break;
	case FE_PARSE:
		keep(c, behind(body, end), (size_t)(end - behind(body, end)));
		break;
	case FE_BIND:
		/* a name that is cut has no NUL */
		keep_bound(c, body, end);
		break;
	default:
		break;
	}
}

static void write_line(struct client *c, usec_t duration, const char *how)
{
	const usec_t wait = c->waited < duration ? c->waited : duration;
	const usec_t run = duration - wait;
	const char *const text = c->query_text != NULL ? c->query_text : "";
	const char *const trace = c->traceparent != NULL ? c->traceparent : "";

	if (duration >= sessions_settings(c->ss)->log_min_duration)
		log_at(LEVEL_INFO, &c->who, "slow query: wait %lld.%03d ms, "
		    "run %lld.%03d ms%s%s%s%s%s", (long long)(wait / MS),
		    (int)(wait % MS), (long long)(run / MS), (int)(run % MS),
		    how, trace[0] != '\0' ? ", traceparent " : "", trace,
		    text[0] != '\0' ? ": " : "", text);
	slow_forget(c);
}

void slow_log(struct client *c, usec_t duration)
{
	write_line(c, duration, "");
}

void slow_log_unfinished(struct client *c)
{
	if (c->query_start == 0 ||
	    sessions_settings(c->ss)->log_min_duration <= 0)
		return;
	const usec_t duration = time_precise() - c->query_start;

	if (c->pc.state == CLIENT_WAITING)
		c->waited = duration;
	write_line(c, duration, ", unfinished");
}
