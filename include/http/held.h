/* held.h - an answer each bit of which is made while all workers stand still.
 *
 * What is looked at is other workers', and so are the lists in which an answer
 * has its place: that it is left takes a hold, too.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HELD_H
#define HTTP_HELD_H

#include <stdbool.h>

struct admin;
struct held;
struct httpd_source;

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

#endif
