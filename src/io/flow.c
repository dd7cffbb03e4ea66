/* flow.c - does a stream bring so much that it need not be read at once?
 * SPDX-License-Identifier: ISC */
#include "io/flow.h"

#define MSEC (USEC / 1000)

enum flow_verdict flow_note(struct flow *f, size_t n, usec_t now)
{
	const uint32_t ms = (uint32_t)(now / MSEC);

	if (!f->runs) {
		*f = (struct flow){ .since = ms, .runs = true };
		return FLOW_OPEN;
	}
	const uint32_t age = ms - f->since;

	f->bytes += (uint32_t)n;
	if (age < FLOW_WINDOW)
		return FLOW_OPEN;
	const bool full = f->bytes / age >= FLOW_RATE;

	*f = (struct flow){ .since = ms, .runs = full };
	return full ? FLOW_FULL : FLOW_EBB;
}
