/* proxy_header.h - what a balancer says about a connection that it passes on:
 * the PROXY protocol, versions 1 and 2 (haproxy.org, proxy-protocol.txt).
 * SPDX-License-Identifier: ISC */
#ifndef IO_PROXY_HEADER_H
#define IO_PROXY_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/net.h"

#define PROXY_HEADER_MAX 4096	/* bytes; longer ones are refused */

enum proxy_kind {
	PROXY_OTHER,	/* bytes that begin no header */
	PROXY_SHORT,	/* more of the header must come */
	PROXY_LOCAL,	/* the balancer speaks for itself, or knows no address */
	PROXY_PASSED,	/* for a client at source */
	PROXY_BROKEN,
};

struct proxy_header {
	enum proxy_kind kind;
	size_t size;		/* LOCAL and PASSED: bytes of the header */
	struct net_addr source;	/* PASSED */
};

/* The header that the n bytes at p begin with. Pure. */
struct proxy_header proxy_header_peek(const uint8_t *p, size_t n);

#endif
