/* writer.h - builds messages; a failure sticks and is tested once at the end.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_WRITER_H
#define PROTO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer {
	uint8_t *at;		/* owned, heap; NULL when empty */
	size_t len, size;
	size_t cap;		/* never grow past this */
	size_t start;		/* of the open message's length word */
	bool failed;		/* no memory, or past cap */
};

void writer_init(struct writer *w, size_t cap);
void writer_fini(struct writer *w);	/* wipes: may hold a password */

/* Open a message; type 0 = untyped (start-up). writer_end() sets its length. */
void writer_begin(struct writer *w, char type);
void writer_end(struct writer *w);

void writer_u8(struct writer *w, uint8_t v);
void writer_u16(struct writer *w, uint16_t v);
void writer_u32(struct writer *w, uint32_t v);
void writer_str(struct writer *w, const char *s);	/* with its NUL */
void writer_bytes(struct writer *w, const void *p, size_t n);

/* Whole messages that are needed in many places. */
void writer_ready(struct writer *w, char status);	/* ReadyForQuery */
void writer_query(struct writer *w, const char *sql);
void writer_parameter_status(struct writer *w, const char *name,
    const char *value);

#endif
