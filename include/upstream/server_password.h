/* server_password.h - a server's login, where its password changes by itself.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_PASSWORD_H
#define UPSTREAM_SERVER_PASSWORD_H

#include <stdbool.h>

struct report;
struct server;
struct server_attempt;

/*
 * Before the StartupMessage: get the password, if it is one that changes. then()
 * is called, at once or later, unless s is closed.
 */
void server_password_get(struct server *s, void (*then)(struct server *s));
/*
 * The server has refused the login with this error. Returns true when that may
 * be for the password: then s tries again with another one, or fails with this
 * error if there is no other.
 */
bool server_password_refused(struct server *s, const struct report *r);
/* The secret to log in with; NULL: none. */
struct credentials *server_password_secret(const struct server *s);
/* What waits is over. */
void server_password_end(struct server_attempt *a);

#endif
