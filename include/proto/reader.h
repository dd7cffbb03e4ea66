/* reader.h - a cursor over received bytes that tells "short" from "bad".
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_READER_H
#define PROTO_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *at;	/* next byte; borrowed */
	const uint8_t *end;
	bool failed;		/* a read went past end; later reads fail too */
};

void reader_init(struct reader *r, const void *p, size_t n);
static inline size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

/* Network byte order; 0 once the reader has failed. */
uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u32(struct reader *r);
/* A NUL terminated string inside the buffer; NULL once failed. */
const char *reader_str(struct reader *r);
/* n raw bytes; NULL once failed. */
const uint8_t *reader_bytes(struct reader *r, size_t n);

#endif
