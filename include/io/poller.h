/* poller.h - which sockets have events; for the loop, which has one poller.
 *
 * configure chooses the file that implements it. poller_epoll.c has an epoll set
 * of its own, which is one event of libevent's: to find the owner of an event and
 * to call it takes a few instructions there, and some hundreds in libevent.
 * poller_libevent.c gives each socket to libevent and needs nothing else.
 * SPDX-License-Identifier: ISC */
#ifndef IO_POLLER_H
#define IO_POLLER_H

#include <stdint.h>

struct event_base;
struct loop;
struct loop_socket;
struct poller;

/* "epoll" or "libevent". */
const char *poller_name(void);

/* NULL: no memory, or the system refuses. base waits for the poller's events too. */
struct poller *poller_new(struct event_base *base, struct loop *l);
/* Its sockets are removed before. */
void poller_free(struct poller **p);

/* loop.h says what these do. */
int poller_add(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s);
void poller_change(struct poller *p, int fd, uint32_t events,
    struct loop_socket *s);
void poller_remove(struct poller *p, int fd, const struct loop_socket *s);
void poller_await(struct poller *p, int fd);

/* What the poller calls: s has these events. s may be freed after the call. */
void loop_tell(struct loop *l, struct loop_socket *s, uint32_t events);
struct poller *loop_poller(const struct loop *l);

#endif
