/* gather.c - answers: gathered bit by bit, made in a hold, or whole.
 * SPDX-License-Identifier: ISC */
#include "http/gather.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "console/admin.h"
#include "http/httpd.h"

#define TAG_BYTES 48
#define ASKED_BYTES 256		/* of If-None-Match; a longer one is ignored */

struct piece {
	struct piece *prev, *next;
	size_t len;
	char bytes[];
};

struct gather {
	const struct httpd_source *source;
	void *body;			/* owned, of source */
	bool complete;			/* source has no more */
	bool failed;
	struct piece *pieces;		/* DL, owned */
	size_t bytes;
	uint64_t hash;
	struct httpd_head head;
	char asked[ASKED_BYTES];
	char extra[TAG_BYTES + 16];
};

/* FNV-1a: the same text has the same tag, in whatever process. */
static uint64_t hash_on(uint64_t h, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * UINT64_C(1099511628211);
	return h;
}

static void gather_keep(struct gather *g, const struct text *t)
{
	struct piece *const p = mem_alloc(sizeof *p + t->len);

	if (p == NULL) {
		g->failed = true;
		return;
	}
	p->len = t->len;
	memcpy(p->bytes, t->at, t->len);
	DL_APPEND(g->pieces, p);
	g->bytes += t->len;
	g->hash = hash_on(g->hash, t->at, t->len);
}

static void drop_first(struct gather *g)
{
	struct piece *const p = g->pieces;

	DL_DELETE(g->pieces, p);
	mem_free(p);
}

static void drop_all(struct gather *g)
{
	while (g->pieces != NULL)
		drop_first(g);
}

/* (RFC 9110 section 13.1.2) */
static bool gather_is_known(const struct gather *g, const char *tag)
{
	return strcmp(g->asked, "*") == 0 || strstr(g->asked, tag) != NULL;
}

static const struct httpd_head *tagged(struct gather *g)
{
	char tag[TAG_BYTES];
	struct text t;

	text_init(&t, tag, sizeof tag);
	text_addf(&t, "\"%zx-%016" PRIx64 "\"", g->bytes, g->hash);
	text_init(&t, g->extra, sizeof g->extra);
	text_addf(&t, "ETag: %s\r\n", tag);
	g->head.extra = g->extra;
	if (gather_is_known(g, tag))
		g->head.status = 304;
	return &g->head;
}

static const struct httpd_head *gather_failed(struct gather *g)
{
	drop_all(g);
	g->complete = true;
	g->head.status = 503;
	return &g->head;
}

static const struct httpd_head *head(void *body, struct text *t)
{
	struct gather *const g = body;

	const enum httpd_more more = g->source->more(g->body, t);

	g->complete = more == HTTPD_LAST;
	if (t->len > 0)
		gather_keep(g, t);
	if (g->failed || more == HTTPD_BROKEN)
		return gather_failed(g);
	if (g->complete)
		return tagged(g);
	return g->bytes > GATHER_BYTES ? &g->head : NULL;
}

static enum httpd_more gather_more(void *body, struct text *t)
{
	struct gather *const g = body;

	if (g->pieces == NULL && !g->complete)
		return g->source->more(g->body, t);
	if (g->pieces != NULL) {
		text_add_bytes(t, g->pieces->bytes, g->pieces->len);
		drop_first(g);
	}
	return g->pieces != NULL || !g->complete ? HTTPD_MORE : HTTPD_LAST;
}

static void gather_free(void *body)
{
	struct gather *const g = body;

	drop_all(g);
	g->source->free(g->body);
	mem_free(g);
}

struct gather *gather_new(const struct gather_order *o)
{
	struct gather *const g = mem_zalloc(sizeof *g);

	if (g == NULL) {
		o->source->free(o->body);
		return NULL;
	}
	g->source = o->source;
	g->body = o->body;
	g->hash = UINT64_C(14695981039346656037);
	g->head = (struct httpd_head){ .status = 200, .type = o->type };
	if (!text_copy(g->asked, sizeof g->asked, o->if_none_match))
		g->asked[0] = '\0';
	return g;
}

const struct httpd_source *gather_source(void)
{
	static const struct httpd_source source = {
		.head = head, .more = gather_more, .free = gather_free };

	return &source;
}

struct held {
	struct held *prev, *next;	/* in late */
	struct holds *holds;		/* borrowed */
	const struct httpd_source *source;
	void *body;			/* owned, of source */
};

bool holds_take(const struct holds *hs)
{
	struct err e;

	return hs->admin->ops->hold(hs->admin->app, &e) == 0;
}

void holds_release(const struct holds *hs)
{
	hs->admin->ops->let_go(hs->admin->app);
}

static void free_now(struct held *x)
{
	x->source->free(x->body);
	mem_free(x);
}

void holds_free_late(struct holds *hs)
{
	struct held *x, *next;

	if (hs->late == NULL || !holds_take(hs))
		return;
	DL_FOREACH_SAFE(hs->late, x, next)
		free_now(x);
	hs->late = NULL;
	holds_release(hs);
}

static enum httpd_more held_more(void *body, struct text *t)
{
	struct held *const x = body;

	if (!holds_take(x->holds))
		return HTTPD_BROKEN;
	const enum httpd_more rest = x->source->more(x->body, t);

	holds_release(x->holds);
	return rest;
}

static void held_free(void *body)
{
	struct held *const x = body;
	struct holds *const hs = x->holds;

	DL_APPEND(hs->late, x);
	holds_free_late(hs);
}

struct held *held_new(struct holds *hs, const struct httpd_source *source,
    void *body)
{
	struct held *const x = mem_zalloc(sizeof *x);

	if (x == NULL) {
		source->free(body);
		return NULL;
	}
	x->holds = hs;
	x->source = source;
	x->body = body;
	return x;
}

const struct httpd_source *held_source(void)
{
	static const struct httpd_source source = {
		.more = held_more, .free = held_free };

	return &source;
}

bool written_more(struct written *x, struct text *t)
{
	const size_t room = t->size - 1 - t->len, left = x->w.len - x->sent;
	const size_t n = left < room ? left : room;

	if (n > 0)
		text_add_bytes(t, x->w.at + x->sent, n);
	x->sent += n;
	return x->sent < x->w.len;
}

static enum httpd_more written_go_on(void *body, struct text *t)
{
	return written_more(body, t) ? HTTPD_MORE : HTTPD_LAST;
}

static void written_free(void *body)
{
	struct written *const x = body;

	writer_fini(&x->w);
	mem_free(x);
}

struct written *written_new(size_t cap)
{
	struct written *const x = mem_zalloc(sizeof *x);

	if (x != NULL)
		writer_init(&x->w, cap);
	return x;
}

const struct httpd_source *written_source(void)
{
	static const struct httpd_source source = {
		.more = written_go_on, .free = written_free };

	return &source;
}
