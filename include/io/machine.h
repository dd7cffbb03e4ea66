/* machine.h - this machine: its addresses, its resolver, its libraries.
 * SPDX-License-Identifier: ISC */
#ifndef IO_MACHINE_H
#define IO_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"

struct err;
struct net_addr;

/*
 * Is a one of the addresses of this machine's interfaces, or with net in one
 * of their networks? Asks the kernel each time.
 * Returns: 1, 0, or -1 with errno where it does not tell.
 */
int interfaces_have(const struct net_addr *a, bool net);

/* Names to addresses with the system's resolver, at start only. */

/*
 * The TCP addresses of name, which may be a literal, with port 0. The call
 * blocks, so it is for the time before the loop runs.
 * Returns: how many of at most max were put into out, or -1 with e set.
 */
int resolve_name(const char *name, struct net_addr *out, size_t max,
    struct err *e);

/* Which libraries this process runs with. */
const char *library_libevent(void);	/* "2.1.12-stable" */
const char *library_dns(void);		/* "c-ares 1.18.1" */
const char *library_tls(void);		/* "OpenSSL 3.0.11 19 Sep 2023" */

#endif
