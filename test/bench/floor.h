/* floor.h - what both floors are called with.
 * SPDX-License-Identifier: ISC */
#ifndef FLOOR_H
#define FLOOR_H

#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>

/* Returns 0, which no one listens on, for what is no port. */
static inline in_port_t parse_port(const char *s)
{
	char *end;
	const unsigned long n = strtoul(s, &end, 10);

	if (*s < '0' || *s > '9' || *end != '\0' || n > UINT16_MAX)
		return 0;
	return htons((uint16_t)n);
}

#endif
