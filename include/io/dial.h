/* dial.h - connect to the first of several hosts that answers.
 * SPDX-License-Identifier: ISC */
#ifndef IO_DIAL_H
#define IO_DIAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/net.h"
#include "base/time.h"
#include "io/socket.h"

struct dial;
struct dns;
struct loop;

/* RFC 8305 §5: head start of an attempt before the next begins beside it. */
#define DIAL_HEAD_START (USEC / 4)

/* Somewhere to connect to. Strings are borrowed until the dial is over. */
struct dial_host {
	const char *path;	/* Unix socket; NULL = TCP */
	const char *name;	/* to be looked up; NULL = addr is the address */
	struct net_addr addr;	/* TCP: the port, in any case */
};

enum dial_miss {
	DIAL_NO_NAME,		/* error: the status of c-ares */
	DIAL_NO_START,		/* error: errno; connect(2) failed at once */
	DIAL_NO_CONNECT,	/* error: errno */
	DIAL_SLOW,		/* another one was faster, or the time is up */
	DIAL_BARRED,		/* may_use() has said no */
};

struct dial_place {
	unsigned host;			/* index into the plan's hosts */
	struct net_addr addr;		/* none: DIAL_NO_NAME, or slow names */
};

struct dial_ops {
	/* May one connect there? NULL: anywhere. Must not touch the dial. */
	bool (*may_use)(void *arg, const struct dial_place *at);
	/* One attempt was in vain. Must not touch the dial. */
	void (*missed)(void *arg, const struct dial_place *at,
	    enum dial_miss why, int error);
	/* fd is the caller's; or -1: nothing is left. The dial is gone. */
	void (*done)(void *arg, int fd, const struct dial_place *at);
};

struct dial_plan {
	struct loop *loop;
	struct dns *dns;		/* NULL: no host has a name */
	const struct dial_host *hosts;	/* copied; in order of preference */
	unsigned count;
	unsigned rotation;	/* of several addresses of a name: the first */
	struct socket_opts opts;
};

/*
 * Try the hosts in their order, and each address of a name: the next at once
 * when one fails, and beside it when it takes longer than DIAL_HEAD_START.
 * ops->done follows exactly once, from the loop, unless dial_cancel() does.
 * NULL: no memory.
 */
struct dial *dial_start(const struct dial_plan *plan,
    const struct dial_ops *ops, void *arg);
/* Give up; with blame, what is under way is told as missed. NULLs *d. */
void dial_cancel(struct dial **d, bool blame);

#endif
