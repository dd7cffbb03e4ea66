/* client_role.h - the role of a client: what it is now, and which module serves
 * it.
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
 * There is one const row for each role, in a file of the module that serves it.
 * Only client_become() changes the role of a client. Each of these functions
 * may close the client, so the caller does not touch it afterwards. NULL: the
 * role has no use for it.
 */
struct client_role {
	const char *name;
	bool logging_in;		/* the client has not logged in yet */
	bool mute;			/* it is never told why it is closed */
	/* The list for the role's time-out. */
	struct timeout_list *(*time_out)(struct sessions *ss);
	/*
	 * The login is complete and the pool known: sends `first`, then the
	 * welcome.
	 */
	void (*admitted)(struct client *c, const struct iovec *first);
	/* Bytes can be read. Never NULL. */
	void (*input)(struct client *c);
	/* The overflow queue is empty again. */
	void (*drained)(struct client *c);
	/* The client has hung up while it was not read. */
	void (*hung_up)(struct client *c);
	/* c has what it waited for: a server (c->pc.server), or its welcome. */
	void (*go_on)(struct client *c);
	/*
	 * A CancelRequest with the key of c has arrived. Returns the end of
	 * that request for the log. CLOSE_NONE: it is for the query that runs.
	 */
	enum close_reason (*cancel)(struct client *c);
	/* The query of a login to auth_query. */
	struct auth_query *(*query)(const struct client *c);
	/* May the log mention the end of c? NULL: always. */
	bool (*speaks)(const struct client *c);
	/*
	 * Another role begins, or c is closed: leave the server, the queue and
	 * the console, and free what belongs to the role.
	 */
	void (*leave)(struct client *c);
};

/* Functions of the app. */
struct client_ops {
	/* the roles after a login */
	const struct client_role *relay, *replication, *console;
	/* c, which has the last descriptor, is closed. */
	void (*return_reserve)(struct client *c);
	/* Does that worker accept logins? */
	bool (*takes)(void *app, unsigned worker);
	/*
	 * May a client be sent to that worker now? Then the caller sends it;
	 * see login_move.h.
	 */
	bool (*may_send)(void *app, unsigned worker);
	void (*send)(void *app, struct client *c, unsigned worker);
	/* The same for a client that has logged in; see client_move.h. */
	bool (*may_move)(void *app, unsigned worker);
	void (*move)(void *app, struct client *c, unsigned worker);
	/* The same for a message to it; see broker.h. */
	bool (*may_tell)(void *app, unsigned worker);
	void (*tell)(void *app, struct host_word *w, unsigned worker);
	/* The same for a question to a server of it; see auth_fetch.h. */
	bool (*may_ask)(void *app, unsigned worker);
	void (*ask)(void *app, struct auth_fetch *f, unsigned worker);
	/* The same for a server; see server_move.h. */
	bool (*may_mail)(void *app, unsigned worker);
	void (*mail)(void *app, struct parcel *p, unsigned worker);
};

#endif
