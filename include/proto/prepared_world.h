/* prepared_world.h - what a statement was parsed under.
 *
 * What a Parse finds out is right for all who would find out the same: with
 * the same settings, and the same schemas.
 * SPDX-License-Identifier: ISC */
#ifndef PROTO_PREPARED_WORLD_H
#define PROTO_PREPARED_WORLD_H

#include <stdbool.h>
#include <stdint.h>

struct baggage;
struct params;

struct prepared_world {
	struct params *params;		/* counted */
	struct baggage *baggage;	/* counted; or NULL */
	uint64_t changes;		/* of schemas, until it was sent */
};

/* One as w, with references of its own. NULL: no memory. */
struct prepared_world *prepared_world_new(const struct prepared_world *w);
void prepared_world_free(struct prepared_world **w);
/* Is now the same, whatever application_name says? */
bool prepared_world_is(struct prepared_world *w,
    const struct prepared_world *now);
/* The same of these alone. */
bool prepared_world_params(const struct params *a, const struct params *b);

#endif
