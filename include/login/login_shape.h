/* login_shape.h - what most secrets look like that auth_query has found.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_SHAPE_H
#define LOGIN_LOGIN_SHAPE_H

#include "conf/mock.h"

struct client;
struct sessions;

/*
 * Several workers have it together, as what one of them says must not differ
 * from what another one says; first NULL: ss is the first one's.
 */
void login_shape_share(struct sessions *ss, struct sessions *first);

/*
 * What auth_query says of unknown names looks like what it says of most. Only a
 * user that has logged in counts: guesses at a name change nothing.
 */
void login_shape_learn(struct sessions *ss, const char *secret);

/* What a name that is unknown to c is to look like; borrowed from the sessions. */
const struct mock_shape *login_shape(const struct client *c);

#endif
