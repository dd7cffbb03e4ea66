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

/* TLS with a server, between connecting and logging in. */

/*
 * The connection is there. Ask for TLS, or begin with it, as the settings or,
 * for a canceler, the connection of its target say. When that is over, or not
 * to be, s logs in or is a canceler. May close s.
 */
void server_tls_begin(struct server *s);
/* Bytes can be read in phase SERVER_PHASE_TLS. May close s. */
void server_tls_input(struct server *s);

#endif
