/* tls.c - TLS over a stream: the transport, and the handshake.
 *
 * OpenSSL never sees the socket. What one recv gave is worked off from a
 * buffer that all connections share, and what it writes is collected and sent
 * at once, or queued by the stream as bytes of the wire. So a burst costs as
 * many system calls as without TLS, and OpenSSL never waits for a write.
 * SPDX-License-Identifier: ISC */
#include "io/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/net.h"
#include "io/stream.h"
#include "io/tls_parts.h"
#include "io/transport.h"

#define READS_MAX 4	/* of the socket in one call */
#define TICKETS_TRIED 32	/* tickets given before one is used */
#define TICKETS_RARE 16		/* one ticket in so many, while unused */
#define UNASKED_MAX 65536	/* bytes that a peer makes us say, but not reads */

/* --- the wire, as OpenSSL sees it --- */

/* Read the socket into the shared buffer. 0, or -1: nothing came. */
static int refill(struct stream *s)
{
	struct tls *t = s->tls;
	struct tls_wire *w = t->ctx->wire;
	ssize_t n;

	/* bytes that came already are more urgent than bytes that may come */
	if (t->eof || t->drained || t->served || t->reads == READS_MAX)
		return -1;
	t->reads++;
	do
		n = recv(s->fd, w->in, sizeof w->in, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		t->drained = true;
		return -1;
	}
	if (n <= 0) {
		t->eof = true;
		return -1;
	}
	/* as in the plain transport: after a hang-up no edge follows */
	t->drained = (size_t)n < sizeof w->in && !s->hup;
	t->in = w->in;
	t->in_len = (size_t)n;
	return 0;
}

static int wire_read(BIO *b, char *out, int size)
{
	struct stream *s = BIO_get_data(b);
	struct tls *t = s->tls;

	BIO_clear_retry_flags(b);
	if (size <= 0)
		return 0;
	if (t->in_len == 0 && refill(s) < 0) {
		if (t->eof)
			return 0;
		BIO_set_retry_read(b);
		return -1;
	}
	const size_t n = t->in_len < (size_t)size ? t->in_len : (size_t)size;

	memcpy(out, t->in, n);
	t->in += n;
	t->in_len -= n;
	return (int)n;
}

/* Send what was collected. */
static enum stream_write flush(struct stream *s)
{
	struct tls_wire *w = s->tls->ctx->wire;
	struct iovec v = { w->out, w->out_len };

	w->out_len = 0;
	return v.iov_len == 0 ? STREAM_SENT : stream_push(s, &v, 1);
}

static int wire_write(BIO *b, const char *p, int size)
{
	struct stream *s = BIO_get_data(b);
	struct tls_wire *w = s->tls->ctx->wire;
	size_t left = size > 0 ? (size_t)size : 0;

	BIO_clear_retry_flags(b);
	while (left > 0) {
		const size_t room = sizeof w->out - w->out_len;
		const size_t n = left < room ? left : room;

		memcpy(w->out + w->out_len, p, n);
		w->out_len += n;
		p += n;
		left -= n;
		if (w->out_len == sizeof w->out && flush(s) == STREAM_BROKEN)
			return -1;
	}
	return size;
}

static long wire_ctrl(BIO *b, int cmd, long num, void *p)
{
	(void)b;
	(void)num;
	(void)p;
	return cmd == BIO_CTRL_FLUSH;
}

/*
 * OpenSSL has 127 types of BIO for a process and takes none back, so there is
 * one method for all. Kept until the end of the process.
 */
static const BIO_METHOD *wire_method(void)
{
	static _Atomic(BIO_METHOD *) known;
	BIO_METHOD *m = atomic_load(&known), *before = NULL;

	if (m != NULL)
		return m;
	const int type = BIO_get_new_index();

	m = type < 0 ? NULL : BIO_meth_new(type | BIO_TYPE_SOURCE_SINK,
	    "stream");
	if (m == NULL)
		return NULL;
	BIO_meth_set_read(m, wire_read);
	BIO_meth_set_write(m, wire_write);
	BIO_meth_set_ctrl(m, wire_ctrl);
	if (atomic_compare_exchange_strong(&known, &before, m))
		return m;
	BIO_meth_free(m);
	return before;
}

BIO *tls_bio_new(void)
{
	const BIO_METHOD *m = wire_method();
	BIO *b = m == NULL ? NULL : BIO_new(m);

	if (b != NULL)
		BIO_set_init(b, 1);
	return b;
}

