/* traceparent.h - the trace that a statement says it belongs to.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_TRACEPARENT_H
#define PROTO_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>

#define TRACEPARENT_BYTES 56	/* with its NUL */

/*
 * Does the comment at the begin or the end of a statement of n bytes (which may
 * end at a NUL before) have a traceparent='00-...-...-01', as sqlcommenter
 * writes it? Only what W3C Trace Context calls valid counts. out is as long as
 * TRACEPARENT_BYTES says.
 */
bool traceparent_find(const char *sql, size_t n, char *out);

#endif
