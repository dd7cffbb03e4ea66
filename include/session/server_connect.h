/* server_connect.h - a server's way to one of its hosts.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_SERVER_CONNECT_H
#define SESSION_SERVER_CONNECT_H

#include <stdbool.h>

struct host;
struct server;

/*
 * Connect s to the first of its pool's hosts that answers. Then
 * server_connected() follows, or server_fail(): perhaps from inside.
 */
void server_connect(struct server *s);
/* The same to this host with this address; h may be s->host. */
void server_connect_to(struct server *s, const struct host *h);

/* Give up connecting, if s does. */
void server_connect_cancel(struct server *s);
/* s fails: its host, or those that let it wait, are not used for a while. */
void server_connect_blame(struct server *s);

#endif
