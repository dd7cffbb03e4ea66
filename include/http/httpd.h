/* httpd.h - connections of HTTP clients: taken, heard, answered, let go.
 *
 * HTTP connections are streams, as those of database clients, not evhttp's:
 * libevent 2.1 can neither limit their number nor the time for a head to come.
 * SPDX-License-Identifier: ISC */
#ifndef HTTP_HTTPD_H
#define HTTP_HTTPD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/time.h"

struct err;
struct httpd;
struct httpd_conn;
struct loop;
struct net_addr;
struct request;
struct text;
struct tls_context;

/* Limits for any client that can connect. */
#define HTTPD_CONNS 64
#define HTTPD_SHARE 16			/* of these, from one address or /64 */
#define HTTPD_HEAD_BYTES 8192		/* of a request */
#define HTTPD_HEAD_TIME (10 * USEC)	/* for a whole head, TLS included */
#define HTTPD_IDLE_TIME (120 * USEC)	/* between two requests */
#define HTTPD_REPLY_TIME (60 * USEC)	/* for all of an answer to go */
#define HTTPD_CHUNK_BYTES 65536		/* of an answer, in a turn */
/* What makes a bit of an answer looks at the clock, and stops behind this. Who
 * is the last to be let in by loop_may_toil() adds so much to the turn. */
#define HTTPD_SLICE (USEC / 4000)

/* Answer the request with one of the functions below, before it returns. */
typedef void httpd_fn(void *arg, struct httpd_conn *c,
    const struct request *r);

enum httpd_more {
	HTTPD_LAST,		/* these bytes were the last */
	HTTPD_MORE,
	HTTPD_BROKEN,		/* what was sent is not all, nor will be */
};

/* An answer that is made bit by bit, each when the last one has gone. */
struct httpd_source {
	/* Put the next bytes into t, which has room for a chunk, without
	 * taking long. */
	enum httpd_more (*more)(void *body, struct text *t);
	/* For httpd_prepare(): what the head says, NULL: not known yet, ask
	 * again. t is a chunk of room to work in. */
	const struct httpd_head *(*head)(void *body, struct text *t);
	/* Free the body; no more calls follow. */
	void (*free)(void *body);
};

/* An answer, but for the body. */
struct httpd_head {
	int status;
	const char *type;	/* of the content */
	const char *extra;	/* more lines, each with its end; or NULL */
};

/* NULL: no memory. */
struct httpd *httpd_new(struct loop *l, httpd_fn *fn, void *arg);
void httpd_free(struct httpd **h);

/* Does h listen at addr? */
bool httpd_listens(const struct httpd *h, const struct net_addr *addr);
/* Listen here, too. 0, or -1 with e. */
int httpd_listen(struct httpd *h, const struct net_addr *addr, struct err *e);
/* Close the listening sockets; connected clients are still answered. */
void httpd_deafen(struct httpd *h);
/* New connections use TLS; NULL: no TLS. Takes a reference. */
void httpd_set_tls(struct httpd *h, struct tls_context *ctx);
/* From time to time: close connections whose time is up. */
void httpd_tick(struct httpd *h, usec_t now);

/* Address of the client. */
const struct net_addr *httpd_peer(const struct httpd_conn *c);

void httpd_reply(struct httpd_conn *c, const struct httpd_head *head,
    const char *body, size_t len);
/* source->free() is called in any case. */
void httpd_stream(struct httpd_conn *c, const struct httpd_head *head,
    const struct httpd_source *source, void *body);
/* The same, where source->head() says the head. */
void httpd_prepare(struct httpd_conn *c, const struct httpd_source *source,
    void *body);

#endif
