/* login_proxy.h - where a client comes from: whose word counts, and the name
 * of its machine.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_PROXY_H
#define LOGIN_LOGIN_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;

/* Does a header of the PROXY protocol come first? */
enum login_proxy {
	LOGIN_PROXY_NEVER,	/* or it has come */
	LOGIN_PROXY_MAYBE,
	LOGIN_PROXY_MUST,
	LOGIN_PROXY_REFUSED,	/* MUST, and the peer is nobody's balancer */
};

/* What is to be expected of c, which was just accepted? */
enum login_proxy login_expect_proxy(const struct client *c);
/*
 * The first bytes of c, of which a header is expected: c->addr becomes what it
 * says. Returns how many belong to it; 0: it is short, there is none (then none
 * is expected any more), or c was closed.
 */
size_t login_take_proxy(struct client *c, const uint8_t *p, size_t len);
/* May these be the first bytes of one? */
bool login_is_proxy_header(const uint8_t *p, size_t len);

#endif
