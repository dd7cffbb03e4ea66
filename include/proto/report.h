/* report.h - ErrorResponse and NoticeResponse, made and read.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_REPORT_H
#define PROTO_REPORT_H

#include <stddef.h>
#include <stdint.h>

struct writer;

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
