/* auth_answer.c - what a server says to auth_query, message by message.
 *
 * There are two results: that of the SELECT that sets the search_path, which
 * concerns nobody, and that of auth_query (spec/authentication.md section 6).
 * SPDX-License-Identifier: ISC */
#include "login/auth_answer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proto/msg.h"

#define SECRET_MAX 65530	/* spec/authentication.md section 1 */
#define NULL_FIELD UINT32_MAX
#define RESULTS 2

struct message {
	const uint8_t *body;
	size_t len;
};

typedef enum auth_answer_kind handler(struct auth_answer *a,
    const struct message *m);

static enum auth_answer_kind auth_answer_refuse(struct auth_answer *a,
    const char *why)
{
	text_copy(a->why, sizeof a->why, why);
	return AUTH_ANSWER_BAD;
}

static enum auth_answer_kind refuse_unexpected(struct auth_answer *a)
{
	return auth_answer_refuse(a, "unexpected response from auth_query");
}

static enum auth_answer_kind auth_answer_ignore(struct auth_answer *a,
    const struct message *m)
{
	(void)a;
	(void)m;
	return AUTH_ANSWER_MORE;
}

static enum auth_answer_kind refuse_columns(struct auth_answer *a, unsigned n)
{
	snprintf(a->why, sizeof a->why,
	    "expected 2 columns from auth_query, not %u", n);
	return AUTH_ANSWER_BAD;
}

/* RowDescription and DataRow begin with the number of columns. */
static enum auth_answer_kind auth_answer_check_columns(struct auth_answer *a,
    const struct message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const unsigned n = reader_u16(&r);

	if (r.failed)
		return refuse_unexpected(a);
	return n == 2 ? AUTH_ANSWER_MORE : refuse_columns(a, n);
}

static enum auth_answer_kind on_no_data(struct auth_answer *a,
    const struct message *m)
{
	(void)m;
	return refuse_columns(a, 0);
}

static struct auth_field read_field(struct reader *r)
{
	struct auth_field f = { NULL, 0 };
	const uint32_t n = reader_u32(r);

	if (r->failed || n == NULL_FIELD)
		return f;
	f.at = (const char *)reader_bytes(r, n);
	f.len = f.at != NULL ? n : 0;
	if (f.at != NULL && memchr(f.at, '\0', n) != NULL)
		r->failed = true;	/* no text of PostgreSQL's has that */
	return f;
}

static enum auth_answer_kind auth_answer_on_row(struct auth_answer *a,
    const struct message *m)
{
	struct reader r;

	if (a->results == 0)
		return AUTH_ANSWER_MORE;
	if (auth_answer_check_columns(a, m) == AUTH_ANSWER_BAD)
		return AUTH_ANSWER_BAD;
	reader_init(&r, m->body, m->len);
	reader_u16(&r);
	a->name = read_field(&r);
	if (a->name.at == NULL && !r.failed)
		return auth_answer_refuse(a,
		    "auth_query response contained null user name");
	a->secret = read_field(&r);
	if (r.failed || reader_left(&r) > 0 || a->name.len == 0 ||
	    a->secret.len > SECRET_MAX)
		return refuse_unexpected(a);
	return AUTH_ANSWER_ROW;
}

static enum auth_answer_kind on_complete(struct auth_answer *a,
    const struct message *m)
{
	(void)m;
	return ++a->results <= RESULTS ? AUTH_ANSWER_MORE :
	    refuse_unexpected(a);
}

static enum auth_answer_kind auth_answer_on_parameter(struct auth_answer *a,
    const struct message *m)
{
	struct reader r;

	reader_init(&r, m->body, m->len);
	const char *name = reader_str(&r), *value = reader_str(&r);

	if (r.failed)
		return auth_answer_refuse(a, "broken ParameterStatus packet");
	a->name = (struct auth_field){ name, strlen(name) };
	a->secret = (struct auth_field){ value, strlen(value) };
	return AUTH_ANSWER_PARAMETER;
}

static enum auth_answer_kind auth_answer_on_error(struct auth_answer *a,
    const struct message *m)
{
	(void)m;
	auth_answer_refuse(a, "error response from auth_query");
	return AUTH_ANSWER_ERROR;
}

/* Ends it well: then the server is fit for the next client. */
static enum auth_answer_kind auth_answer_on_ready(struct auth_answer *a,
    const struct message *m)
{
	if (a->results != RESULTS || m->len != 1 || m->body[0] != 'I')
		return refuse_unexpected(a);
	return AUTH_ANSWER_END;
}

static handler *const handlers[256] = {
	[BE_PARSE_COMPLETE] = auth_answer_ignore,
	[BE_BIND_COMPLETE] = auth_answer_ignore,
	[BE_COMMAND_COMPLETE] = on_complete,
	[BE_NOTICE_RESPONSE] = auth_answer_ignore,
	[BE_NOTIFICATION_RESPONSE] = auth_answer_ignore,
	[BE_ROW_DESCRIPTION] = auth_answer_check_columns,
	[BE_NO_DATA] = on_no_data,
	[BE_DATA_ROW] = auth_answer_on_row,
	[BE_PARAMETER_STATUS] = auth_answer_on_parameter,
	[BE_ERROR_RESPONSE] = auth_answer_on_error,
	[BE_READY_FOR_QUERY] = auth_answer_on_ready,
};

enum auth_answer_kind auth_answer_take(struct auth_answer *a, char type,
    const uint8_t *body, size_t len)
{
	const struct message m = { body, len };
	handler *const fn = handlers[(uint8_t)type];
	const struct auth_field none = { NULL, 0 };

	a->name = a->secret = none;
	const enum auth_answer_kind k =
	    fn != NULL ? fn(a, &m) : refuse_unexpected(a);

	if (k == AUTH_ANSWER_BAD)
		a->name = a->secret = none;	/* half a row names nobody */
	return k;
}
