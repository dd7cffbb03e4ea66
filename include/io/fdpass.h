/* fdpass.h - descriptors that travel with bytes, over a Unix socket.
 * SPDX-License-Identifier: ISC */
#ifndef IO_FDPASS_H
#define IO_FDPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/time.h"

/* Where descriptors go. Sending blocks: nothing else happens meanwhile. */
struct fdpass_way {
	int sock;
	usec_t until;		/* by time_precise(): given up then */
};

/* All n bytes, and fd with them. 0, or -1 and errno. */
int fdpass_send(const struct fdpass_way *way, const void *p, size_t n, int fd);

/*
 * To receive, and to send without one: the calls block, and give up (errno
 * EAGAIN) when the other end does nothing for so long.
 */
int fdpass_block(int sock, int seconds);	/* 0: for ever. 0 or -1 */

/* From now on the kernel names the sender of received bytes. 0 or -1. */
int fdpass_ask_sender(int sock);

/* Descriptor and sender that came with some bytes. */
struct fdpassed {
	int fd;			/* ours to close; -1: none */
	bool known;		/* the rest is, see fdpass_ask_sender() */
	uid_t uid;
	pid_t pid;		/* 0: of no number that we know */
};

/* As recv(2). */
ssize_t fdpass_recv(int sock, void *buf, size_t size, struct fdpassed *with);

#endif
