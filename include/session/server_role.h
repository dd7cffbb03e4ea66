/* server_role.h - target_session_attrs: does a server fit that logs in?
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_ROLE_H
#define SESSION_SERVER_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;
struct writer;

/* Does s have to be asked, as it has not reported enough? Then w has it. */
bool server_role_question(const struct server *s, struct writer *w);
/* The row that answers. */
void server_role_answer(struct server *s, const uint8_t *body, size_t len);
/* All is said. 0, or -1: s does not fit, and was closed. */
int server_role_check(struct server *s);

#endif
