/* written.c - an answer that is there as a whole, sent bit by bit.
 * SPDX-License-Identifier: ISC */
#include "http/written.h"

#include "base/mem.h"
#include "base/text.h"
#include "http/httpd.h"

bool written_more(struct written *x, struct text *t)
{
	const size_t room = t->size - 1 - t->len, left = x->w.len - x->sent;
	const size_t n = left < room ? left : room;

	if (n > 0)
		text_add_bytes(t, x->w.at + x->sent, n);
	x->sent += n;
	return x->sent < x->w.len;
}

static enum httpd_more more(void *body, struct text *t)
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
		.more = more, .free = written_free };

	return &source;
}
