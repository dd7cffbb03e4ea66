/* report.c - ErrorResponse and NoticeResponse, made and read.
 * SPDX-License-Identifier: ISC */
#include "proto/report.h"

#include "base/errcodes.h"
#include "proto/msg.h"
#include "proto/reader.h"
#include "proto/writer.h"

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
