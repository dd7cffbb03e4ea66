/* derive.h - keys from passwords, off the loop, once for all who want the same.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_DERIVE_H
#define UPSTREAM_DERIVE_H

#include <stdbool.h>

#include "proto/scram.h"

struct credentials;
struct derivation;
struct offload;

/* One that waits for keys; embedded in its exchange. At first all is zero but
 * ready. */
struct derive_wait {
	struct derive_wait *prev, *next;	/* private to derive.c */
	struct derivation *of;		/* private; NULL: waits for nothing */
	void (*ready)(struct derive_wait *w);	/* after WAIT, from the loop */
	struct scram_keys keys;		/* the result, if ok */
	bool ok;			/* false: no memory */
};

enum derive_result {
	DERIVE_READY,	/* w->ok tells; ready() is not called */
	DERIVE_WAIT,	/* ready() is called, unless derive_leave() comes first */
	DERIVE_FULL,	/* too many derivations wait already */
};

/*
 * Below, o may be NULL: then, and when there is no thread to be had, the keys
 * are derived at once, which takes milliseconds.
 */

/*
 * See to it that credentials_verifier(c, salt->iterations) is there, for a
 * plain secret with this salt; w->keys is not set then.
 */
enum derive_result derive_verifier(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w);

/*
 * The keys for a server that asks for this salt. c: a plain secret, which
 * remembers them; NULL or none: the empty password.
 */
enum derive_result derive_keys(struct offload *o, struct credentials *c,
    const struct scram_salt *salt, struct derive_wait *w);

/* The keys of a password that somebody typed, to be compared. */
enum derive_result derive_typed(struct offload *o, const char *password,
    const struct scram_salt *salt, struct derive_wait *w);

/* No longer interested. Wipes the result; safe on one that never waited. */
void derive_leave(struct derive_wait *w);

#endif
