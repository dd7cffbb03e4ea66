/* server_login.h - logs in to a server: StartupMessage, authentication,
 * parameters.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_LOGIN_H
#define UPSTREAM_SERVER_LOGIN_H

struct server;

/* The connection is open: sends the StartupMessage. May close s. */
void server_login_begin(struct server *s);
/* Bytes of a login can be read. May close s. */
void server_login_input(struct server *s);

#endif
