/* resolve.h - names to addresses with the system's resolver, at start only.
 * SPDX-License-Identifier: ISC */
#ifndef IO_RESOLVE_H
#define IO_RESOLVE_H

#include <stddef.h>

#include "base/net.h"

struct err;

/*
 * The TCP addresses of name, which may be a literal, with port 0. The call
 * blocks, so it is for the time before the loop runs.
 * Returns: how many of at most max were put into out, or -1 with e set.
 */
int resolve_name(const char *name, struct net_addr *out, size_t max,
    struct err *e);

#endif
