/* gssenc.c - GSSAPI encryption of a stream: what GSSENCRequest begins.
 * SPDX-License-Identifier: ISC */
#include "io/gssenc.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/gssapi.h"
#include "io/stream.h"
#include "io/transport.h"

#define HEADER 4
#define PACKET_MAX 16384	/* the header included, as PostgreSQL's and libpq's */
#define ROOM (2 * PACKET_MAX)	/* what is read of the socket at once */
#define READS_MAX 4		/* of the socket in one call */
#define CONTEXT_BYTES 4096	/* about what the library has of a context */

struct gssenc {
	struct gssapi *context;	/* owned */
	uint8_t *in;		/* owned: packets not opened yet; NULL: none */
	size_t in_len, in_size;
	struct gssapi_bytes plain;	/* owned: of an opened packet */
	size_t plain_used;	/* bytes of it that were taken */
	size_t data_max;	/* of a packet that we send */
	bool eof;		/* the socket ends here */
	bool drained;		/* it had no more input */
	bool waits;		/* a thread is at work */
	bool stepped;		/* it has been; see conclude() */
	bool up;		/* the handshake is done */
	bool failed;		/* neither read nor say anything more */
};

/* --- packets --- */

static uint32_t get_length(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static void put_length(uint8_t *p, size_t n)
{
	p[0] = (uint8_t)(n >> 24);
	p[1] = (uint8_t)(n >> 16);
	p[2] = (uint8_t)(n >> 8);
	p[3] = (uint8_t)n;
}

enum packet { PACKET_SHORT, PACKET_WHOLE, PACKET_BAD };

/* Is the first packet here? max: of its token. */
static enum packet look(const struct gssenc *g, size_t max, size_t *len)
{
	if (g->in_len < HEADER)
		return PACKET_SHORT;
	*len = get_length(g->in);
	if (*len == 0 || *len > max)
		return PACKET_BAD;
	return g->in_len - HEADER < *len ? PACKET_SHORT : PACKET_WHOLE;
}

/* An idle connection owns no buffer. */
static void take_packet(struct gssenc *g, size_t len)
{
	g->in_len -= HEADER + len;
	memmove(g->in, g->in + HEADER + len, g->in_len);
	if (g->in_len > 0)
		return;
	mem_free(g->in);
	g->in = NULL;
	g->in_size = 0;
}

/* Room for size bytes in all. 0, or -1. */
static int make_room(struct gssenc *g, size_t size)
{
	if (g->in_size >= size)
		return 0;
	uint8_t *const p = mem_resize(g->in, size);

	if (p == NULL)
		return -1;
	g->in = p;
	g->in_size = size;
	return 0;
}

/* Read the socket once. 0, or -1: nothing came. */
static int refill(struct stream *s)
{
	struct gssenc *const g = s->gssenc;
	const size_t room = g->in_size - g->in_len;
	ssize_t n;

	if (g->eof || g->drained || room == 0)
		return -1;
	do
		n = recv(s->fd, g->in + g->in_len, room, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN) {
		g->drained = true;
		return -1;
	}
	if (n <= 0) {
		g->eof = true;
		return -1;
	}
	/* as in the plain transport: after a hang-up no edge follows */
	g->drained = (size_t)n < room && !s->hup;
	g->in_len += (size_t)n;
	return 0;
}

static void release_plain(struct gssenc *g)
{
	gssapi_release(&g->plain);
	g->plain_used = 0;
}

/* --- the transport --- */

/* Open the first packet. 0, or -1: it is not here, or g has failed. */
static int open_packet(struct gssenc *g)
{
	size_t len = 0;

	switch (look(g, PACKET_MAX - HEADER, &len)) {
	case PACKET_SHORT:
		return -1;
	case PACKET_BAD:
		g->failed = true;
		return -1;
	case PACKET_WHOLE:
		break;
	}
	release_plain(g);
	if (gssapi_open(g->context, g->in + HEADER, len, &g->plain) < 0) {
		g->failed = true;
		return -1;
	}
	take_packet(g, len);
	return 0;
}

static size_t take_plain(struct gssenc *g, void *to, size_t size)
{
	const size_t left = g->plain.len - g->plain_used;
	const size_t n = left < size ? left : size;

	if (n > 0)
		memcpy(to, (const char *)g->plain.at + g->plain_used, n);
	g->plain_used += n;
	if (g->plain_used == g->plain.len)
		release_plain(g);
	return n;
}

static bool has_packet(const struct gssenc *g)
{
	size_t len;

	return g->plain.len > 0 || look(g, PACKET_MAX - HEADER, &len) !=
	    PACKET_SHORT;
}

static ssize_t gssenc_read(struct stream *s, void *buf, size_t size)
{
	struct gssenc *const g = s->gssenc;
	size_t have = 0;
	int reads = 0;

	g->drained = false;
	while (have < size && !g->failed) {
		if (g->plain.len > 0) {
			have += take_plain(g, (char *)buf + have, size - have);
			continue;
		}
		if (open_packet(g) == 0)
			continue;
		/* bytes that came are more urgent than those that may come */
		if (g->failed || have > 0 || reads++ == READS_MAX)
			break;
		if (make_room(g, ROOM) < 0) {
			errno = ENOMEM;
			return -1;
		}
		if (refill(s) < 0)
			break;
	}
	if (g->in_len == 0) {
		mem_free(g->in);
		g->in = NULL;
		g->in_size = 0;
	}
	const bool end = g->failed || g->eof;

	if (g->drained && !end && !has_packet(g))
		stream_await(s);
	if (have > 0 || end)
		return (ssize_t)have;
	if (!g->drained)
		stream_yield(s);	/* packets of no bytes, and no end */
	errno = EAGAIN;
	return -1;
}

/* One packet, whose header stands before its token. */
static enum stream_write send_packet(struct stream *s, const void *token,
    size_t len)
{
	uint8_t header[HEADER];
	struct iovec v[] = { { header, sizeof header },
		{ (void *)token, len } };

	put_length(header, len);
	return stream_push(s, v, 2);
}

static enum stream_write seal(struct stream *s, const void *p, size_t n)
{
	struct gssenc *const g = s->gssenc;
	struct gssapi_bytes sealed;

	if (gssapi_seal(g->context, p, n, &sealed) < 0) {
		g->failed = s->broken = true;
		return STREAM_BROKEN;
	}
	const enum stream_write r = send_packet(s, sealed.at, sealed.len);

	gssapi_release(&sealed);
	return r;
}

/* Pieces that would be short packets share one. */
static enum stream_write gssenc_write(struct stream *s, struct iovec *iov,
    int count)
{
	struct gssenc *const g = s->gssenc;
	uint8_t packet[PACKET_MAX];
	enum stream_write r = s->over != NULL ? STREAM_QUEUED : STREAM_SENT;
	size_t have = 0;

	if (!g->up || g->failed || s->broken) {
		s->broken = true;
		return STREAM_BROKEN;
	}
	for (int i = 0; i < count && r != STREAM_BROKEN; i++) {
		const uint8_t *p = iov[i].iov_base;
		size_t n = iov[i].iov_len;

		while (n > 0 && r != STREAM_BROKEN) {
			const size_t room = g->data_max - have;
			const size_t part = n < room ? n : room;

			memcpy(packet + have, p, part);
			have += part;
			p += part;
			n -= part;
			if (have < g->data_max)
				continue;
			r = seal(s, packet, have);
			have = 0;
		}
	}
	return have == 0 || r == STREAM_BROKEN ? r : seal(s, packet, have);
}

static void gssenc_close(struct stream *s)
{
	struct gssenc *const g = s->gssenc;

	if (g == NULL)
		return;
	s->gssenc = NULL;
	gssapi_free(&g->context);
	release_plain(g);
	mem_free(g->in);
	mem_delete(MEM_TLS, g, sizeof *g);
}

static const struct transport transport = {
	.read = gssenc_read,
	.write = gssenc_write,
	.close = gssenc_close,
};

/* --- the handshake --- */

static void gssenc_on_stepped(void *owner)
{
	struct stream *const s = owner;

	s->gssenc->waits = false;
	s->gssenc->stepped = true;
	stream_reread(s);
	stream_yield(s);
}

int gssenc_accept(struct stream *s, const char *keytab)
{
	const struct gssapi_order order = {
		.keytab = keytab, .done = gssenc_on_stepped, .owner = s,
	};
	struct gssenc *const g = mem_new(MEM_TLS, sizeof *g);

	if (g == NULL)
		return -1;
	g->context = gssapi_new(&order);
	s->gssenc = g;
	s->transport = &transport;
	return g->context != NULL ? 0 : -1;
}

static enum gssenc_step gssenc_fail(struct gssenc *g, struct err *e,
    const char *why)
{
	g->failed = true;
	err_set(e, ERRCODE_INVALID_AUTHORIZATION, "%s", why);
	return GSSENC_FAILED;
}

/* The step is over: what it has made is sent. */
static enum gssenc_step conclude(struct stream *s, struct err *e)
{
	struct gssenc *const g = s->gssenc;
	const enum gssapi_state state = gssapi_state(g->context);
	size_t len;
	const void *const token = gssapi_token(g->context, &len);

	g->stepped = false;
	/* as PostgreSQL: a token that tells of an error is not sent */
	if (token != NULL && (state == GSSAPI_MORE || state == GSSAPI_DONE) &&
	    send_packet(s, token, len) == STREAM_BROKEN)
		return GSSENC_GONE;
	switch (state) {
	case GSSAPI_MORE:
		return GSSENC_MORE;
	case GSSAPI_NO_MEMORY:
		return gssenc_fail(g, e, "out of memory");
	case GSSAPI_FAILED:
		return gssenc_fail(g, e, gssapi_why(g->context));
	case GSSAPI_DONE:
		break;
	}
	g->data_max = gssapi_data_max(g->context, PACKET_MAX - HEADER);
	if (g->data_max == 0)
		return gssenc_fail(g, e, "the context cannot encrypt");
	g->up = true;
	return GSSENC_DONE;
}

static enum gssenc_step submit(struct stream *s, size_t len, struct err *e)
{
	struct gssenc *const g = s->gssenc;

	switch (gssapi_step(g->context, loop_offload(s->loop),
	    g->in + HEADER, len)) {
	case OFFLOAD_TAKEN:
		break;
	case OFFLOAD_FULL:
		return gssenc_fail(g, e, "GSSAPI queue is full");
	case OFFLOAD_NO_THREAD:
		return gssenc_fail(g, e, "no thread can be started");
	}
	g->waits = true;
	take_packet(g, len);
	return GSSENC_MORE;
}

/* Nothing of the token is here but its length, perhaps. */
static int make_token_room(struct gssenc *g)
{
	const size_t len = g->in_len < HEADER ? 0 : get_length(g->in);

	return make_room(g, len > PACKET_MAX - HEADER ? HEADER + len :
	    PACKET_MAX);
}

static enum gssenc_step take_token(struct stream *s, struct err *e)
{
	struct gssenc *const g = s->gssenc;
	size_t len = 0;

	g->drained = false;
	for (;;) {
		switch (look(g, GSSAPI_TOKEN_MAX, &len)) {
		case PACKET_WHOLE:
			return submit(s, len, e);
		case PACKET_BAD:
			return gssenc_fail(g, e,
			    "a token is empty or too long");
		case PACKET_SHORT:
			break;
		}
		if (make_token_room(g) < 0)
			return gssenc_fail(g, e, "out of memory");
		if (refill(s) < 0)
			return g->eof ? GSSENC_GONE : GSSENC_MORE;
	}
}

enum gssenc_step gssenc_handshake(struct stream *s, struct err *e)
{
	struct gssenc *const g = s->gssenc;

	if (g->waits) {
		/* what comes meanwhile stays in the socket */
		if (s->hup)
			return GSSENC_GONE;
		stream_await(s);
		return GSSENC_MORE;
	}
	if (g->stepped) {
		const enum gssenc_step step = conclude(s, e);

		if (step != GSSENC_MORE)
			return step;
	}
	const enum gssenc_step step = take_token(s, e);

	if (step == GSSENC_MORE)
		stream_await(s);
	return step;
}

enum gssenc_state gssenc_state(const struct stream *s)
{
	if (s->gssenc == NULL)
		return GSSENC_NONE;
	return s->gssenc->up ? GSSENC_UP : GSSENC_HANDSHAKE;
}

const char *gssenc_peer(const struct stream *s)
{
	return gssenc_state(s) == GSSENC_UP ?
	    gssapi_peer(s->gssenc->context) : NULL;
}

size_t gssenc_memory(const struct stream *s)
{
	return s->gssenc == NULL ? 0 : CONTEXT_BYTES + s->gssenc->in_size +
	    s->gssenc->plain.len;
}
