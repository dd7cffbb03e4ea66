/* prepared_shape.c - what a Describe of a statement tells.
 * SPDX-License-Identifier: ISC */
#include "proto/prepared_shape.h"

#include <string.h>

#include "proto/msg.h"

/*
 * FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv: not seeded, because a
 * process that takes over knows the same hashes.
 */
#define BASIS 2166136261u
#define PRIME 16777619u

static uint32_t add(uint32_t h, const void *bytes, size_t n)
{
	const uint8_t *const p = bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * PRIME;
	return h;
}

/* None of the values that mean something. */
static uint32_t finish(uint32_t h)
{
	return h <= PREPARED_SHAPE_NONE ? h + BASIS : h;
}

uint32_t prepared_shape_params(const uint8_t *body, size_t n)
{
	return finish(add(BASIS, body, n));
}

/*
 * Of a column: its name and type. Where it comes from, and how it is printed,
 * its client need not know; its modifier tells nothing of how to read it.
 */
uint32_t prepared_shape_columns(const uint8_t *body, size_t n)
{
	struct reader r;
	uint32_t h = BASIS;

	reader_init(&r, body, n);
	for (unsigned left = reader_u16(&r); left > 0 && !r.failed; left--) {
		const char *const name = reader_str(&r);

		(void)reader_u32(&r);	/* the table */
		(void)reader_u16(&r);	/* and which column of it */
		const uint32_t type = reader_u32(&r);

		(void)reader_u16(&r);	/* size */
		(void)reader_u32(&r);	/* modifier */
		(void)reader_u16(&r);	/* format */
		if (name != NULL)
			h = add(add(h, name, strlen(name) + 1), &type,
			    sizeof type);
	}
	return finish(h);
}

struct prepared_bind prepared_bind_read(const uint8_t *body, size_t n)
{
	struct prepared_bind out = { .whole = false };
	struct reader r;

	reader_init(&r, body, n);
	(void)reader_str(&r);	/* the portal */
	(void)reader_str(&r);	/* the statement */
	for (unsigned left = reader_u16(&r); left > 0 && !r.failed; left--)
		out.binary = reader_u16(&r) != 0 || out.binary;
	for (unsigned left = reader_u16(&r); left > 0 && !r.failed; left--) {
		const uint32_t len = reader_u32(&r);

		if (len != UINT32_MAX)	/* NULL */
			(void)reader_bytes(&r, len);
	}
	out.formats = reader_u16(&r);
	out.whole = !r.failed;
	return out;
}
