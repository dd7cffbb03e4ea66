/* httpd.c - connections of HTTP clients: taken, heard, answered, let go.
 * SPDX-License-Identifier: ISC */
#include "http/httpd.h"

#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/text.h"
#include "http/request.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/stream.h"
#include "io/tls.h"
#include "io/tls_context.h"

#define ACCEPT_BURST 8		/* in a turn */
#define ANSWER_TIME USEC	/* time for an answer while others wait */
#define BACKLOG 64
#define LISTENERS 8
#define HEAD_TEXT 1024		/* of an answer */

enum conn_state {
	CONN_SHAKES,	/* hands, TLS */
	CONN_HEARD,	/* a request is to come, or comes */
	CONN_ANSWERED,	/* the answer is being sent */
	CONN_CLOSED,	/* in no list; freed after the turn */
};

struct httpd_conn {
	struct stream stream;		/* first */
	struct httpd *httpd;		/* borrowed */
	struct httpd_conn *prev, *next;
	struct loop_task task;		/* the next bit of an answer */
	enum conn_state state;
	usec_t since;			/* when the connection's time began */
	const struct request *asked;	/* only while it is being answered */
	const struct httpd_source *source;	/* NULL: nothing more to make */
	void *body;			/* owned: of source */
	bool chunks, keep, head;	/* as in the request at hand */
	bool headed;			/* the head of the answer is written */
	bool served;			/* has had an answer */
	bool waits;			/* for a turn with less toil */
	struct net_addr peer;
	size_t len;			/* of buf */
	char buf[HTTPD_HEAD_BYTES + 1];
};

struct httpd {
	struct loop *loop;		/* borrowed */
	httpd_fn *fn;
	void *arg;
	struct tls_context *tls;	/* counted; NULL: plain */
	struct httpd_conn *conns;	/* DL */
	unsigned conn_count;
	unsigned listener_count;
	struct {
		struct loop_watch *watch;	/* owned */
		struct net_addr addr;
		int fd;
	} listeners[LISTENERS];
	char chunk[HTTPD_CHUNK_BYTES];	/* nothing in it outlives a call */
};

/* --- the end --- */

static void free_conn(struct loop_task *t)
{
	mem_delete(MEM_HTTP, (char *)t - offsetof(struct httpd_conn, stream.task),
	    sizeof(struct httpd_conn));
}

static void httpd_drop_source(struct httpd_conn *c)
{
	const struct httpd_source *const source = c->source;

	c->source = NULL;
	if (source != NULL)
		source->free(c->body);
}

static void close_conn(struct httpd_conn *c)
{
	struct httpd *const h = c->httpd;

	if (c->state == CONN_CLOSED)
		return;
	c->state = CONN_CLOSED;
	DL_DELETE(h->conns, c);
	h->conn_count--;
	httpd_drop_source(c);
	loop_cancel(&c->task);
	stream_close_told(&c->stream);
	c->stream.task.run = free_conn;
	loop_defer(h->loop, &c->stream.task);
}

/* --- answers --- */

static void hear_next(struct httpd_conn *c);

static void end_answer(struct httpd_conn *c)
{
	httpd_drop_source(c);
	if (!c->keep) {
		close_conn(c);
		return;
	}
	c->state = CONN_HEARD;
	c->served = true;
	c->since = time_now();
	/* the end of the request may have come meanwhile */
	stream_reread(&c->stream);
	stream_resume(&c->stream);
	/* the next request may be here already */
	hear_next(c);
}

/* All bytes written are sent, or queued: go on, some time. */
static void after_write(struct httpd_conn *c, enum stream_write how)
{
	if (how == STREAM_BROKEN)
		close_conn(c);
	else if (how == STREAM_SENT)
		loop_again(c->httpd->loop, &c->task);
}

static enum stream_write write_piece(struct httpd_conn *c,
    const struct text *piece, bool last)
{
	char size[32];
	struct text t;

	text_init(&t, size, sizeof size);
	text_addf(&t, "%zx\r\n", piece->len);
	const char *const end = !last ? "\r\n" :
	    piece->len > 0 ? "\r\n0\r\n\r\n" : "\r\n";
	struct iovec iov[] = {
		{ size, t.len },
		{ piece->at, piece->len },
		{ (char *)(uintptr_t)end, strlen(end) },
	};

	return c->chunks ? stream_write(&c->stream, iov, 3) :
	    stream_write(&c->stream, &iov[1], 1);
}

