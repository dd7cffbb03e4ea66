/* server_origin.c - what a server had before any client did. Of what it does
 * not
 * report, what connect_query has made of it. (spec/pooling.md section 21)
 * SPDX-License-Identifier: ISC */
#include "upstream/server_origin.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/server.h"
#include "session/sessions.h"

#define NULL_FIELD UINT32_MAX

/* The number of the first silent value at or behind i; -1: there is none. */
static int next_silent(const struct server *s, int i)
{
	const int n = params_count(s->ss->params);

	while (i < n && (s->origin.silent >> i & 1) == 0)
		i++;
	return i < n ? i : -1;
}

static void server_origin_write_text(struct writer *w, const char *sql)
{
	writer_bytes(w, sql, strlen(sql));
}

/* A setting that the server does not know is NULL. */
static void write_question(struct writer *w, const char *name)
{
	server_origin_write_text(w, "pg_catalog.current_setting('");
	for (; *name != '\0'; name++) {
		if (*name == '\'' || *name == '\\')
			writer_u8(w, (uint8_t)*name);
		writer_u8(w, (uint8_t)*name);
	}
	server_origin_write_text(w, "', true)");
}

void server_origin_question(struct server *s, struct writer *w)
{
	s->origin.silent = params_silent(s->params);
	writer_begin(w, FE_QUERY);
	server_origin_write_text(w, "SELECT ");
	for (int i = next_silent(s, 0); i >= 0; i = next_silent(s, i + 1)) {
		write_question(w, params_name(s->ss->params, i));
		server_origin_write_text(w, ", ");
	}
	write_question(w, "role");
	writer_u8(w, 0);
	writer_end(w);
}

/* The last column; see broker_sets.c. 0, or -1: it is broken, or no memory. */
static int take_role(struct server *s, struct reader *r)
{
	const uint32_t len = reader_left(r) == 0 ? NULL_FIELD : reader_u32(r);
	struct writer pair;

	baggage_unref(&s->keep.base);
	if (r->failed || len == NULL_FIELD)
		return r->failed ? -1 : 0;
	writer_init(&pair, BAGGAGE_BYTES);
	writer_str(&pair, "role");
	writer_bytes(&pair, reader_bytes(r, len), len);
	writer_u8(&pair, 0);
	if (!r->failed && !pair.failed)
		s->keep.base = baggage_get(s->ss->baggage, pair.at, pair.len);
	writer_fini(&pair);
	return s->keep.base == NULL ? -1 : 0;
}

/* One column of the answer. 0, or -1: there is none, or no memory. */
static int take_value(struct params **set, int i, struct reader *r)
{
	const uint32_t len = reader_u32(r);

	if (r->failed || len == NULL_FIELD)
		return r->failed ? -1 : 0;
	const uint8_t *const at = reader_bytes(r, len);
	char *const value = r->failed ? NULL : mem_strndup((const char *)at,
	    len);
	const int rc = value == NULL ? -1 : params_set(set, i, value);

	mem_free(value);
	return rc;
}

int server_origin_answer(struct server *s, const uint8_t *body, size_t len)
{
	struct reader r;

	reader_init(&r, body, len);
	(void)reader_u16(&r);	/* columns */
	if (s->origin.set == NULL)
		s->origin.set = params_ref(s->params);
	for (int i = next_silent(s, 0); i >= 0; i = next_silent(s, i + 1)) {
		if (take_value(&s->origin.set, i, &r) < 0)
			return -1;
	}
	return take_role(s, &r);
}

void server_origin_known(struct server *s)
{
	s->origin.silent = params_silent(s->params);
	if (s->origin.set == NULL)
		s->origin.set = params_ref(s->params);
}
