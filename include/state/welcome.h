/* welcome.h - what a client is told at the end of its login.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_WELCOME_H
#define STATE_WELCOME_H

#include <sys/uio.h>

struct client;
struct params;

/* All is borrowed. */
struct welcome_parts {
	struct iovec first;		/* the rest of the exchange, or empty */
	const struct params *tracked;	/* where c has no wish of its own */
	struct iovec others;		/* messages that tell the other ones */
};

/*
 * AuthenticationOk, parameters, key, ReadyForQuery (spec/pooling.md section 3), in
 * one send with what comes first.
 */
void welcome_send(struct client *c, const struct welcome_parts *g);

#endif
