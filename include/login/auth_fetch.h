/* auth_fetch.h - asks a server for an answer that the cache is to keep.
 * SPDX-License-Identifier: ISC */
#ifndef LOGIN_AUTH_FETCH_H
#define LOGIN_AUTH_FETCH_H

#include <stdbool.h>

#include "base/time.h"

struct auth_entry;
struct auth_errand;
struct auth_fetch;
struct database;
struct sessions;

/* A server that has not answered for so long is none that can be asked. */
#define AUTH_FETCH_PATIENCE (5 * USEC)

/*
 * Ask errand, which is taken, for e; of one name at a time. db: where it is asked,
 * if that is the client's own database, and here. Those who wait for e are told.
 */
void auth_fetch_begin(struct sessions *ss, struct auth_entry *e,
    struct auth_errand *errand, struct database *db);
/*
 * A fetch of e is under way, but no server answers: this is known, or has been so
 * for long.
 */
bool auth_fetch_is_vain(const struct sessions *ss, const struct auth_entry *e,
    usec_t now);

/*
 * Somebody waits for e, or no more: a fetch that nobody waits for, and whose query
 * no server has had, ends without one at the next tick.
 */
void auth_fetch_want(struct auth_entry *e);
/* By mail of another worker, on this one's thread: f is to be asked, or is back. */
void auth_fetch_arrive(struct sessions *ss, struct auth_fetch *f);
/* From the janitor: those that another worker had no room for, or nobody wants. */
void auth_fetch_tick(struct sessions *ss);
/* Its client is gone, and no thread runs: f is of no use. */
void auth_fetch_discard(struct auth_fetch *f);
/* The loop is to be freed. */
void auth_fetch_forget(struct sessions *ss);

#endif
