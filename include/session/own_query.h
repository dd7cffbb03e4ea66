/* own_query.h - queries that the pooler itself sends to a server.
 *
 * No client may use a server while one runs. What each means, and what follows
 * it, is one row in relay/own_queries.c.
 * SPDX-License-Identifier: ISC */
#ifndef SESSION_OWN_QUERY_H
#define SESSION_OWN_QUERY_H

struct server;

enum own_query {
	OWN_QUERY_NONE,
	OWN_QUERY_RESET,	/* server_reset_query */
	OWN_QUERY_CHECK,	/* server_check_query */
	OWN_QUERY_PARAMS,	/* SETs for the client that waits */
	OWN_QUERY_ROLLBACK,	/* the client left inside a transaction */
	OWN_QUERY_CLEAN,	/* removes what clients left */
	OWN_QUERY_CONNECT,	/* connect_query, after that */
	OWN_QUERY_PROBE,	/* what does the session have? For keep.h */
	OWN_QUERY_LISTEN,	/* moves channels to the listener */
	OWN_QUERY_BRING,	/* moves channels to the client's server */
	OWN_QUERY_BASE,		/* what did the session have before clients? */
	OWN_QUERIES
};

/*
 * The one setter. A query starts the server's timer, if that does not run yet;
 * OWN_QUERY_NONE stops it.
 */
void server_set_own_query(struct server *s, enum own_query query);
/*
 * Sends the text, which is not owed to a client: its answer is read here.
 * Returns 0, or -1: the server was closed.
 */
int server_send_query(struct server *s, const char *sql, enum own_query query);

#endif
