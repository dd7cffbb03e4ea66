/* gather.h - an answer that is made bit by bit, and gets an ETag.
 *
 * The tag stands in the head, before the body it is of: so that is gathered
 * first. One that is too long for it goes without a tag.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_GATHER_H
#define HTTP_GATHER_H

struct gather;
struct httpd_source;

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

#endif
