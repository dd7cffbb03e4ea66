/* snapshot_parse.c - reads what another process has written about its sessions.
 * SPDX-License-Identifier: ISC */
#include <string.h>

#include "base/err.h"
#include "proto/params.h"
#include "transfer/snapshot_parts.h"

static int64_t get_64(struct reader *r)
{
	const uint64_t high = reader_u32(r);

	return (int64_t)(high << 32 | reader_u32(r));
}

static const uint8_t *get_blob(struct reader *r, uint32_t *len)
{
	*len = reader_u32(r);
	return reader_bytes(r, *len);
}

/* Reads a string that may be NULL. */
static const char *get_text(struct reader *r)
{
	return reader_u8(r) == 0 ? NULL : reader_str(r);
}

static void get_baggage(struct reader *r, struct snapshot_baggage *out)
{
	static const uint8_t nothing[1];
	const bool is_there = reader_u8(r) != 0;

	out->at = get_blob(r, &out->len);
	if (out->at == NULL)
		out->at = nothing;
	if (!is_there)
		out->at = NULL;
}

bool snapshot_next_statement(struct reader *r, struct snapshot_statement *out)
{
	if (reader_left(r) == 0)
		return false;
	out->name = reader_str(r);
	out->server_name = reader_str(r);
	out->body = get_blob(r, &out->len);
	const unsigned flags = reader_u8(r);

	out->retired = (flags & SNAPSHOT_RETIRED) != 0;
	out->unsure = (flags & SNAPSHOT_UNSURE) != 0;
	out->lost = (flags & SNAPSHOT_LOST) != 0;
	out->current = (flags & SNAPSHOT_CURRENT) != 0;
	get_baggage(r, &out->dialect);
	out->shape.params = reader_u32(r);
	out->shape.columns = reader_u32(r);
	out->shape.at = get_64(r);
	return !r->failed;
}

bool snapshot_next_owed(struct reader *r, struct snapshot_owed *out)
{
	if (reader_left(r) == 0)
		return false;
	*out = (struct snapshot_owed){ .type = (char)reader_u8(r) };
	out->how = reader_u8(r);
	out->own = reader_u8(r);
	out->tag = reader_u32(r);
	out->has_op = reader_u8(r) != 0;
	if (!out->has_op)
		return !r->failed;
	out->changes = reader_u32(r);
	out->has_statement = reader_u8(r) != 0;
	if (!out->has_statement)
		out->of.name = reader_str(r);
	else if (!snapshot_next_statement(r, &out->of))
		r->failed = true;	/* the statement was expected */
	return !r->failed;
}

/* A list is a blob. One walk shows that it is well-formed. */
static void get_list(struct reader *r, struct reader *out)
{
	uint32_t len;
	const uint8_t *const at = get_blob(r, &len);

	reader_init(out, at, at == NULL ? 0 : len);
}

static void get_statements(struct reader *r, struct reader *out)
{
	struct snapshot_statement statement;

	get_list(r, out);
	struct reader walk = *out;

	while (snapshot_next_statement(&walk, &statement))
		;
	r->failed = r->failed || walk.failed;
}

static void get_owed(struct reader *r, struct reader *out)
{
	struct snapshot_owed owed;

	get_list(r, out);
	struct reader walk = *out;

	while (snapshot_next_owed(&walk, &owed))
		;
	r->failed = r->failed || walk.failed;
}

/* The head of both kinds of snapshot. */
static int check_head(struct reader *r, char kind, struct err *e)
{
	const uint8_t version = reader_u8(r);

	if (version != SNAPSHOT_VERSION || reader_u8(r) != (uint8_t)kind)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session in an unknown format");
	return 0;
}

static int check_end(const struct reader *r, struct err *e)
{
	if (r->failed || reader_left(r) > 0)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session is broken");
	return 0;
}

