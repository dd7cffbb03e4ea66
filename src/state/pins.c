/* pins.c - the pins of a server: the setter, the counters, the names.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "base/ledger.h"
#include "session/server.h"
#include "state/keep.h"

static const struct {
	enum pin pin;
	const char *name;
} names[] = {
	{ PIN_TEMPORARY, "temporary" }, { PIN_CURSOR, "cursor" },
	{ PIN_LOCK, "advisory_lock" }, { PIN_PREPARED, "prepare" },
	{ PIN_LISTEN, "listen" }, { PIN_LOADED, "load" },
	{ PIN_PARAMETER, "parameter" }, { PIN_FUNCTION, "function" },
};

/*
 * Counts one more pinned client. Returns the number in all parts of the pool.
 */
static unsigned count_more(struct pool *p)
{
	p->pinned++;
	return p->share.ledger == NULL ? p->pinned :
	    ledger_add(p->share.ledger, LEDGER_PINNED);
}

static void count_less(struct pool *p)
{
	p->pinned--;
	if (p->share.ledger != NULL)
		ledger_give(p->share.ledger, LEDGER_PINNED);
}

void keep_set_pins(struct server *s, unsigned pins)
{
	struct pool *const p = s->ps.pool;
	const bool was = keep_counts(s->keep.pins), is = keep_counts(pins);

	p->listeners += pins == PIN_LISTEN;
	p->listeners -= s->keep.pins == PIN_LISTEN;
	if (is && !was)
		s->keep.excess = count_more(p) > (unsigned)p->limits.max_pinned;
	else if (was && !is)
		count_less(p);
	s->keep.pins = (uint8_t)pins;
}

const char *keep_name_pins(unsigned pins, char text[KEEP_PINS_MAX])
{
	int n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if ((pins & names[i].pin) != 0)
			n += snprintf(text + n, (size_t)(KEEP_PINS_MAX - n),
			    "%s%s", n > 0 ? "," : "", names[i].name);
	return text;
}
