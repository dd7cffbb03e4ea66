/* gather.h - answers: gathered bit by bit, made in a hold, or whole.
 *
 * The tag stands in the head, before the body it is of: so that is gathered
 * first. One that is too long for it goes without a tag.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_GATHER_H
#define HTTP_GATHER_H

#include <stdbool.h>

#include "proto/msg.h"

struct admin;
struct gather;
struct held;
struct httpd_source;
struct text;

#define GATHER_BYTES (512 * 1024)	/* a longer body has no tag */

struct gather_order {
	const struct httpd_source *source;	/* without head() */
	void *body;			/* of the source */
	const char *type;		/* of the content; static */
	const char *if_none_match;	/* of the request; copied */
};

/* The body for gather_source(). NULL: no memory, and o->body is freed. */
struct gather *gather_new(const struct gather_order *o);
const struct httpd_source *gather_source(void);

/*
 * An answer each bit of which is made while all workers stand still.
 *
 * What is looked at is other workers', and so are the lists in which an answer
 * has its place: that it is left takes a hold, too.
 */

struct holds {
	const struct admin *admin;	/* borrowed: the first worker's */
	struct held *late;		/* DL: to be freed once nobody hangs */
};

/* False: a worker hangs, or does not come. */
bool holds_take(const struct holds *hs);
void holds_release(const struct holds *hs);
/* From time to time, and before hs goes. */
void holds_free_late(struct holds *hs);

/*
 * The body for held_source(), of a source without head(), and its body. NULL: no
 * memory, and body is freed; it must not have left the first worker's lists yet.
 */
struct held *held_new(struct holds *hs, const struct httpd_source *source,
    void *body);
const struct httpd_source *held_source(void);

/* An answer that is there as a whole, sent bit by bit. */

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
