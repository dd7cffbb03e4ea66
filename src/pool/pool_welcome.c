/* pool_welcome.c - what clients of a pool are told at the end of their login.
 * SPDX-License-Identifier: ISC */
#include "pool/pool_welcome.h"

#include <string.h>

#include "base/mem.h"
#include "pool/pool.h"
#include "proto/msg.h"
#include "proto/params.h"

#define BYTES_MAX (1 << 20)

/* 0 is for clients that have come from elsewhere: nobody knows what they heard. */
static void pool_welcome_count(struct pool *p)
{
	if (++p->told == 0)
		p->told = 1;
}

static bool tells(const struct welcome *g, const void *bytes, size_t len)
{
	return g != NULL && g->len == len &&
	    (len == 0 || memcmp(g->bytes, bytes, len) == 0);
}

int pool_put_welcome(struct pool *p, struct params *set, const void *bytes,
    size_t len)
{
	struct welcome *const w = mem_alloc(sizeof *w + len);

	if (w == NULL) {
		params_unref(&set);
		return -1;
	}
	w->params = set;
	w->len = len;
	if (len > 0)
		memcpy(w->bytes, bytes, len);
	if (!tells(p->welcome, bytes, len))
		pool_welcome_count(p);
	pool_drop_welcome(p);
	p->welcome = w;
	return 0;
}

void pool_drop_welcome(struct pool *p)
{
	p->doubted = false;
	if (p->welcome == NULL)
		return;
	params_unref(&p->welcome->params);
	mem_free(p->welcome);
	p->welcome = NULL;
}

void pool_doubt_welcome(struct pool *p)
{
	p->doubted = p->welcome != NULL;
}

bool pool_is_welcoming(const struct pool *p)
{
	return p->welcome != NULL && (!p->doubted || p->failing);
}

bool welcome_is_fixed(const char *name)
{
	static const char *const fixed[] = { "in_hot_standby",
		"server_version", "server_encoding", "integer_datetimes" };

	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
		if (strcmp(name, fixed[i]) == 0)
			return true;
	}
	return false;
}

/* One message, whose bytes are at, of those that the pool made itself. */
struct status {
	const uint8_t *at;
	size_t size;
	const char *name, *value;
};

static bool pool_welcome_next(const struct welcome *g, size_t *used,
    struct status *s)
{
	struct reader r;

	if (*used >= g->len)
		return false;
	s->at = g->bytes + *used;
	s->size = msg_size(s->at, BYTES_MAX);
	*used += s->size;
	reader_init(&r, s->at + MSG_HEADER, s->size - MSG_HEADER);
	s->name = reader_str(&r);
	s->value = reader_str(&r);
	return true;
}

int pool_renew_welcome(struct pool *p, const char *name, const char *value)
{
	const struct welcome *const g = p->welcome;
	struct status s;
	struct writer w;
	size_t used = 0;
	bool same = false;

	if (g == NULL || !welcome_is_fixed(name))
		return 0;
	writer_init(&w, BYTES_MAX);
	while (pool_welcome_next(g, &used, &s)) {
		if (strcmp(s.name, name) != 0)
			writer_bytes(&w, s.at, s.size);
		else
			same = strcmp(s.value, value) == 0;
	}
	writer_parameter_status(&w, name, value);
	const int rc = same ? 0 : w.failed ? -1 :
	    pool_put_welcome(p, params_ref(g->params), w.at, w.len);

	writer_fini(&w);
	return rc;
}

void welcome_write_news(const struct welcome *g, struct writer *w)
{
	struct status s;
	size_t used = 0;

	/* is_superuser is that of a role: the client may have another by now */
	while (pool_welcome_next(g, &used, &s)) {
		if (strcmp(s.name, "is_superuser") != 0)
			writer_bytes(w, s.at, s.size);
	}
}
