/* server_origin.c - what a server had before any client did. Of what it does not
 * report, what connect_query has made of it. (spec/pooling.md section 21)
 * SPDX-License-Identifier: ISC */
#include "session/server_origin.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/reader.h"
#include "proto/writer.h"
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

static void write_text(struct writer *w, const char *sql)
{
	writer_bytes(w, sql, strlen(sql));
}

/* A setting that the server does not know is NULL. */
static void write_question(struct writer *w, const char *name)
{
	write_text(w, "pg_catalog.current_setting('");
	for (; *name != '\0'; name++) {
		if (*name == '\'' || *name == '\\')
			writer_u8(w, (uint8_t)*name);
		writer_u8(w, (uint8_t)*name);
	}
	write_text(w, "', true)");
}

bool server_origin_question(struct server *s, struct writer *w)
{
	const char *between = "SELECT ";

	s->origin.silent = params_silent(s->params);
	if (next_silent(s, 0) < 0)
		return false;
	writer_begin(w, FE_QUERY);
	for (int i = next_silent(s, 0); i >= 0; i = next_silent(s, i + 1)) {
		write_text(w, between);
		write_question(w, params_name(s->ss->params, i));
		between = ", ";
	}
	writer_u8(w, 0);
	writer_end(w);
	return true;
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
	return 0;
}

void server_origin_known(struct server *s)
{
	s->origin.silent = params_silent(s->params);
	if (s->origin.set == NULL)
		s->origin.set = params_ref(s->params);
}
