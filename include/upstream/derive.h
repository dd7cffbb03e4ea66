/* derive.h - derives keys from passwords off the loop, once for all that need
 * the same.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_DERIVE_H
#define UPSTREAM_DERIVE_H

#include <stdbool.h>

#include "proto/scram.h"

struct credentials;
struct derivation;
struct offload;

/*
 * An exchange that waits for keys; embedded in it. All zero at first except
 * ready.
 */
struct derive_wait {
	struct derive_wait *prev, *next;	/* private to derive.c */
	struct derivation *of;		/* private; NULL: not waiting */
	void (*ready)(struct derive_wait *w);	/* called from the loop after
						 * DERIVE_WAIT */
	struct scram_keys keys;		/* the result, if ok */
	bool ok;			/* false: no memory */
};

enum derive_result {
	DERIVE_READY,	/* w->ok has the result; ready() is not called */
	DERIVE_WAIT,	/* ready() will be called, unless derive_leave() comes
			 * first */
	DERIVE_FULL,	/* too many derivations wait already */
};

/*
 * o may be NULL in these functions. Then, or if no thread can be started, the
 * keys are derived at once, which takes milliseconds.
 */

/*
 * Makes credentials_verifier(c, salt->iterations) available, for a plain secret
 * with this salt. w->keys is not set.
 */
enum derive_result derive_verifier(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w);

/*
 * Derives the keys for a server with this salt. c: a plain secret, which caches
 * them; NULL or none: the empty password.
 */
enum derive_result derive_keys(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w);

/* Derives the keys of a password that a user has typed, to compare them. */
enum derive_result derive_typed(struct offload *o, const char *password,
    const struct scram_salt *salt, struct derive_wait *w);

/* Gives up, and wipes the result. Safe on one that never waited. */
void derive_leave(struct derive_wait *w);

#endif
