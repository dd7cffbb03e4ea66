/* server_login_parts.h - for the files of server_login only.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_LOGIN_PARTS_H
#define UPSTREAM_SERVER_LOGIN_PARTS_H

#include <stddef.h>
#include <stdint.h>

struct server;
struct writer;

#define SERVER_LOGIN_MAX (1 << 20)	/* bytes of one message, and of all
					 * messages */
#define SERVER_LOGIN_PARAMETERS 256	/* ParameterStatus messages */

struct server_message {
	char type;
	const uint8_t *body;
	size_t len;
};

/*
 * Handles a message. Returns 0; 1: the last one of the login; -1: s was closed,
 * or begins again.
 */
int server_login_take(struct server *s, const struct server_message *m);

/* Sends w and frees its bytes. Returns -1 if s was closed. */
int server_login_send(struct server *s, struct writer *w);

#endif
