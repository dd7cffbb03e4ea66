/* sums.h - what the workers have together.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_SUMS_H
#define CONSOLE_SUMS_H

#include <stdint.h>

#include "base/mem.h"
#include "io/dns.h"

struct admin;

struct sums {
	int64_t databases, pools, clients, logins, servers;
	int64_t users;			/* of the one that knows the most */
	struct dns_stat dns;
};

/* a is the first one's; where there are others, they stand still. */
struct sums sums_of(const struct admin *a);
struct mem_stat sums_of_memory(const struct admin *a, enum mem_kind kind);

#endif
