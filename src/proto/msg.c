/* msg.c - messages: their types, how they are read and made, errors and
 * notices.
 * SPDX-License-Identifier: ISC */
#include "proto/msg.h"

#include <assert.h>
#include <string.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

const char *msg_bad_header(const uint8_t *p, size_t n, char buf[MSG_BAD_TEXT])
{
	struct text t;

	text_init(&t, buf, MSG_BAD_TEXT);
	text_add(&t, "bad packet header: '");
	for (size_t i = 0; i < n && i < 8; i++)
		text_addf(&t, "%02x", p[i]);
	text_add(&t, "'");
	return buf;
}

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
static bool msg_grow(struct writer *w, size_t need)
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
static bool msg_make_room(struct writer *w, size_t n)
{
	if (!w->failed && n <= w->cap - w->len && msg_grow(w, w->len + n))
		return true;
	/* there is no room for anything any more */
	w->size = w->len;
	w->failed = true;
	return false;
}

/* Room for n more bytes, counted as used already; NULL once failed. */
static inline uint8_t *msg_take(struct writer *w, size_t n)
{
	if (n > w->size - w->len && !msg_make_room(w, n))
		return NULL;
	w->len += n;
	return w->at + w->len - n;
}

void writer_bytes(struct writer *w, const void *p, size_t n)
{
	if (n == 0)
		return;

	uint8_t *at = msg_take(w, n);
	if (at != NULL)
		memcpy(at, p, n);
}

void writer_u8(struct writer *w, uint8_t v)
{
	uint8_t *at = msg_take(w, sizeof v);

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
	uint8_t *at = msg_take(w, sizeof v);

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

/* PostgreSQL docs, Error and Notice Message Fields */
enum field {
	FIELD_END = 0,
	FIELD_SEVERITY = 'S', /* may be translated */
	FIELD_SEVERITY_PLAIN = 'V',
	FIELD_CODE = 'C',
	FIELD_MESSAGE = 'M',
	FIELD_DETAIL = 'D',
	FIELD_HINT = 'H',
};

int report_parse(struct report *r, const void *body, size_t len)
{
	const char *translated = "", *plain = NULL;
	struct reader in;
	uint8_t field;

	*r = (struct report){ "", "", "", "", "" };
	reader_init(&in, body, len);
	while ((field = reader_u8(&in)) != FIELD_END) {
		const char *const value = reader_str(&in);

		if (value == NULL)
			break;
		switch (field) {
		case FIELD_SEVERITY: translated = value; break;
		case FIELD_SEVERITY_PLAIN: plain = value; break;
		case FIELD_CODE: r->code = value; break;
		case FIELD_MESSAGE: r->message = value; break;
		case FIELD_DETAIL: r->detail = value; break;
		case FIELD_HINT: r->hint = value; break;
		default: /* "frontends should silently ignore" it */ break;
		}
	}
	r->severity = plain != NULL ? plain : translated;
	return in.failed || reader_left(&in) > 0 ? -1 : 0;
}

static void write_field(struct writer *w, enum field field, const char *value)
{
	writer_u8(w, (uint8_t)field);
	writer_str(w, value);
}

void report_write(struct writer *w, char type, const struct report *r)
{
	writer_begin(w, type);
	write_field(w, FIELD_SEVERITY, r->severity);
	write_field(w, FIELD_SEVERITY_PLAIN, r->severity);
	write_field(w, FIELD_CODE, r->code);
	write_field(w, FIELD_MESSAGE, r->message);
	if (r->detail != NULL && r->detail[0] != '\0')
		write_field(w, FIELD_DETAIL, r->detail);
	if (r->hint != NULL && r->hint[0] != '\0')
		write_field(w, FIELD_HINT, r->hint);
	writer_u8(w, FIELD_END);
	writer_end(w);
}

void report_write_error(struct writer *w, const char *severity,
    const char *code, const char *message)
{
	report_write(w, BE_ERROR_RESPONSE,
	    &(struct report){ severity, code, message, "", "" });
}

void report_write_notice(struct writer *w, const char *message,
    const char *detail)
{
	report_write(w, BE_NOTICE_RESPONSE, &(struct report){ "NOTICE",
	    ERRCODE_SUCCESSFUL_COMPLETION, message,
	    detail != NULL ? detail : "", "" });
}
