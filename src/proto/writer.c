/* writer.c - builds messages; a failure sticks and is tested once at the end.
 * SPDX-License-Identifier: ISC */
#include "proto/writer.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "proto/msg.h"

#define FIRST_SIZE 512	/* enough for the answer to a login */
#define NOT_OPEN SIZE_MAX /* start while no message is open */

void writer_init(struct writer *w, size_t cap)
{
	/* A length word is signed for the peer. */
	*w = (struct writer){
		.cap = cap < INT32_MAX ? cap : INT32_MAX,
		.start = NOT_OPEN,
	};
}

static void wipe_and_free(struct writer *w)
{
	if (w->at == NULL)
		return;
	secret_wipe(w->at, w->len);
	mem_free(w->at);
}

void writer_fini(struct writer *w)
{
	wipe_and_free(w);
	writer_init(w, w->cap);
}

/* Not by mem_resize(), which would leave a copy of a password behind. */
static bool grow(struct writer *w, size_t need)
{
	size_t size = w->size > 0 ? w->size : FIRST_SIZE;

	while (size < need)
		size *= 2;
	if (size > w->cap)
		size = w->cap;

	uint8_t *at = mem_alloc(size);
	if (at == NULL)
		return false;
	if (w->len > 0)
		memcpy(at, w->at, w->len);
	wipe_and_free(w);
	w->at = at;
	w->size = size;
	return true;
}

/* Is there room for n more bytes? false once failed. */
static bool make_room(struct writer *w, size_t n)
{
	if (!w->failed && n <= w->cap - w->len && grow(w, w->len + n))
		return true;
	/* there is no room for anything any more */
	w->size = w->len;
	w->failed = true;
	return false;
}

/* Room for n more bytes, counted as used already; NULL once failed. */
static inline uint8_t *take(struct writer *w, size_t n)
{
	if (n > w->size - w->len && !make_room(w, n))
		return NULL;
	w->len += n;
	return w->at + w->len - n;
}

void writer_bytes(struct writer *w, const void *p, size_t n)
{
	if (n == 0)
		return;

	uint8_t *at = take(w, n);
	if (at != NULL)
		memcpy(at, p, n);
}

void writer_u8(struct writer *w, uint8_t v)
{
	uint8_t *at = take(w, sizeof v);

	if (at != NULL)
		*at = v;
}

void writer_u16(struct writer *w, uint16_t v)
{
	const uint8_t bytes[] = { (uint8_t)(v >> 8), (uint8_t)v };

	writer_bytes(w, bytes, sizeof bytes);
}

void writer_u32(struct writer *w, uint32_t v)
{
	uint8_t *at = take(w, sizeof v);

	if (at != NULL)
		msg_put_u32(at, v);
}

void writer_str(struct writer *w, const char *s)
{
	writer_bytes(w, s, strlen(s) + 1);
}

void writer_begin(struct writer *w, char type)
{
	assert(w->start == NOT_OPEN);

	if (type != 0)
		writer_u8(w, (uint8_t)type);
	w->start = w->len;
	writer_u32(w, 0);
}

void writer_end(struct writer *w)
{
	assert(w->start != NOT_OPEN);

	if (!w->failed)
		msg_put_u32(w->at + w->start, (uint32_t)(w->len - w->start));
	w->start = NOT_OPEN;
}

void writer_ready(struct writer *w, char status)
{
	writer_begin(w, BE_READY_FOR_QUERY);
	writer_u8(w, (uint8_t)status);
	writer_end(w);
}

void writer_query(struct writer *w, const char *sql)
{
	writer_begin(w, FE_QUERY);
	writer_str(w, sql);
	writer_end(w);
}

void writer_parameter_status(struct writer *w, const char *name,
    const char *value)
{
	writer_begin(w, BE_PARAMETER_STATUS);
	writer_str(w, name);
	writer_str(w, value);
	writer_end(w);
}
