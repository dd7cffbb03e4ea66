/* login_lobby.h - what a connection may cost before it has logged in.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_LOBBY_H
#define LOGIN_LOGIN_LOBBY_H

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
/* The same, when c has come from another worker, where it had entered. */
bool login_enter_from_other(struct client *c);
/*
 * c is let in, and a stranger no more. -1, e for the client: another worker had
 * to have its place.
 */
int login_leave_lobby(struct client *c, struct err *e);
/* Another worker had to have its place, and c is closed: true. */
bool login_was_expelled(struct client *c);
/* Close those whose place another worker had to have. */
void login_expel(struct sessions *ss);
/* How many connections there may be whose user is not proven. */
unsigned login_max_strangers(const struct sessions *ss);
/* Count what c holds by now; others, or c itself, may be closed. */
void login_weigh(struct client *c);
/* Is a client closed that hardly means to log in, so that c has room? */
bool login_displace(struct client *c);
/* Close the oldest because of this limit (enum tally_limit). False: there is none. */
bool login_expel_oldest(struct sessions *ss, int limit);

/*
 * What to do, for somebody whose login fails with this; NULL: nothing to say.
 * Whether the user exists makes no difference to it.
 */
const char *login_hint(const struct client *c, const struct err *why);
/* Refuse c, which failed to prove who it is: now, or after a while. */
void login_refuse(struct client *c, const struct err *why);
/*
 * c, which is not read now, has hung up. If its password is being checked, that
 * has failed; if c serves a penalty, it keeps its place up to the end of that.
 */
void login_hung_up(struct client *c);
/*
 * c leaves. If it was told already that it failed, and owes only its last word,
 * that counts as any failure.
 * Returns: was it so? c is denied then, as by login_deny().
 */
bool login_deny_told(struct client *c);
/* bytes that c has sent are being checked by a thread; 0: no more. */
void login_examine(struct client *c, size_t bytes);

/* From the janitor. */
void login_tick(struct sessions *ss, usec_t now);

#endif
