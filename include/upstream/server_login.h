/* server_login.h - how we get in: StartupMessage, authentication, parameters.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_LOGIN_H
#define UPSTREAM_SERVER_LOGIN_H

struct server;

/* The connection is there: send the StartupMessage. May close s. */
void server_login_begin(struct server *s);
/* Bytes of a login wait to be read. May close s. */
void server_login_input(struct server *s);

#endif
