/* hosts.h - the host of a list that the next connection goes to.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_HOSTS_H
#define POOL_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"
#include "base/time.h"
#include "conf/require.h"

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

/* Hosts that no new server connection goes to. */

/* One host, as a database names it: a name, an address, a folder. */
struct drain {
	struct drain *next;
	char host[256];
	struct net_addr addr;	/* none: it is no address */
};

#define DRAIN_MAX 100

/* 0 (it may be there already), or -1: too many, or no memory. */
int drain_add(struct catalog *c, const char *host);
/*
 * NULL: all of them. Pools look again to where their names lead. Returns false
 * when it was not there.
 */
bool drain_remove(struct catalog *c, const char *host);

/*
 * Is a host of a database's list drained; or addr (NULL: not known), which it
 * is, or its name leads to? However an address is written.
 */
bool drain_has(const struct catalog *c, const char *host,
    const struct net_addr *addr);
/*
 * Has p no host left to connect to? All of its list are drained; or it was
 * found lately (p->drained_at) that names lead to nothing else.
 */
bool drain_stops(const struct catalog *c, const struct pool *p, usec_t now);

/* Is a server what target_session_attrs asks for? */

enum fact { FACT_UNKNOWN, FACT_NO, FACT_YES };

/* What a server has said of itself. All zero: nothing. */
struct host_role {
	enum fact standby;	/* in_hot_standby, pg_is_in_recovery() */
	enum fact read_only;	/* so its sessions are at first */
};

/* Take what a parameter of this name tells, if anything. */
void host_role_note(struct host_role *r, const char *name, const char *value);
/* Can it be said whether r fits? */
bool host_role_is_known(const struct host_role *r, enum session_attrs attrs);
/* NULL: r fits, or is not known not to; else why not, in libpq's words. */
const char *host_role_misfit(const struct host_role *r,
    enum session_attrs attrs);

#endif
