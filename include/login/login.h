/* login.h - how a client gets in: start-up, limits, authentication.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_H
#define LOGIN_LOGIN_H

struct client;
struct net_addr;
struct sessions;

/*
 * A connection was accepted: a client that logs in. NULL: there is none, and
 * fd is closed.
 */
struct client *login_accept(struct sessions *ss, int fd,
    const struct net_addr *peer);

#endif
