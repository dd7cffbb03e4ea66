/* welcome.h - the messages that end a client's login.
 * SPDX-License-Identifier: ISC */
#ifndef STATE_WELCOME_H
#define STATE_WELCOME_H

#include <sys/uio.h>

struct client;
struct params;

/* Everything is borrowed. */
struct welcome_parts {
	struct iovec first;		/* the last message of the password
					 * exchange, or empty */
	const struct params *tracked;	/* values for the parameters that the
					 * client does not set */
	struct iovec others;		/* messages for all other parameters */
};

/*
 * Sends AuthenticationOk, parameters, key and ReadyForQuery (spec/pooling.md
 * section 3), after `first`, in one write.
 */
void welcome_send(struct client *c, const struct welcome_parts *g);

#endif
