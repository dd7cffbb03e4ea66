/* server_origin.h - what a server had before any client did.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_ORIGIN_H
#define UPSTREAM_SERVER_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

struct server;
struct writer;

/* Write a Query for what s does not report, and its role. */
void server_origin_question(struct server *s, struct writer *w);
/* Take the answer's DataRow. 0, or -1: a broken row, or no memory. */
int server_origin_answer(struct server *s, const uint8_t *body, size_t len);
/* The login is over: what was not asked for is as s has told it. */
void server_origin_known(struct server *s);

#endif
