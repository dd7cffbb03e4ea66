/* gather.c - an answer that is made bit by bit, and gets an ETag.
 * SPDX-License-Identifier: ISC */
#include "http/gather.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/text.h"
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

static void keep(struct gather *g, const struct text *t)
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
static bool is_known(const struct gather *g, const char *tag)
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
	if (is_known(g, tag))
		g->head.status = 304;
	return &g->head;
}

static const struct httpd_head *failed(struct gather *g)
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
		keep(g, t);
	if (g->failed || more == HTTPD_BROKEN)
		return failed(g);
	if (g->complete)
		return tagged(g);
	return g->bytes > GATHER_BYTES ? &g->head : NULL;
}

static enum httpd_more more(void *body, struct text *t)
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
		.head = head, .more = more, .free = gather_free };

	return &source;
}