/* --- every use of OpenSSL is between these two --- */

static void begin(struct stream *s)
{
	struct tls *t = s->tls;

	t->queued = (uint32_t)stream_queued(s);
	t->reads = 0;
	t->drained = t->served = false;
	BIO_set_data(t->ctx->bio, s);
	/* errors left in the queue by other uses of libcrypto are not ours */
	if (ERR_peek_error() != 0)
		ERR_clear_error();
}

/*
 * Keep what OpenSSL did not take. The caller's buffer was full, or it waits for
 * nothing more: rare, and never much.
 */
static int keep_rest(struct tls *t)
{
	uint8_t *rest = NULL;

	if (t->in_len > 0 && t->in >= t->ctx->wire->in &&
	    t->in < t->ctx->wire->in + sizeof t->ctx->wire->in) {
		rest = mem_dup(t->in, t->in_len);
		if (rest == NULL)
			return -1;
	} else if (t->in_len > 0) {
		return 0;
	}
	mem_free(t->stash);
	t->in = t->stash = rest;
	return 0;
}

/*
 * TLS has requests of its own, as for new keys, that are answered while we
 * read. A peer that only asks would have us queue answers without end.
 */
static bool asks_too_much(const struct stream *s)
{
	struct tls *t = s->tls;
	const uint32_t queued = (uint32_t)stream_queued(s);

	t->unasked = queued == 0 ? 0 : t->unasked + (queued - t->queued);
	return t->up && t->unasked > UNASKED_MAX;
}

/* Put the stream's state right. more: there is something left to be told. */
static int finish(struct stream *s, bool more)
{
	struct tls *t = s->tls;

	if (flush(s) == STREAM_BROKEN || asks_too_much(s))
		t->failed = true;
	if (keep_rest(t) < 0) {
		errno = ENOMEM;
		return -1;
	}
	if (t->drained && t->in_len == 0 && !more && !t->eof && !t->failed)
		stream_await(s);
	return 0;
}

/* --- the transport --- */

/* Records to be had without the socket; or the first of all. */
static bool may_read(const struct tls *t)
{
	return !t->failed && (!t->served || t->in_len > 0 ||
	    SSL_pending(t->ssl) > 0);
}

static ssize_t tls_read(struct stream *s, void *buf, size_t size)
{
	struct tls *t = s->tls;
	size_t have = 0;
	bool end = t->failed;

	begin(s);
	while (have < size && may_read(t)) {
		const int n = SSL_read(t->ssl, (char *)buf + have,
		    (int)(size - have));

		if (n <= 0) {
			end = SSL_get_error(t->ssl, n) != SSL_ERROR_WANT_READ;
			ERR_clear_error();
			break;
		}
		have += (size_t)n;
		t->served = true;
	}
	if (finish(s, end || have == size) < 0)
		return -1;
	if (have > 0 || end || t->failed)
		return (ssize_t)have;
	if (!t->drained)
		stream_yield(s);	/* records of no bytes, and no end */
	errno = EAGAIN;
	return -1;
}

static void seal(struct stream *s, const void *p, size_t n)
{
	struct tls *t = s->tls;

	if (n == 0 || t->failed)
		return;
	if (SSL_write(t->ssl, p, (int)n) != (int)n)
		t->failed = true;
}

/* Pieces that would be short records share one. */
static void seal_all(struct stream *s, const struct iovec *iov, int count)
{
	uint8_t *record = s->tls->ctx->wire->record;
	size_t have = 0;

	for (int i = 0; i < count; i++) {
		const uint8_t *p = iov[i].iov_base;
		size_t n = iov[i].iov_len;

		while (n > 0) {
			size_t part = n < TLS_RECORD - have ? n :
			    TLS_RECORD - have;

			if (have == 0 && n >= TLS_RECORD) {
				part = n - n % TLS_RECORD;
				seal(s, p, part);
			} else {
				memcpy(record + have, p, part);
				have += part;
			}
			p += part;
			n -= part;
			if (have == TLS_RECORD) {
				seal(s, record, have);
				have = 0;
			}
		}
	}
	seal(s, record, have);
}

