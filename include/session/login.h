/* login.h - how a client gets in: start-up, limits, authentication.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_LOGIN_H
#define SESSION_LOGIN_H

struct client;
struct login;

/* What only a client that logs in needs; freed when it is in. */
struct login *login_new(struct client *c);
void login_free(struct login **l);

/* The answer to its auth_query is there: go on. May close c. */
void login_answered(struct client *c);

/* Bytes wait to be read: soon they will be (see login_queue.h). */
void login_input(struct client *c);

#endif
