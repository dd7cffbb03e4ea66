/* reader.c - a cursor over received bytes that tells "short" from "bad".
 * SPDX-License-Identifier: ISC */
#include "proto/reader.h"

#include <string.h>

#include "proto/msg.h"

void reader_init(struct reader *r, const void *p, size_t n)
{
	static const uint8_t nothing[1];

	*r = (struct reader){ .at = n > 0 ? p : nothing };
	r->end = r->at + n;
}

const uint8_t *reader_bytes(struct reader *r, size_t n)
{
	const uint8_t *p = r->at;

	if (r->failed || n > reader_left(r)) {
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return p;
}

uint8_t reader_u8(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 1);

	return p != NULL ? *p : 0;
}

uint16_t reader_u16(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 2);

	return p != NULL ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

uint32_t reader_u32(struct reader *r)
{
	const uint8_t *p = reader_bytes(r, 4);

	return p != NULL ? msg_u32(p) : 0;
}

const char *reader_str(struct reader *r)
{
	const uint8_t *nul = memchr(r->at, '\0', reader_left(r));

	if (nul == NULL) {
		r->failed = true;
		return NULL;
	}
	return (const char *)reader_bytes(r, (size_t)(nul - r->at) + 1);
}
