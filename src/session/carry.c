/* carry.c - bytes of a burst that must wait: cut messages, queued requests.
 * SPDX-License-Identifier: ISC */
#include "session/carry.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "io/loop.h"
#include "io/stream.h"

/*
 * From so many bytes on a carry is a mapping: it gets longer without a copy, and
 * whoever has its memory next finds zeros.
 */
#define MAPPED (1 << 20)

static void release(const struct carry *c)
{
	if (c->size >= MAPPED) {
		mem_unmap(c->at, c->size);
		return;
	}
	secret_wipe(c->at, c->used);	/* may be a PasswordMessage */
	if (c->size == MEM_BLOCK)
		mem_block_free(c->at);
	else
		mem_free(c->at);
}

void carry_fini(struct carry *c)
{
	if (c->at == NULL)
		return;
	mem_note(MEM_CARRY, -1, -(long)c->size);
	release(c);
	*c = (struct carry){ 0 };
}

/* Of size bytes; NULL: no memory. */
static uint8_t *get(size_t size)
{
	return size >= MAPPED ? mem_map(size) :
	    size == MEM_BLOCK ? mem_block() : mem_alloc(size);
}

/* Another buffer, of size bytes, has what is there; NULL: no memory. */
static uint8_t *replace(struct carry *c, size_t size)
{
	uint8_t *const at = get(size);

	if (at == NULL || c->at == NULL)
		return at;
	memcpy(at, c->at, c->len);
	release(c);
	c->used = c->len;
	return at;
}

/* Make room for size bytes, keeping what is there. */
static int reserve(struct carry *c, size_t size)
{
	if (size <= c->size)
		return 0;
	if (size > UINT32_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (size <= MEM_BLOCK)
		size = MEM_BLOCK;
	const bool first = c->at == NULL;
	uint8_t *const at = c->size >= MAPPED ?
	    mem_map_longer(c->at, c->size, size) : replace(c, size);

	if (at == NULL) {
		errno = ENOMEM;
		return -1;
	}
	mem_note(MEM_CARRY, first, (long)(size - c->size));
	c->at = at;
	c->size = (uint32_t)size;
	return 0;
}

int carry_keep(struct carry *c, const void *p, size_t n)
{
	if (n == 0) {
		carry_fini(c);
		return 0;
	}
	const uint8_t *from = p;
	const bool inside = c->at != NULL && from >= c->at &&
	    from < c->at + c->size;

	if (!inside && reserve(c, n) < 0)
		return -1;
	if (from != c->at)
		memmove(c->at, p, n);
	carry_set_len(c, n);
	return 0;
}

/* Out of the hot path: what is read follows what is carried, or has little room. */
static __attribute__((noinline)) ssize_t read_behind(struct carry *c,
    struct stream *s, struct burst *out, size_t max)
{
	uint8_t *buf = loop_buffer(s->loop);
	size_t size = LOOP_BUFFER;
	const size_t had = c->len;

	if (had >= max) {
		errno = EMSGSIZE;
		return STREAM_ERROR;
	}
	if (had > LOOP_BUFFER / 2) {
		/* a long message that must be whole: it grows in place */
		if (had == c->size &&
		    reserve(c, had < max / 2 ? had * 2 : max) < 0)
			return STREAM_ERROR;
		buf = c->at;
		size = c->size;
	} else if (had > 0) {
		memcpy(buf, c->at, had);
	}
	if (size > max)
		size = max;
	const ssize_t n = stream_read(s, buf + had, size - had);

	if (n <= 0)
		return n;
	out->at = buf;
	out->len = had + (size_t)n;
	if (buf == c->at)
		carry_set_len(c, out->len);
	return n;
}

ssize_t carry_read(struct carry *c, struct stream *s, struct burst *out,
    size_t max)
{
	if (c->len > 0 || max < LOOP_BUFFER)
		return read_behind(c, s, out, max);
	out->at = loop_buffer(s->loop);
	const ssize_t n = stream_read(s, out->at, LOOP_BUFFER);

	if (n > 0)
		out->len = (size_t)n;
	return n;
}

bool carry_again(struct carry *c, struct burst *out)
{
	out->at = c->at;
	out->len = c->len;
	return c->len > 0;
}