static void get_addr(struct reader *r, struct net_addr *out)
{
	const uint8_t *ip;

	*out = (struct net_addr){ .family = reader_u8(r) };
	out->port = reader_u16(r);
	out->pid = (int32_t)reader_u32(r);
	ip = reader_bytes(r, sizeof out->ip);
	if (out->family > NET_IPV6)
		r->failed = true;
	if (!r->failed)
		memcpy(out->ip, ip, sizeof out->ip);
}

int snapshot_parse_client(const void *p, size_t n, struct snapshot_client *out,
    struct err *e)
{
	struct reader r;

	reader_init(&r, p, n);
	if (check_head(&r, 'C', e) < 0)
		return -1;
	out->flags = reader_u32(&r);
	out->born = get_64(&r);
	out->request_time = get_64(&r);
	out->query_start = get_64(&r);
	out->xact_start = get_64(&r);
	out->waited = get_64(&r);
	out->wait_since = get_64(&r);
	out->rest = reader_u32(&r);
	get_addr(&r, &out->addr);
	out->key = get_blob(&r, &out->key_len);
	params_list_read(&r, &out->params);
	get_statements(&r, &out->statements);
	out->carry = get_blob(&r, &out->carry_len);
	out->relay = get_blob(&r, &out->relay_len);
	out->query_text = get_text(&r);
	out->queued = get_blob(&r, &out->queued_len);
	out->last = (uint64_t)get_64(&r);
	get_baggage(&r, &out->baggage);
	get_baggage(&r, &out->brought);
	get_list(&r, &out->channels);
	out->heard = get_blob(&r, &out->heard_len);
	out->early = get_blob(&r, &out->early_len);
	return check_end(&r, e);
}

static void get_place(struct reader *r, struct snapshot_server *out)
{
	out->host = get_text(r);
	out->port = reader_u32(r);
	out->dbname = get_text(r);
	out->forced_user = get_text(r);
	out->connect_query = get_text(r);
	out->host_kind = reader_u8(r);
	out->address = reader_str(r);
	get_addr(r, &out->addr);
}

static void get_keep(struct reader *r, struct snapshot_server *out)
{
	get_baggage(r, &out->has);
	get_baggage(r, &out->base);
	out->keep = reader_u32(r);
	out->pins = reader_u8(r);
	out->lending = reader_u8(r);
	out->bring = reader_u32(r);
	out->resets = reader_u32(r);
	out->bound = reader_u32(r);
}

static void get_trace(struct reader *r, struct snapshot_server *out)
{
	out->trace = reader_u32(r);
	out->sets = reader_u32(r);
	out->local = reader_u32(r);
	out->untold = reader_u8(r);
}

int snapshot_parse_server(const void *p, size_t n, struct snapshot_server *out,
    struct err *e)
{
	struct reader r;

	reader_init(&r, p, n);
	if (check_head(&r, 'S', e) < 0)
		return -1;
	out->flags = reader_u32(&r);
	out->born = get_64(&r);
	out->used = get_64(&r);
	out->runs = reader_u8(&r);
	out->rest = reader_u32(&r);
	out->key = get_blob(&r, &out->key_len);
	params_list_read(&r, &out->params);
	out->silent = (uint64_t)get_64(&r);
	params_list_read(&r, &out->origin);
	get_statements(&r, &out->statements);
	out->forgotten = reader_u32(&r);
	out->carry = get_blob(&r, &out->carry_len);
	out->queued = get_blob(&r, &out->queued_len);
	get_place(&r, out);
	out->status = (char)reader_u8(&r);
	get_owed(&r, &out->owed);
	out->has_welcome = reader_u8(&r) != 0;
	params_list_read(&r, &out->welcome_params);
	out->welcome = get_blob(&r, &out->welcome_len);
	out->last = (uint64_t)get_64(&r);
	get_keep(&r, out);
	get_trace(&r, out);
	get_list(&r, &out->names);
	out->asked = get_blob(&r, &out->asked_len);
	out->unnamed = (uint64_t)get_64(&r);
	out->last_unnamed = (uint64_t)get_64(&r);
	out->startup = (uint64_t)get_64(&r);
	return check_end(&r, e);
}
