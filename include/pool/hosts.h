/* hosts.h - which address of a database the next connection goes to.
 * SPDX-License-Identifier: ISC */
#ifndef POOL_HOSTS_H
#define POOL_HOSTS_H

#include <stddef.h>

#include "base/net.h"

struct pool;

enum host_kind {
	HOST_UNIX,	/* path in text; may begin with '@' */
	HOST_ADDRESS,	/* addr is set */
	HOST_NAME,	/* text must be resolved; port in addr */
};

struct host {
	enum host_kind kind;
	struct net_addr addr;
	char text[256];		/* Unix: socket path; name: the name */
};

/*
 * The next host of p by its load_balance_hosts rule; unix_dir is the setting
 * unix_socket_dir. 0, or -1: no host and no unix_dir. (section 6)
 */
int hosts_next(struct pool *p, const char *unix_dir, struct host *out);
/* The last connection attempt failed: "disable" moves on. */
void hosts_failed(struct pool *p);

#endif
