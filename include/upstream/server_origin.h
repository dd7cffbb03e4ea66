/* server_origin.h - what a server had before any client did.
 * SPDX-License-Identifier: ISC */
#ifndef UPSTREAM_SERVER_ORIGIN_H
#define UPSTREAM_SERVER_ORIGIN_H

#include <stddef.h>
#include <stdint.h>

struct server;
struct writer;

/* Writes a Query for the settings that s does not report, and for its role. */
void server_origin_question(struct server *s, struct writer *w);
/*
 * Takes the DataRow of the answer. Returns 0, or -1: a broken row, or no
 * memory.
 */
int server_origin_answer(struct server *s, const uint8_t *body, size_t len);
/* The login is over: what was not asked for is as s has reported it. */
void server_origin_known(struct server *s);

#endif
