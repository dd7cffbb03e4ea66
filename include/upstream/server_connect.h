/* server_connect.h - connects a server to one of its hosts.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_CONNECT_H
#define UPSTREAM_SERVER_CONNECT_H

struct server;

/*
 * Connects s to s->host, or, if that is none, to the first of its pool's hosts
 * that answers. The next phase is TLS. May close s.
 */
void server_connect_begin(struct server *s);

/*
 * The connection is open. Asks for TLS, or begins it, as the settings say; for
 * a canceler, as the connection of its target does. Then s logs in, or is a
 * canceler. May close s.
 */
void server_tls_begin(struct server *s);
/* Bytes can be read in phase SERVER_PHASE_TLS. May close s. */
void server_tls_input(struct server *s);

#endif
