/* written.h - an answer that is there as a whole, sent bit by bit.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_WRITTEN_H
#define HTTP_WRITTEN_H

#include "proto/writer.h"

struct httpd_source;
struct text;

struct written {
	struct writer w;
	size_t sent;		/* bytes of the text sent */
};

/* Put into t what it has room for. Returns false when that was all. */
bool written_more(struct written *x, struct text *t);

/* The body for written_source(), of cap bytes at most. NULL: no memory. */
struct written *written_new(size_t cap);
const struct httpd_source *written_source(void);

#endif
