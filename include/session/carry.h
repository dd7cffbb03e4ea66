/* carry.h - bytes of a burst that must wait: cut messages, queued requests.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CARRY_H
#define SESSION_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto/msg.h"

/* All zero when empty: an idle connection owns no buffer. */
struct carry {
	uint8_t *at;		/* owned */
	uint32_t len, size;
	uint32_t used;			/* the most that len was: to be wiped */
};

/* The first len bytes of c, out of size, are in use now. */
static inline void carry_set_len(struct carry *c, size_t len)
{
	c->len = (uint32_t)len;
	if (c->used < c->len)
		c->used = c->len;
}

/* Keep n bytes of p (which may lie inside at). 0, or -1: no memory. */
int carry_keep(struct carry *c, const void *p, size_t n);
void carry_fini(struct carry *c);

/* What is still to come of a message whose head is done with. */
struct message_rest {
	uint32_t bytes;
	bool dropped;			/* else they pass, as it has */
};

/* Is the other side amid this message? */
static inline bool rest_passes(const struct message_rest *r)
{
	return r->bytes > 0 && !r->dropped;
}

struct stream;

/* A burst: what was carried and what one read has added. */
struct burst {
	uint8_t *at;
	size_t len;
};

/*
 * Read once behind what is carried, into the shared buffer of the loop, or,
 * when that gets too small, into the carry itself (which grows by doubling
 * until it holds max bytes). The burst never exceeds max bytes.
 * Returns: as stream_read(), or STREAM_ERROR with errno ENOMEM/EMSGSIZE.
 */
ssize_t carry_read(struct carry *c, struct stream *s, struct burst *out,
    size_t max);
/* Does it begin with a whole message (or with none)? Then nobody has had time. */
static inline bool carry_is_whole(const struct carry *c, uint32_t max)
{
	return c->len >= MSG_HEADER && msg_size(c->at, max) <= c->len;
}
/* Only what is carried, without reading; false when nothing is. */
bool carry_again(struct carry *c, struct burst *out);
/* Hot: the first used bytes of the burst are done with; keep the rest. 0 or -1. */
static inline int carry_rest(struct carry *c, const struct burst *b,
    size_t used)
{
	return used == b->len && c->at == NULL ? 0 :
	    carry_keep(c, b->at + used, b->len - used);
}

#endif
