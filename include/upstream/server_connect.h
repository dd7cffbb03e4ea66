/* server_connect.h - a server's way to one of its hosts.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_CONNECT_H
#define UPSTREAM_SERVER_CONNECT_H

struct server;

/*
 * Connect s to s->host, or if that is none, to the first of its pool's hosts
 * that answers. TLS is the next phase. May close s.
 */
void server_connect_begin(struct server *s);

#endif
