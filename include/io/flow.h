/* flow.h - does a stream bring so much that it need not be read at once?
 * SPDX-License-Identifier: ISC */
#ifndef IO_FLOW_H
#define IO_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

#define FLOW_MIN 1024		/* less at a time is no bulk, and not noted */
#define FLOW_WINDOW 16		/* ms that are looked at together */
#define FLOW_RATE 16384		/* bytes a ms from which on the flow is full */

/* Bytes that came of late. Embedded; all zero: none. */
struct flow {
	uint32_t since;		/* when the window opened; ms, wraps */
	uint32_t bytes;		/* bytes in the window */
	bool runs;		/* there is a window */
};

enum flow_verdict {
	FLOW_OPEN,	/* the window is not over */
	FLOW_FULL,	/* full window over; the next one runs */
	FLOW_EBB,	/* window over, FLOW_RATE not reached; no window runs */
};

/* n bytes came now; without a window, one begins behind them. */
enum flow_verdict flow_note(struct flow *f, size_t n, usec_t now);

#endif