static void write_head(struct text *t, const struct httpd_conn *c,
    const struct httpd_head *head)
{
	text_addf(t, "HTTP/1.1 %d %s\r\n", head->status,
	    request_reason(head->status));
	text_addf(t, "Content-Type: %s\r\n", head->type);
	text_add(t, "Cache-Control: no-store\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Cross-Origin-Resource-Policy: same-origin\r\n");
	if (head->extra != NULL)
		text_add(t, head->extra);
	if (!c->keep)
		text_add(t, "Connection: close\r\n");
}

/* The head of a body whose length is not known. */
static void send_head(struct httpd_conn *c, const struct httpd_head *head)
{
	const bool empty = head->status == 304;
	char buf[HEAD_TEXT];
	struct text t;

	c->headed = true;
	/* without chunks the end of the connection is the end of the body */
	if (!c->chunks && !empty)
		c->keep = false;
	text_init(&t, buf, sizeof buf);
	write_head(&t, c, head);
	text_add(&t, c->chunks && !empty ?
	    "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
	/* head's texts may belong to the source */
	if (c->head || empty)
		httpd_drop_source(c);
	after_write(c, stream_write_bytes(&c->stream, buf, t.len));
}

static void prepare(struct httpd_conn *c, struct text *room)
{
	const struct httpd_head *const head = c->source->head(c->body, room);

	if (head == NULL)
		loop_again(c->httpd->loop, &c->task);
	else
		send_head(c, head);
}

static void make_piece(struct httpd_conn *c)
{
	struct text piece;

	text_init(&piece, c->httpd->chunk, sizeof c->httpd->chunk);
	if (!c->headed) {
		prepare(c, &piece);
		return;
	}
	const enum httpd_more more = c->source->more(c->body, &piece);
	const bool last = more == HTTPD_LAST;

	/* without the last chunk the client knows */
	if (more == HTTPD_BROKEN) {
		close_conn(c);
		return;
	}
	if (last)
		httpd_drop_source(c);
	/* an empty chunk would be the last one */
	if (piece.len == 0 && (!last || !c->chunks))
		loop_again(c->httpd->loop, &c->task);
	else
		after_write(c, write_piece(c, &piece, last));
}

/* The next bit, or the end. 64 that ask at once are not all served in a turn. */
static void httpd_go_on(struct loop_task *task)
{
	struct httpd_conn *const c = container_of(task, struct httpd_conn, task);

	loop_at(c->httpd->loop, &c->stream.socket);
	struct loop *const l = c->httpd->loop;

	if (c->source == NULL) {
		end_answer(c);
		return;
	}
	c->waits = !loop_may_toil(l, c->waits);
	if (c->waits) {
		loop_again(l, task);
		return;
	}
	const usec_t begun = time_precise();

	make_piece(c);
	loop_toiled(l, time_precise() - begun);
}

static void begin_answer(struct httpd_conn *c)
{
	c->state = CONN_ANSWERED;
	c->since = time_now();
	stream_pause(&c->stream);
}

void httpd_reply(struct httpd_conn *c, const struct httpd_head *head,
    const char *body, size_t len)
{
	char buf[HEAD_TEXT];
	struct text t;

	begin_answer(c);
	text_init(&t, buf, sizeof buf);
	write_head(&t, c, head);
	text_addf(&t, "Content-Length: %zu\r\n\r\n", len);
	struct iovec iov[] = {
		{ buf, t.len },
		{ (char *)(uintptr_t)body, len },
	};

	after_write(c, stream_write(&c->stream, iov, c->head ? 1 : 2));
}

void httpd_stream(struct httpd_conn *c, const struct httpd_head *head,
    const struct httpd_source *source, void *body)
{
	begin_answer(c);
	c->source = source;
	c->body = body;
	send_head(c, head);
}

void httpd_prepare(struct httpd_conn *c, const struct httpd_source *source,
    void *body)
{
	begin_answer(c);
	c->headed = false;
	c->source = source;
	c->body = body;
	loop_again(c->httpd->loop, &c->task);
}

const struct net_addr *httpd_peer(const struct httpd_conn *c)
{
	return &c->peer;
}

/* A request that was not understood: where the next one begins is not known. */
static void httpd_refuse(struct httpd_conn *c, int status)
{
	char body[64];
	struct text t;

	c->keep = false;
	c->len = 0;
	text_init(&t, body, sizeof body);
	text_addf(&t, "%s\n", request_reason(status));
	httpd_reply(c, &(struct httpd_head){
		.status = status, .type = "text/plain",
		.extra = status == 405 ? "Allow: GET, HEAD\r\n" : NULL,
	}, body, t.len);
}

/* --- requests --- */

static void take_request(struct httpd_conn *c, const struct request *r)
{
	c->chunks = r->chunks;
	c->keep = r->keep;
	c->head = r->head;
	c->httpd->fn(c->httpd->arg, c, r);
}

/* Is there a whole request in the buffer? Answer it. */
static void hear_next(struct httpd_conn *c)
{
	struct request r;
	size_t used = 0;
	const int status = request_parse(c->buf, c->len, &r, &used);

	c->chunks = c->keep = c->head = false;
	if (status == REQUEST_MORE) {
		if (c->len == HTTPD_HEAD_BYTES)
			httpd_refuse(c, 431);
		return;
	}
	if (status != REQUEST_READY) {
		c->head = r.head;
		httpd_refuse(c, status);
		return;
	}
	take_request(c, &r);
	/* the texts of r were in the buffer until now */
	c->len -= used;
	memmove(c->buf, c->buf + used, c->len);
}

static void hear(struct httpd_conn *c)
{
	while (c->state == CONN_HEARD) {
		const ssize_t n = stream_read(&c->stream, c->buf + c->len,
		    HTTPD_HEAD_BYTES - c->len);

		if (n == STREAM_NONE)
			return;
		if (n < 0) {
			close_conn(c);
			return;
		}
		if (c->len == 0 && c->served)
			c->since = time_now();
		c->served = false;
		c->len += (size_t)n;
		hear_next(c);
	}
}

static void shake_hands(struct httpd_conn *c)
{
	struct err e;

	switch (tls_handshake(&c->stream, &e)) {
	case TLS_DONE:
		c->state = CONN_HEARD;
		stream_reread(&c->stream);
		hear(c);
		break;
	case TLS_MORE:
		break;
	case TLS_FAILED:
		log_debug("http: TLS handshake error: %s", e.text);
		/* fall through */
	case TLS_GONE:
		close_conn(c);
		break;
	}
}

static void httpd_on_readable(struct stream *s)
{
	struct httpd_conn *const c = (struct httpd_conn *)s;

	if (c->state == CONN_SHAKES)
		shake_hands(c);
	else
		hear(c);
}

static void httpd_on_drained(struct stream *s)
{
	struct httpd_conn *const c = (struct httpd_conn *)s;

	if (c->state == CONN_ANSWERED)
		loop_again(c->httpd->loop, &c->task);
}

/* (RFC 9112 9.6) A client that awaits its answer may have closed its side. */
static void httpd_on_hangup(struct stream *s)
{
	struct httpd_conn *const c = (struct httpd_conn *)s;

	if (c->state != CONN_ANSWERED)
		close_conn(c);
}

static void httpd_on_describe(const struct stream *s, struct text *t)
{
	const struct httpd_conn *const c = (const struct httpd_conn *)s;
	char address[NET_TEXT_MAX];

	net_format(&c->peer, address, sizeof address);
	text_addf(t, "http client %s", address);
}

static const struct stream_ops conn_ops = {
	.describe = httpd_on_describe,
	.readable = httpd_on_readable,
	.drained = httpd_on_drained,
	.hangup = httpd_on_hangup,
};

/* --- new connections --- */

/* Must c go before o, where one must? A connection without a request does. */
static bool is_dearer(const struct httpd_conn *c, const struct httpd_conn *o)
{
	const bool answered = c->state == CONN_ANSWERED,
	    other_is = o->state == CONN_ANSWERED;

	return answered == other_is ? c->since < o->since : other_is;
}

static unsigned httpd_count_of(const struct httpd *h,
    const struct net_addr *peer)
{
	const struct httpd_conn *c;
	unsigned n = 0;

	DL_FOREACH(h->conns, c)
		n += net_same_site(&c->peer, peer);
	return n;
}

/*
 * Someone has to go when others come; one of the same place where that has its
 * share, so that nobody can keep all others out. false: all are busy, and not
 * for long.
 */
static bool httpd_make_room(struct httpd *h, const struct net_addr *peer)
{
	const bool has_share = httpd_count_of(h, peer) >= HTTPD_SHARE;
	struct httpd_conn *c, *first = NULL;

	if (!has_share && h->conn_count < HTTPD_CONNS)
		return true;
	DL_FOREACH(h->conns, c) {
		if (has_share && !net_same_site(&c->peer, peer))
			continue;
		if (first == NULL || is_dearer(c, first))
			first = c;
	}
	if (first->state == CONN_ANSWERED &&
	    time_age(first->since, time_now()) < ANSWER_TIME)
		return false;
	close_conn(first);
	return true;
}

static void take_conn(struct httpd *h, int fd, const struct net_addr *peer)
{
	struct httpd_conn *const c = httpd_make_room(h, peer) ?
	    mem_new(MEM_HTTP, sizeof *c) : NULL;

	if (c == NULL) {
		close(fd);
		return;
	}
	c->httpd = h;
	c->peer = *peer;
	c->since = time_now();
	c->task.run = httpd_go_on;
	c->state = CONN_HEARD;
	if (stream_open(&c->stream, h->loop, fd, &conn_ops) < 0) {
		mem_delete(MEM_HTTP, c, sizeof *c);
		return;
	}
	DL_APPEND(h->conns, c);
	h->conn_count++;
	if (h->tls == NULL)
		return;
	c->state = CONN_SHAKES;
	if (tls_accept(&c->stream, h->tls, NULL, 0) < 0)
		close_conn(c);
}

static void httpd_on_acceptable(void *arg)
{
	struct httpd *const h = arg;

	for (unsigned i = 0; i < h->listener_count; i++) {
		for (int n = 0; n < ACCEPT_BURST; n++) {
			struct net_addr peer;
			const int fd = socket_accept(h->listeners[i].fd,
			    &peer);

			if (fd < 0)
				break;
			take_conn(h, fd, &peer);
		}
	}
}

bool httpd_listens(const struct httpd *h, const struct net_addr *addr)
{
	for (unsigned i = 0; i < h->listener_count; i++) {
		if (net_equal(&h->listeners[i].addr, addr))
			return true;
	}
	return false;
}

int httpd_listen(struct httpd *h, const struct net_addr *addr, struct err *e)
{
	/* so that a successor can (-R), while we are still here */
	const struct socket_listen how = {
		.backlog = BACKLOG, .reuseport = true,
	};
	const unsigned n = h->listener_count;

	if (n == LISTENERS)
		return err_set(e, ERRCODE_LIMIT_EXCEEDED, "too many addresses");
	const int fd = socket_listen_tcp(addr, &how, e);

	if (fd < 0)
		return -1;
	h->listeners[n].watch = loop_watch(h->loop, fd, httpd_on_acceptable, h);
	if (h->listeners[n].watch == NULL) {
		close(fd);
		return err_set(e, ERRCODE_OUT_OF_MEMORY, "out of memory");
	}
	h->listeners[n].fd = fd;
	h->listeners[n].addr = *addr;
	h->listener_count++;
	return 0;
}

void httpd_deafen(struct httpd *h)
{
	for (unsigned i = 0; i < h->listener_count; i++) {
		loop_unwatch(&h->listeners[i].watch);
		close(h->listeners[i].fd);
	}
	h->listener_count = 0;
}

void httpd_set_tls(struct httpd *h, struct tls_context *ctx)
{
	tls_context_unref(&h->tls);
	h->tls = ctx != NULL ? tls_context_ref(ctx) : NULL;
}

static usec_t limit_of(const struct httpd_conn *c)
{
	if (c->state == CONN_ANSWERED)
		return HTTPD_REPLY_TIME;
	return c->served ? HTTPD_IDLE_TIME : HTTPD_HEAD_TIME;
}

void httpd_tick(struct httpd *h, usec_t now)
{
	struct httpd_conn *c, *next;

	DL_FOREACH_SAFE(h->conns, c, next) {
		if (time_age(c->since, now) > limit_of(c))
			close_conn(c);
	}
}

struct httpd *httpd_new(struct loop *l, httpd_fn *fn, void *arg)
{
	struct httpd *const h = mem_zalloc(sizeof *h);

	if (h == NULL)
		return NULL;
	h->loop = l;
	h->fn = fn;
	h->arg = arg;
	return h;
}

void httpd_free(struct httpd **hp)
{
	struct httpd *const h = *hp;

	*hp = NULL;
	if (h == NULL)
		return;
	httpd_deafen(h);
	while (h->conns != NULL)
		close_conn(h->conns);
	httpd_set_tls(h, NULL);
	mem_free(h);
}
