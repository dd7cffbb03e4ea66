/* server_tls.h - TLS with a server, between connecting and logging in.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_TLS_H
#define UPSTREAM_SERVER_TLS_H

struct server;

/*
 * The connection is there. Ask for TLS, or begin with it, as the settings or,
 * for a canceler, the connection of its target say. When that is over, or not
 * to be, s logs in or is a canceler. May close s.
 */
void server_tls_begin(struct server *s);
/* Bytes can be read in phase SERVER_PHASE_TLS. May close s. */
void server_tls_input(struct server *s);

#endif
