/* login_cached.h - a login by an answer of auth_query that was kept.
 * (spec/authentication.md section 6.1)
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_LOGIN_CACHED_H
#define LOGIN_LOGIN_CACHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"

struct auth_refusal;
struct client;
struct iovec;
struct login;
struct sessions;
struct timeout;

/*
 * c asks c->login->query.errand, which the cache may know: it goes on with that, or
 * waits for a fetch. May close c.
 */
void login_cached_ask(struct client *c);

/* Is what is known of the user an answer that was kept? */
bool login_cached_is_used(const struct login *l);
/*
 * c has proven that it knows a secret that may be out of date, or has not. true: c
 * waits until that is known, not read; and then is let in, or refused, or is
 * closed already.
 */
bool login_cached_doubts_proof(struct client *c, const struct iovec *said);
bool login_cached_doubts_refusal(struct client *c,
    const struct auth_refusal *why);
/* The body of a PasswordMessage, which may have to be judged twice. */
void login_cached_note(struct client *c, const uint8_t *body, size_t len);

/* l waits no more. Safe on one that does not wait. */
void login_cached_end(struct login *l);

/* From the janitor: no server has answered for AUTH_FETCH_PATIENCE. */
void login_cached_late(struct timeout *t);
void login_cached_tick(struct sessions *ss, usec_t now);

#endif