static enum stream_write tls_write(struct stream *s, struct iovec *iov,
    int count)
{
	struct tls *t = s->tls;

	begin(s);
	if (!t->up)
		t->failed = true;
	if (count == 1)
		seal(s, iov->iov_base, iov->iov_len);
	else
		seal_all(s, iov, count);
	const enum stream_write r = flush(s);

	if (!t->failed)
		return r;
	s->broken = true;
	return STREAM_BROKEN;
}

void tls_free(struct tls *t)
{
	SSL_free(t->ssl);
	tls_context_unref(&t->ctx);
	tls_core_unref(&t->core);
	mem_free(t->host);
	mem_free(t->stash);
	mem_delete(MEM_TLS, t, sizeof *t);
}

static void tls_close(struct stream *s)
{
	struct tls *const t = s->tls;
	const bool moves = t != NULL && t->ctx == NULL;

	if (t == NULL)
		return;
	if (moves || tls_away_leave(s)) {
		s->tls = NULL;
		if (moves)
			tls_free(t);
		return;
	}
	begin(s);
	/* not SSL_shutdown() after a failure: OpenSSL forbids it */
	if (t->up && !t->failed && !s->broken)
		(void)SSL_shutdown(t->ssl);
	(void)flush(s);
	ERR_clear_error();
	s->tls = NULL;
	tls_free(t);
}

static const struct transport transport = {
	.read = tls_read,
	.write = tls_write,
	.close = tls_close,
};

/* --- start --- */

static struct tls *tls_new(struct tls_context *ctx)
{
	struct tls *t = mem_new(MEM_TLS, sizeof *t);

	if (t == NULL)
		return NULL;
	t->ctx = tls_context_ref(ctx);
	t->ssl = SSL_new(ctx->core->ssl);
	if (t->ssl == NULL || BIO_up_ref(ctx->bio) != 1) {
		ERR_clear_error();
		tls_free(t);
		return NULL;
	}
	SSL_set_bio(t->ssl, ctx->bio, ctx->bio);
	return t;
}

/* s->tls is set: from here on t is closed with the stream. */
static void start(struct stream *s, struct tls *t)
{
	s->tls = t;
	s->transport = &transport;
}

/*
 * A ticket takes a tenth of the handshake to make, and a segment of its own;
 * what is built on libpq never comes back with one. So where none is used for
 * long they get rare, and as soon as one is, everybody has one again.
 */
static bool is_ticket_due(const struct tls_context *c)
{
	return c->unused < TICKETS_TRIED || c->unused % TICKETS_RARE == 0;
}

int tls_accept(struct stream *s, struct tls_context *ctx, const void *p,
    size_t len)
{
	struct tls *t = tls_new(ctx);

	if (t == NULL)
		return -1;
	start(s, t);
	SSL_set_accept_state(t->ssl);
	if (!is_ticket_due(ctx) && SSL_set_num_tickets(t->ssl, 0) != 1)
		return -1;
	if (len == 0)
		return 0;
	t->stash = mem_dup(p, len);
	if (t->stash == NULL)
		return -1;
	t->in = t->stash;
	t->in_len = len;
	s->ready = true;
	return 0;
}

int tls_connect(struct stream *s, struct tls_context *ctx, const char *host)
{
	struct net_addr a;
	struct tls *t = tls_new(ctx);

	if (t == NULL)
		return -1;
	start(s, t);
	SSL_set_connect_state(t->ssl);
	t->host = mem_strdup(host);
	/* RFC 6066 section 3: names only */
	if (t->host == NULL || (net_parse_ip(host, 0, &a) < 0 &&
	    SSL_set_tlsext_host_name(t->ssl, host) != 1))
		return -1;
	return 0;
}

/* --- handshake --- */

void tls_on_info(const SSL *ssl, int where, int value)
{
	/* renegotiation was refused: no peer has a good reason to want it */
	if ((where & SSL_CB_WRITE_ALERT) != SSL_CB_WRITE_ALERT ||
	    (value & 0xff) != SSL_AD_NO_RENEGOTIATION)
		return;
	/* a handshake in memory is the first one */
	if (BIO_method_type(SSL_get_rbio(ssl)) == BIO_TYPE_MEM)
		return;
	struct stream *s = BIO_get_data(SSL_get_rbio(ssl));

	s->tls->failed = true;
}

