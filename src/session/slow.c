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

#define TEXT_BYTES 1000		/* of a query */
#define SPARES_MAX 64		/* notes that are kept for later queries */
#define MS (USEC / 1000)

/* What the line for a query says, if the query takes long. */
struct slow_query {
	struct slow_query *next;	/* of the spare notes */
	size_t value_len;		/* 0: no traceparent */
	char value[TRACEPARENT_RAW];	/* not parsed yet */
	char trace[TRACEPARENT_BYTES];	/* "" = none; parsed */
	char text[TEXT_BYTES + 1];	/* "" = not kept */
};

/* NULL: the line has no note. */
static struct slow_query *note_of(struct client *c)
{
	struct slow_list *const spare = &c->ss->slow;
	struct slow_query *q = c->slow;

	if (q != NULL)
		return q;
	q = spare->first;
	if (q != NULL) {
		spare->first = q->next;
		spare->count--;
	} else {
		q = mem_alloc(sizeof *q);
	}
	if (q == NULL)
		return NULL;
	q->value_len = 0;
	q->trace[0] = q->text[0] = '\0';
	return c->slow = q;
}

void slow_forget(struct client *c)
{
	struct slow_list *const spare = &c->ss->slow;
	struct slow_query *const q = c->slow;

	if (q == NULL)
		return;
	c->slow = NULL;
	if (q->text[0] != '\0')
		secret_wipe(q->text, strlen(q->text));
	if (spare->count == SPARES_MAX) {
		mem_free(q);
		return;
	}
	q->next = spare->first;
	spare->first = q;
	spare->count++;
}

void slow_fini(struct slow_list *spare)
{
	for (struct slow_query *q; (q = spare->first) != NULL;) {
		spare->first = q->next;
		mem_free(q);
	}
	spare->count = 0;
}

static int slow_keep_text(struct client *c, const void *p, size_t n)
{
	struct slow_query *const q = note_of(c);

	if (q == NULL)
		return -1;
	const size_t len = strnlen(p, n < TEXT_BYTES ? n : TEXT_BYTES);

	memcpy(q->text, p, len);
	q->text[len] = '\0';
	return 0;
}

int slow_set_text(struct client *c, const char *text)
{
	return slow_keep_text(c, text, strlen(text));
}

const char *slow_text(const struct client *c)
{
	return c->slow != NULL && c->slow->text[0] != '\0' ? c->slow->text :
	    NULL;
}

static void keep_trace(struct client *c, const char *value, size_t n)
{
	struct slow_query *const q = note_of(c);

	if (q == NULL)
		return;
	q->value_len = n < sizeof q->value ? n : sizeof q->value;
	memcpy(q->value, value, q->value_len);
}

const char *slow_trace(const struct client *c)
{
	struct slow_query *const q = c->slow;

	if (q == NULL)
		return NULL;
	if (q->value_len > 0 &&
	    !traceparent_read(q->value, q->value_len, q->trace))
		q->trace[0] = '\0';
	q->value_len = 0;
	return q->trace[0] != '\0' ? q->trace : NULL;
}

static void slow_keep(struct client *c, const uint8_t *p, size_t n)
{
	size_t len;
	const char *const value = traceparent_seek((const char *)p, n, &len);

	if (value != NULL)
		keep_trace(c, value, len);
	if (sessions_settings(c->ss)->log_query_text)
		slow_keep_text(c, p, n);
}

/*
 * Returns the byte after the NUL of the string at p, or end if there is none.
 */
static const uint8_t *behind(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *const nul = p < end ?
	    memchr(p, 0, (size_t)(end - p)) : NULL;

	return nul == NULL ? end : nul + 1;
}

/*
 * Bind: the text of the statement is known if its name is one that we
 * translate.
 */
static void keep_bound(struct client *c, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *const name = behind(p, end);

	if (name == end || memchr(name, 0, (size_t)(end - name)) == NULL)
		return;		/* not here yet */
	const struct prepared_name *const n = prepared_name_find(
	    c->statements, (const char *)name);

	if (n != NULL)
		slow_keep(c, n->stmt->body, n->stmt->len);
}

void slow_note(struct client *c, const uint8_t *m, size_t n)
{
	const uint8_t *const body = m + MSG_HEADER;
	const uint8_t *const end = m + n;

	slow_forget(c);
	switch (m[0]) {
	case FE_QUERY:
		slow_keep(c, body, (size_t)(end - body));
		break;
	case FE_PARSE:
		slow_keep(c, behind(body, end),
		    (size_t)(end - behind(body, end)));
		break;
	case FE_BIND:
		/* a name that is cut off has no NUL */
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
	const char *const text = slow_text(c);
	const char *const trace = slow_trace(c);

	log_at(LEVEL_INFO, &c->who, "slow query: wait %lld.%03d ms, "
	    "run %lld.%03d ms%s%s%s%s%s", (long long)(wait / MS),
	    (int)(wait % MS), (long long)(run / MS), (int)(run % MS),
	    how, trace != NULL ? ", traceparent " : "",
	    trace != NULL ? trace : "", text != NULL ? ": " : "",
	    text != NULL ? text : "");
}

static void slow_end(struct client *c, usec_t duration, const char *how)
{
	if (duration >= sessions_settings(c->ss)->log_min_duration)
		write_line(c, duration, how);
	slow_forget(c);
}

void slow_log(struct client *c, usec_t duration)
{
	slow_end(c, duration, "");
}

void slow_log_unfinished(struct client *c)
{
	if (c->query_start == 0 ||
	    sessions_settings(c->ss)->log_min_duration <= 0)
		return;
	const usec_t duration = time_precise() - c->query_start;

	if (c->pc.state == CLIENT_WAITING)
		c->waited = duration;
	slow_end(c, duration, ", unfinished");
}
