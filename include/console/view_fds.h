/* view_fds.h - SHOW FDS: our sockets, and their way to another process.
 * SPDX-License-Identifier: ISC */
#ifndef CONSOLE_VIEW_FDS_H
#define CONSOLE_VIEW_FDS_H

#include <stdbool.h>

struct admin;
struct client;
struct console;
struct err;
struct selection;
struct view;

/* Is s SHOW FDS, and c a client that gets descriptors, not numbers? */
bool fds_may_pass(const struct client *c, const struct selection *s);

/*
 * All rows, each with its descriptor; blocks until they are sent. 0, or -1
 * with e: the connection is of no use any more.
 */
int fds_pass(struct console *k, const struct view *v, struct err *e);

#endif
