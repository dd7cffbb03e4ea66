/* msg.h - messages: their types, how they are read and made, errors and
 * notices.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_MSG_H
#define PROTO_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msg_frontend {
#define MSG_FE(byte, name) FE_##name = byte,
#define MSG_BE(byte, name)
#include "proto/msg.def"
#undef MSG_FE
#undef MSG_BE
};

enum msg_backend {
#define MSG_FE(byte, name)
#define MSG_BE(byte, name) BE_##name = byte,
#include "proto/msg.def"
#undef MSG_FE
#undef MSG_BE
};

#define MSG_HEADER 5		/* type byte and length word */

/* Authentication request codes (type 'R'). */
enum msg_auth {
	MSG_AUTH_OK = 0,
	MSG_AUTH_CLEARTEXT = 3,
	MSG_AUTH_MD5 = 5,
	MSG_AUTH_GSS = 7,
	MSG_AUTH_GSS_CONTINUE = 8,
	MSG_AUTH_SASL = 10,
	MSG_AUTH_SASL_CONTINUE = 11,
	MSG_AUTH_SASL_FINAL = 12,
};

/*
 * The longest length words that PostgreSQL reads and writes: 1 GB.
 * PostgreSQL source: PQ_LARGE_MESSAGE_LIMIT (libpq.h), and MaxAllocSize
 * (memutils.h) for the body of what it sends, its NUL included.
 */
#define MSG_MAX_UP 0x3ffffffeu
#define MSG_MAX_DOWN 0x40000002u

static inline uint32_t msg_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static inline void msg_put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

/*
 * The size of the whole message (type byte included) whose header stands at
 * p; 0 when its length word is impossible (below 4 or past max).
 */
static inline size_t msg_size(const uint8_t *p, uint32_t max)
{
	const uint32_t len = msg_u32(p + 1);

	return len < 4 || len > max ? 0 : (size_t)len + 1;
}

/* Hot: the same with one comparison, where msg_lengths() has made another one of max. */
static inline uint32_t msg_lengths(uint32_t max)
{
	return max < 4 ? 0 : max - 3;	/* how many there are */
}
static inline size_t msg_size_among(const uint8_t *p, uint32_t lengths)
{
	const uint32_t len = msg_u32(p + 1);

	/* what is below 4 wraps */
	return len - 4 < lengths ? (size_t)len + 1 : 0;
}

/*
 * Hot: how many of the n bytes at p are whole messages of the first one's
 * type, in a row.
 */
static inline size_t msg_run(const uint8_t *p, size_t n, uint32_t max)
{
	const uint32_t lengths = msg_lengths(max);
	const uint8_t *const end = p + n;
	const uint8_t *at = p;

	while (end - at >= MSG_HEADER && *at == *p) {
		const size_t size = msg_size_among(at, lengths);

		if (size == 0 || size > (size_t)(end - at))
			break;
		at += size;
		/* where one begins is known by the one before: look ahead */
		__builtin_prefetch(at + 4 * size);
	}
	return (size_t)(at - p);
}

#define MSG_BAD_TEXT 40		/* room for what msg_bad_header() says */

/*
 * What a client is told of n received bytes that are no message: "bad packet
 * header: '<hex of up to 8 bytes>'" (spec/client-errors.md section 2). Returns buf.
 */
const char *msg_bad_header(const uint8_t *p, size_t n,
    char buf[MSG_BAD_TEXT]);

/* A cursor over received bytes that tells "short" from "bad". */

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

/* Builds messages; a failure sticks and is tested once at the end. */

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

/* ErrorResponse and NoticeResponse, made and read. */

/*
 * What a report says. Strings are borrowed from the message; a field that is
 * absent is "" - a server may leave out even the SQLSTATE (CVE-2026-6666).
 */
struct report {
	const char *severity;	/* V when given, else S */
	const char *code;
	const char *message;
	const char *detail;
	const char *hint;
};

/* body without the 5-byte header. 0, or -1 when its layout is broken. */
int report_parse(struct report *r, const void *body, size_t len);

/*
 * Exactly the fields S, V, C, M (spec/client-errors.md section 1), and D and H
 * unless they are NULL or "". type: BE_ERROR_RESPONSE or BE_NOTICE_RESPONSE.
 */
void report_write(struct writer *w, char type, const struct report *r);
/* Without D and H; a notice has D when it is not NULL. */
void report_write_error(struct writer *w, const char *severity,
    const char *code, const char *message);
void report_write_notice(struct writer *w, const char *message,
    const char *detail);

#endif
