/* traceparent.h - the trace that a statement says it belongs to.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACEPARENT_H
#define PROTO_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>

#define TRACEPARENT_BYTES 56	/* with its NUL */

/* As it may stand in a statement: each byte as %XX, and the quote behind it. */
#define TRACEPARENT_RAW (3 * (TRACEPARENT_BYTES - 1) + 1)

/*
 * Hot: where the comment at the end, or else at the begin, of a statement of n
 * bytes (which may end at a NUL before) has the value of traceparent='...', as
 * sqlcommenter writes it, and how many bytes are left there. NULL: it has none.
 */
const char *traceparent_seek(const char *sql, size_t n, size_t *len);
/*
 * The value; false: W3C Trace Context does not call it valid. out is as long as
 * TRACEPARENT_BYTES says.
 */
bool traceparent_read(const char *value, size_t n, char *out);

#endif
