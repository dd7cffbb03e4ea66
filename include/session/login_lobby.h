/* login_lobby.h - what a connection may cost before it has logged in.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_LOGIN_LOBBY_H
#define SESSION_LOGIN_LOBBY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

struct client;
struct err;
struct sessions;

/*
 * c has been accepted: others may have to leave for it. false: it was closed
 * itself.
 */
bool login_enter(struct client *c);
/* The same, when another address has become c's. */
bool login_enter_again(struct client *c);
/* How many connections there may be whose user is not proven. */
unsigned login_max_strangers(const struct sessions *ss);
/* Count what c holds by now; others, or c itself, may be closed. */
void login_weigh(struct client *c);
/* Has somebody who hardly means to log in left, so that there is room for c? */
bool login_displace(const struct client *c);

/* Refuse c, which failed to prove who it is: now, or after a while. */
void login_refuse(struct client *c, const struct err *why);
/*
 * c, which is not read now, has hung up. A guess that it does not wait for has
 * failed, and a place that is taken for a penalty stays so.
 */
void login_hung_up(struct client *c);
/* What c has sent is being checked by somebody else; or no more. */
void login_examine(struct client *c, size_t bytes);

/* From the janitor. */
void login_tick(struct sessions *ss, usec_t now);

#endif
