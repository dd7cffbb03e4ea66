/* login_others.h - start-up parameters that no list knows.
 *
 * Where session_state is clean or keep they are the client's defaults; where it
 * is forget they are refused. Which of both, the pool tells, at the end of the
 * login. (spec/pooling.md section 25)
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_OTHERS_H
#define LOGIN_LOGIN_OTHERS_H

#include <stdbool.h>

struct client;
struct err;
struct login;

struct login_other {
	const char *name, *value;
	bool in_options;
};

/* 0, or -1 with e: it is refused at once, as no pool would have it. */
int login_take_other(struct client *c, const struct login_other *o,
    struct err *e);
/* Is it one of these for which the login of c fails? */
bool login_refuses_other(const struct client *c, const struct err *why);
/* The pool is known. 0, or -1 with e for the client. */
int login_accept_others(struct client *c, struct err *e);
void login_others_fini(struct login *l);

#endif
