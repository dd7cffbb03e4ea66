/* listener_parts.h - between listener.c, which accepts, and listener_open.c.
 * SPDX-License-Identifier: ISC */
#ifndef APP_LISTENER_PARTS_H
#define APP_LISTENER_PARTS_H

#include "app/listener.h"

/* Accept from fd. 0 or -1: it is closed. */
int listener_add(struct app *app, int fd, const struct net_addr *addr,
    const char *path);
/* The options for l, which may have had others. */
int listener_retune(const struct listener *l, struct err *e);

#endif
