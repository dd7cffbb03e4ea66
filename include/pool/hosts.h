/* hosts.h - to which host of a list the next connection goes.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_HOSTS_H
#define POOL_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"
#include "base/time.h"

struct catalog;
struct pool;

#define HOSTS_MAX 64	/* of a list, tried for one connection */

enum host_kind {
	HOST_NONE,	/* all zero */
	HOST_UNIX,	/* path in text; may begin with '@' */
	HOST_ADDRESS,	/* addr is set */
	HOST_NAME,	/* text must be resolved; port in addr */
};

struct host {
	enum host_kind kind;
	unsigned item;		/* of the list */
	struct net_addr addr;
	char text[256];		/* Unix: socket path; else as in the list */
};

/* Which hosts of the list failed lately; NULL: none did. */
struct host_failures;

/*
 * The hosts that the next connection of p tries, in order: by its
 * load_balance_hosts rule, without those that are drained, and without those
 * that failed within server_login_retry if any other is left; misfits last. *out is an array
 * to be freed by the caller.
 * Returns: how many (0: all are drained), or -1: no host and no
 *          unix_socket_dir (errno 0), or no memory.
 */
int hosts_plan(struct pool *p, const struct catalog *c, usec_t now,
    struct host **out);
/*
 * Connecting or logging in to item failed; slow: another was faster. "disable"
 * stays with a host that is only slow.
 */
void hosts_failed(struct pool *p, unsigned item, bool slow, usec_t now);
/* Is item not what target_session_attrs asks for? Then others come first. */
void hosts_set_misfit(struct pool *p, unsigned item, bool misfit);
/*
 * How long a login may say nothing before another host is asked: a second where
 * any host of the list may turn into the one that is sought, twice as long behind
 * each that was in vain, as one that is slow must get in, too. 0: as long as
 * server_connect_timeout says.
 */
usec_t hosts_patience(const struct pool *p);
/* The login at item took longer than that. */
void hosts_abandon(struct pool *p, unsigned item);
/* Is there a host left that did not fail lately, nor is known not to fit? */
bool hosts_better_left(const struct pool *p, const struct catalog *c,
    usec_t now);
/* Has *item, or the next of those behind, failed since it worked last, or does it
 * not fit? */
bool hosts_find_doubted(const struct pool *p, unsigned *item);
/* Are these the hosts of p? */
bool hosts_are(const struct pool *p, const char *list, int port);
/* The host works. */
void hosts_worked(struct pool *p, unsigned item);
/* After a failure: is there a host left that did not fail lately? */
bool hosts_left(const struct pool *p, const struct catalog *c, usec_t now);
void hosts_free(struct pool *p);

#endif
