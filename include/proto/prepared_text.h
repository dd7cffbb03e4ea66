/* prepared_text.h - a text by which servers share a statement.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_TEXT_H
#define PROTO_PREPARED_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct baggage;

/* What servers share: a query and its types, as Parse has them, read in this. */
struct prepared_text {
	struct baggage *dialect;	/* borrowed; or NULL */
	const void *body;
	size_t len;
	uint32_t hash;			/* of the body; 0: not known */
	uint32_t effects;		/* of the query; 0: not known */
};
#define prepared_plain(b, n) ((struct prepared_text){ .body = b, .len = n })

#endif
