/* prepared_shape.h - what a Describe of a statement tells.
 *
 * Types of parameters, names and types of columns, as hashes. For a text that
 * was parsed once these stay as they are: PostgreSQL fails when they change.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_SHAPE_H
#define PROTO_PREPARED_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct prepared_shape {
	uint32_t params, columns;	/* hashes; 0: not known */
	usec_t at;			/* when the text was parsed that has it */
};

/* Bodies of ParameterDescription, RowDescription; a broken one has a hash, too. */
uint32_t prepared_shape_params(const uint8_t *body, size_t n);
uint32_t prepared_shape_columns(const uint8_t *body, size_t n);
#define PREPARED_SHAPE_NONE 1	/* columns of NoData */

/* Of a text that is to be parsed again for whoever was told anything. */
static inline struct prepared_shape prepared_shape_stale(void)
{
	return (struct prepared_shape){ UINT32_MAX, UINT32_MAX, 0 };
}

/* Is b all that is known of a? Hot. */
static inline bool prepared_shape_fits(const struct prepared_shape *a,
    const struct prepared_shape *b)
{
	return (a->params == 0 || a->params == b->params) &&
	    (a->columns == 0 || a->columns == b->columns);
}
/* Is something of a known that of b is not? */
static inline bool prepared_shape_lacks(const struct prepared_shape *b,
    const struct prepared_shape *a)
{
	return (a->params != 0 && b->params == 0) ||
	    (a->columns != 0 && b->columns == 0);
}
/* Is b known to be another one, and that of a text that was parsed earlier? */
static inline bool prepared_shape_is_older(const struct prepared_shape *b,
    const struct prepared_shape *a)
{
	return !prepared_shape_fits(a, b) && !prepared_shape_lacks(b, a) &&
	    a->at > b->at;
}
/* What of is known is that of to by now, and it is as old. */
static inline void prepared_shape_take(struct prepared_shape *to,
    const struct prepared_shape *of)
{
	if (of->params != 0)
		to->params = of->params;
	if (of->columns != 0)
		to->columns = of->columns;
	to->at = of->at;
}

/* What a Bind relies on. */
struct prepared_bind {
	bool whole;		/* all of it was understood */
	bool binary;		/* a parameter is not a text */
	unsigned formats;	/* of results */
};
struct prepared_bind prepared_bind_read(const uint8_t *body, size_t n);

#endif
