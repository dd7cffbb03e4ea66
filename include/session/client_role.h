/* client_role.h - what a client is for the time being, and what serves it.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_CLIENT_ROLE_H
#define SESSION_CLIENT_ROLE_H

#include <stdbool.h>
#include <stddef.h>

#include "pool/close_reason.h"

struct auth_fetch;
struct auth_query;
struct client;
struct host_word;
struct iovec;
struct parcel;
struct sessions;
struct timeout_list;

/*
 * What a client is for the time being: a const row for each role, in a file of
 * the module that serves it. client_become() moves a client from row to row,
 * and nothing else does. What is called here may close the client: the caller
 * looks no further. NULL: that does not concern the role.
 */
struct client_role {
	const char *name;
	bool logging_in;		/* nobody knows yet who the client is */
	bool mute;			/* never told why it is closed */
	/* The list of clients that run the time-out of the role. */
	struct timeout_list *(*time_out)(struct sessions *ss);
	/* Logged in, its pool known: send first, then the welcome. */
	void (*admitted)(struct client *c, const struct iovec *first);
	/* Bytes can be read; never NULL. */
	void (*input)(struct client *c);
	/* The overflow queue is empty again. */
	void (*drained)(struct client *c);
	/* The client has hung up while it was not read. */
	void (*hung_up)(struct client *c);
	/* What c waited for is there: a server (c->pc.server), its welcome. */
	void (*go_on)(struct client *c);
	/*
	 * A CancelRequest with the key of c came. Returns the end of that
	 * request for the log; CLOSE_NONE: a query that runs is what it is
	 * for.
	 */
	enum close_reason (*cancel)(struct client *c);
	/* Of a login: what auth_query is asked. */
	struct auth_query *(*query)(const struct client *c);
	/* May the log speak of the end of c? NULL: always. */
	bool (*speaks)(const struct client *c);
	/*
	 * Another role begins, or c is closed already: leave the server, the
	 * queue, the console; free what belongs to the role alone.
	 */
	void (*leave)(struct client *c);
};

/* What the app provides. */
struct client_ops {
	/* the roles that a login leads to */
	const struct client_role *relay, *replication, *console;
	/* c, which has the last descriptor, is closed. */
	void (*return_reserve)(struct client *c);
	/* Is that worker one to log in at? */
	bool (*takes)(void *app, unsigned worker);
	/* May that worker be sent a client now? And then it is; see login_move.h. */
	bool (*may_send)(void *app, unsigned worker);
	void (*send)(void *app, struct client *c, unsigned worker);
	/* The same for one that is served; see client_move.h. */
	bool (*may_move)(void *app, unsigned worker);
	void (*move)(void *app, struct client *c, unsigned worker);
	/* The same for what it shall hear; see broker.h. */
	bool (*may_tell)(void *app, unsigned worker);
	void (*tell)(void *app, struct host_word *w, unsigned worker);
	/* The same for what it is to ask a server; see auth_fetch.h. */
	bool (*may_ask)(void *app, unsigned worker);
	void (*ask)(void *app, struct auth_fetch *f, unsigned worker);
	/* And for servers; see server_move.h. */
	bool (*may_mail)(void *app, unsigned worker);
	void (*mail)(void *app, struct parcel *p, unsigned worker);
};

#endif
