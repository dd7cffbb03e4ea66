/* status.h - the pooler's condition in figures and words, on one screen.
 * SPDX-License-Identifier: ISC */
#ifndef CTL_STATUS_H
#define CTL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct grid;
struct text;

struct summary {
	char version[64];
	usec_t uptime;		/* < 0: not known */
	bool paused, suspended, draining;
	int64_t drain_clients, drain_seconds;	/* left, while draining */
	char certificates[160];		/* "client_tls_cert_file 89 days"; "" */
	int64_t clients, logins, servers;	/* connections */
	int64_t waiting;	/* clients in queues */
	usec_t longest;		/* the longest of their waits */
	char health[16];	/* "well", or what SHOW HEALTH says */
	char reason[256];	/* the first finding; "": there is none */
};

void summary_version(struct summary *s, const struct grid *version);
/* started: as PostgreSQL prints a timestamptz in UTC; NULL: not known. */
void summary_uptime(struct summary *s, const char *started, usec_t now);
void summary_state(struct summary *s, const struct grid *state);
void summary_lists(struct summary *s, const struct grid *lists);
/* Take the console's own clients off those that the lists count. */
void summary_consoles(struct summary *s, const struct grid *pools);
void summary_waits(struct summary *s, const struct grid *waits);
/* A pooler that does not know of its health (no rows) is taken to be well. */
void summary_health(struct summary *s, const struct grid *health);
/* One row of it: "pool shop/ann: no server for 12.0 s: connect failed". */
void summary_add_finding(struct text *t, const struct grid *health, size_t row);
bool summary_is_well(const struct summary *s);

bool summary_is_active(const struct summary *s);	/* may clients come? */
const char *summary_word(const struct summary *s);	/* "active", "paused" */
/* The same; a drain with how far it is. */
void summary_add_state(struct text *t, const struct summary *s);

/* "3 days 04:05", "04:05:06"; "1.5 s", "250 ms", "2 min" */
void summary_add_uptime(struct text *t, usec_t time);
void summary_add_wait(struct text *t, usec_t time);

#endif