static int check_alpn(const struct tls *t, struct err *e)
{
	static const char want[] = "postgresql";
	const unsigned char *got = NULL;
	unsigned len = 0;

	if (!t->ctx->core->alpn || t->ctx->core->accepts)
		return 0;
	SSL_get0_alpn_selected(t->ssl, &got, &len);
	if (len == sizeof want - 1 && memcmp(got, want, len) == 0)
		return 0;
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "server does not speak PostgreSQL over direct TLS (no ALPN)");
}

static int check_name(const struct tls *t, struct err *e)
{
	if (t->ctx->core->accepts || t->ctx->core->verify < TLS_VERIFY_NAME)
		return 0;
	X509 *cert = SSL_get0_peer_certificate(t->ssl);

	if (cert != NULL && tls_cert_is_for(cert, t->host))
		return 0;
	return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
	    "name \"%s\" not present in server certificate", t->host);
}

static enum tls_step fail(struct tls *t, int result, struct err *e)
{
	const long verify = SSL_get_verify_result(t->ssl);

	if (SSL_get_error(t->ssl, result) == SSL_ERROR_WANT_READ)
		return t->eof ? TLS_GONE : TLS_MORE;
	t->failed = true;
	if (t->eof && verify == X509_V_OK)
		return TLS_GONE;
	if (verify != X509_V_OK)
		err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "certificate verify failed: %s",
		    X509_verify_cert_error_string(verify));
	else
		tls_err(e, "");
	return TLS_FAILED;
}

/* Our keys are worked with here, for milliseconds. */
enum tls_step tls_shake(struct tls *t, struct err *e)
{
	enum tls_step step = TLS_DONE;

	ERR_clear_error();
	const int result = SSL_do_handshake(t->ssl);

	if (result != 1)
		step = fail(t, result, e);
	else if (check_name(t, e) < 0 || check_alpn(t, e) < 0)
		step = TLS_FAILED;
	ERR_clear_error();
	return step;
}

enum tls_step tls_step_taken(struct stream *s, enum tls_step step,
    struct err *e)
{
	struct tls *t = s->tls;

	if (step == TLS_DONE) {
		t->up = true;
		t->ctx->unused = SSL_session_reused(t->ssl) ? 0 :
		    t->ctx->unused + 1;
	}
	if (finish(s, false) < 0) {
		err_nomem(e);
		step = TLS_FAILED;
	}
	if (step == TLS_FAILED)
		t->failed = true;
	if (step == TLS_MORE && !t->drained)
		stream_yield(s);
	return step;
}

static enum tls_step take_step(struct stream *s, struct err *e)
{
	begin(s);
	return tls_step_taken(s, tls_shake(s->tls, e), e);
}

bool tls_wire_feed(struct stream *s, BIO *to)
{
	struct tls *t = s->tls;

	begin(s);
	if (t->in_len == 0)
		(void)refill(s);
	const bool some = t->in_len > 0;

	if (some && BIO_write(to, t->in, (int)t->in_len) != (int)t->in_len)
		t->eof = true;		/* no memory */
	t->in_len = 0;
	if (t->eof)
		BIO_set_mem_eof_return(to, 0);
	(void)finish(s, false);
	return some || t->eof;
}

int tls_wire_send(struct stream *s, const void *p, size_t n)
{
	struct iovec v = { (void *)p, n };

	begin(s);
	return n > 0 && stream_push(s, &v, 1) == STREAM_BROKEN ? -1 : 0;
}

enum tls_step tls_handshake(struct stream *s, struct err *e)
{
	struct tls *t = s->tls;

	if (tls_away_is_due(s))
		return tls_away_step(s, e);
	/* logins of clients have a queue of their own, handshakes included */
	if (t->ctx->core->accepts)
		return take_step(s, e);
	/* all pools connect at once when a server comes back */
	if (!loop_may_toil(s->loop, t->waits)) {
		t->waits = true;
		stream_reread(s);
		stream_yield(s);
		return TLS_MORE;
	}
	t->waits = false;
	const usec_t begun = time_precise();
	const enum tls_step step = take_step(s, e);

	loop_toiled(s->loop, time_precise() - begun);
	return step;
}

struct tls_context *tls_context_of(const struct stream *s)
{
	return s->tls == NULL ? NULL : s->tls->ctx;
}

enum tls_state tls_state(const struct stream *s)
{
	if (s->tls == NULL)
		return TLS_NONE;
	return s->tls->up ? TLS_UP : TLS_HANDSHAKE;
}
