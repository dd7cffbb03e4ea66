/* fuzz_server_login.c - a hostile server: anything behind our StartupMessage.
 * The first byte chooses how we log in, the second how the bytes are cut; the
 * rest is what the server sends, up to the end of the connection.
 * SPDX-License-Identifier: ISC */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/time.h"
#include "conf/config.h"
#include "io/loop.h"
#include "io/transport.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "proto/params.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"
#include "upstream/server_login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	struct sessions ss;
	struct config *config;
	struct pool *pool;
	const uint8_t *at;	/* what the server has still to say */
	size_t left;
	uint8_t cuts;
	unsigned ready, closed;
} st;

/* --- the other end --- */

static ssize_t give(struct stream *s, void *buf, size_t size)
{
	size_t n = (size_t)st.cuts + 1;

	(void)s;
	/* short pieces, long ones, and both in turn */
	st.cuts = (uint8_t)(st.cuts * 5 + 1);
	n = n < size ? n : size;
	n = n < st.left ? n : st.left;
	memcpy(buf, st.at, n);
	st.at += n;
	st.left -= n;
	return (ssize_t)n;
}

static enum stream_write take(struct stream *s, struct iovec *iov, int count)
{
	(void)s;
	for (int i = 0; i < count; i++)
		assert(iov[i].iov_len == 0 || iov[i].iov_base != NULL);
	return STREAM_SENT;
}

static const struct transport transport = { .read = give, .write = take };

/* --- upward --- */

static void on_ready(struct server *s)
{
	st.ready++;
	assert(st.ready == 1 && st.closed == 0);
	assert(s->phase == SERVER_PHASE_POOLED && s->track.status == 'I');
	assert(s->key_len == 0 || (s->key_len >= 8 &&
	    s->key_len <= SERVER_KEY_MAX));
	assert(st.pool->welcome != NULL);
}

static void on_closed(struct server *s, struct close_cause why)
{
	st.closed++;
	assert(st.closed == 1 && why.text[0] != '\0');
	/* who waits for it is told something, or it may be tried again */
	assert(s->failure == NULL || (s->failure->text[0] != '\0' &&
	    strnlen(s->failure->text, sizeof s->failure->text) <
	    sizeof s->failure->text));
}

static void begin_connect(struct server *s)
{
	(void)s;
	assert(false);
}

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	/* a refusal of our protocol leads there: see begins_anew() */
	[SERVER_PHASE_CONNECT] = { .name = "connect", .begin = begin_connect },
	[SERVER_PHASE_AUTH] = { .name = "auth", .timed = true,
		.begin = server_login_begin, .input = server_login_input },
	[SERVER_PHASE_SYNC] = { .name = "sync", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_ROLE] = { .name = "role", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_QUERY] = { .name = "query", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_ORIGIN] = { .name = "origin", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_POOLED] = { .name = "pooled" },
};

static const struct track_ops track_ops;

static const struct server_ops server_ops = {
	.phases = phases, .track = &track_ops,
	.ready = on_ready, .closed = on_closed,
};

static void sink(enum log_level level, const char *line)
{
	(void)level;
	assert(line[0] != '\0');
}

/* --- */

static void set_up(void)
{
	log_set_sink(sink);
	st.config = config_seed(0);
	assert(st.config != NULL);
	st.ss.catalog = catalog_new(st.config);
	st.ss.params = params_table_new(NULL);
	st.ss.loop = loop_new();
	assert(st.ss.catalog != NULL && st.ss.params != NULL &&
	    st.ss.loop != NULL);
	st.ss.server_ops = &server_ops;
	timeout_list_init(&st.ss.connect_list, NULL, NULL);
	st.pool = st.ss.catalog->pools;
	assert(st.pool != NULL);
}

static void choose_secret(uint8_t choice)
{
	static const char *const secrets[] = {
		NULL, "plain", "md5" "0123456789abcdef0123456789abcdef", "",
	};
	const char *const secret = secrets[choice % 4];
	struct credentials **const c = &st.pool->key.db->password;

	credentials_unref(c);
	if (secret == NULL)
		return;
	*c = credentials_new(secret);
	assert(*c != NULL);
}

/* The next one begins as the first did. */
static void forget(struct pool *p)
{
	if (p->welcome != NULL) {
		params_unref(&p->welcome->params);
		mem_free(p->welcome);
		p->welcome = NULL;
	}
	p->old_protocol = false;
}

static struct server *start(uint8_t choice)
{
	int fds[2];

	assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	struct server *const s = server_new(&st.ss, st.pool, SERVER_LOGIN);

	close(fds[1]);
	assert(s != NULL);
	s->host.kind = HOST_ADDRESS;
	assert(server_open(s, fds[0]) == 0);
	s->stream.transport = &transport;
	/* the second attempt: no third one follows */
	s->attempt->plain = (choice & 4) != 0;
	st.pool->limits.attrs = (enum session_attrs)(choice / 8 %
	    (ATTRS_PREFER_STANDBY + 1));
	server_begin(s, SERVER_PHASE_AUTH);
	return s;
}

/* A refusal of our protocol is answered by a new connection: not here. */
static bool begins_anew(const struct server *s, const uint8_t *p, size_t n)
{
	return !s->attempt->plain && memchr(p, 'E', n) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (st.ss.loop == NULL)
		set_up();
	if (size < 2)
		return 0;
	choose_secret(data[0]);
	struct server *const s = start(data[0]);

	st.at = data + 2;
	st.left = size - 2;
	st.cuts = data[1];
	st.ready = st.closed = 0;
	s->attempt->plain = s->attempt->plain ||
	    begins_anew(s, st.at, st.left);
	/* what takes long is left to the next turn */
	for (int turns = 0; turns < 100 && st.ready + st.closed == 0; turns++) {
		time_update();
		stream_reread(&s->stream);
		server_login_input(s);
	}
	assert(st.ready + st.closed == 1);
	if (st.ready > 0)
		server_close(s, CLOSE_SHUTDOWN);
	assert(st.closed == 1 && s->ps.state == SERVER_GONE);
	loop_finish(st.ss.loop);
	forget(st.pool);
	return 0;
}
