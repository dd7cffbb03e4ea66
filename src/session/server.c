/* server.c - a server connection: connect, queries of our own, close.
 * SPDX-License-Identifier: ISC */
#include "session/server.h"

#include <string.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/tls.h"
#include "io/tls_context.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/auth_query.h"
#include "session/client.h"
#include "session/server_connect.h"
#include "session/server_login.h"
#include "session/server_tls.h"
#include "session/sessions.h"

static void describe(const struct log_who *who, struct log_facts *out)
{
	const struct server *s = (const struct server *)((const char *)who -
	    offsetof(struct server, who));
	const struct pool *p = s->ps.pool;

	out->side = 'S';
	out->object = s;
	out->peer = p->peer_id;
	out->database = p->key.db->name;
	out->user = p->key.user->name;
	net_format(&s->addr, out->address, sizeof out->address);
}

/* No answer comes to a cancel: its end says that the signal was sent. */
static void await_end(struct server *s)
{
	ssize_t n;

	do
		n = stream_read(&s->stream, loop_buffer(s->ss->loop),
		    LOOP_BUFFER);
	while (n > 0);
	if (n != STREAM_NONE)
		server_close(s, "successfully sent cancel request");
}

static void on_readable(struct stream *st)
{
	struct server *s = (struct server *)st;

	switch (s->phase) {
	case SERVER_PHASE_CONNECT:
		return;
	case SERVER_PHASE_TLS:
		server_tls_input(s);
		return;
	case SERVER_PHASE_AUTH:
	case SERVER_PHASE_SYNC:
	case SERVER_PHASE_QUERY:
		server_login_input(s);
		return;
	case SERVER_PHASE_POOLED:
		s->ss->server_ops->input(s);
		return;
	case SERVER_PHASE_LOOKUP:
		auth_query_input(s);
		return;
	case SERVER_PHASE_CANCEL:
		await_end(s);
		return;
	}
}

static void on_drained(struct stream *st)
{
	struct server *s = (struct server *)st;

	if (s->phase == SERVER_PHASE_POOLED)
		s->ss->server_ops->drained(s);
}

/* A paused server is read when its client can take more. */
static void on_hangup(struct stream *st)
{
	(void)st;
}

static const struct stream_ops stream_ops = {
	.readable = on_readable,
	.drained = on_drained,
	.hangup = on_hangup,
};

_Static_assert(offsetof(struct server, stream) == 0,
    "a server is found from its stream");

/* --- what the end of a request means for the prepared statements --- */

static void on_commit(void *op, void *arg)
{
	(void)arg;
	prepared_op_free(op);
}

static void on_rollback(void *op, void *arg)
{
	struct server *s = arg;
	struct slots **map = s->ps.client == NULL ? NULL :
	    &client_of(s->ps.client)->statements;

	prepared_op_undo(op, map, &s->prepared);
	prepared_op_free(op);
}

static const struct track_ops track_ops = {
	.commit = on_commit,
	.rollback = on_rollback,
};

/* --- launch --- */

static void free_task(struct loop_task *t)
{
	struct server *s = (struct server *)((char *)t -
	    offsetof(struct stream, task));

	mem_delete(MEM_SERVER, s, sizeof *s);
}

static struct server *server_new(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	struct server *s = mem_new(MEM_SERVER, sizeof *s);

	if (s == NULL)
		return NULL;
	s->params = params_empty(ss->params);
	if (s->params == NULL) {
		mem_delete(MEM_SERVER, s, sizeof *s);
		return NULL;
	}
	s->ss = ss;
	s->stream.fd = -1;
	s->stream.loop = ss->loop;
	s->who.describe = describe;
	s->id = ++ss->last_id;
	s->ps.pool = p;
	s->ps.state = SERVER_GONE;
	s->ps.born = s->ps.used = time_now();
	track_init(&s->track, &track_ops, s);
	writer_init(&s->welcome, 1 << 20);
	s->ps.dedicated = state == SERVER_DEDICATED_LOGIN;
	pool_server_set(&s->ps, state);
	ss->servers++;
	return s;
}

struct server *server_adopt(struct sessions *ss, struct pool *p, int fd)
{
	struct server *const s = server_new(ss, p, SERVER_IDLE);

	if (s == NULL) {
		close(fd);
		return NULL;
	}
	s->phase = SERVER_PHASE_POOLED;
	s->ps.lent = true;
	if (stream_open(&s->stream, ss->loop, fd, &stream_ops) == 0)
		return s;
	server_fail(s, "53200", "out of memory");
	return NULL;
}

void server_fail(struct server *s, const char *code, const char *reason)
{
	err_set(&s->failure, code, "%s", reason);
	server_close(s, reason);
}

void server_reconnect(struct server *s)
{
	stream_close(&s->stream);
	server_connect_to(s, &s->host);
}

static void launch(struct server *s)
{
	struct sessions *ss = s->ss;
	struct pool *p = s->ps.pool;

	timeout_start(p->peer_id != 0 ? &ss->peer_list : &ss->connect_list,
	    &s->timer, s->ps.born);
	server_connect(s);
}

/* One more attempt; NULL: no memory, which is a failure like others. */
static struct server *attempt(struct sessions *ss, struct pool *p,
    enum server_state state)
{
	struct server *s = server_new(ss, p, state);

	p->last_launch = time_now();
	if (s == NULL) {
		p->failing = true;
		err_set(&p->failure, "53200", "out of memory");
	}
	return s;
}

void server_launch(struct sessions *ss, struct pool *p)
{
	struct server *s = attempt(ss, p, SERVER_LOGIN);

	if (s != NULL)
		launch(s);
}

void server_launch_dedicated(struct client *c)
{
	struct server *s = attempt(c->ss, c->pc.pool, SERVER_DEDICATED_LOGIN);

	if (s == NULL)
		return;
	s->ps.client = &c->pc;
	c->pc.server = &s->ps;
	launch(s);
}

struct server *server_launch_canceler(struct server *target)
{
	struct server *s = server_new(target->ss, target->ps.pool,
	    SERVER_ACTIVE_CANCEL);

	if (s == NULL)
		return NULL;
	s->target = target;
	/* what the key protects is not told to those who listen */
	if (tls_state(&target->stream) == TLS_UP) {
		s->tls.context = tls_context_ref(
		    tls_context_of(&target->stream));
		s->tls.required = true;
		s->tls.direct = target->tls.direct;
	}
	timeout_start(&s->ss->connect_list, &s->timer, s->ps.born);
	server_connect_to(s, &target->host);
	return s->ps.state != SERVER_GONE ? s : NULL;
}

static bool is_canceler(const struct server *s)
{
	return s->ps.state == SERVER_ACTIVE_CANCEL ||
	    s->ps.pool->peer_id != 0;
}

static void log_connected(struct server *s)
{
	struct net_addr local;
	char text[NET_TEXT_MAX];

	if (!sessions_settings(s->ss)->log_connections || is_canceler(s))
		return;
	if (s->host.kind == HOST_UNIX ||
	    socket_local_addr(s->stream.fd, &local) < 0) {
		log_at(LEVEL_INFO, &s->who, "new connection to server");
		return;
	}
	log_at(LEVEL_INFO, &s->who, "new connection to server (from %s)",
	    net_format(&local, text, sizeof text));
}

/* Is a server at the other end of a Unix socket that may be there? */
static bool is_wanted(const struct server *s, int64_t uid)
{
	const struct config *c = s->ss->catalog->config;

	if (c->server_peer < 0 || c->server_peer == uid ||
	    s->ps.pool->peer_id != 0)
		return true;
	log_at(LEVEL_ERROR, &s->who, "server_require_peer is \"%s\", but the "
	    "socket \"%s\" is served by uid %lld",
	    c->set.server_require_peer, s->host.text, (long long)uid);
	return false;
}

void server_connected(struct server *s, int fd)
{
	uid_t uid;
	pid_t pid;

	if (stream_open(&s->stream, s->ss->loop, fd, &stream_ops) < 0) {
		server_fail(s, "53200", "connect failed");
		return;
	}
	if (s->host.kind == HOST_UNIX) {
		const bool known = socket_peer_cred(s->stream.fd, &uid,
		    &pid) == 0;

		s->addr.pid = known ? pid : 0;
		if (!is_wanted(s, known ? (int64_t)uid : -1)) {
			server_fail(s, "08001", "server of another user");
			return;
		}
	}
	log_connected(s);
	server_tls_begin(s);
}

void server_established(struct server *s)
{
	if (is_canceler(s)) {
		s->phase = SERVER_PHASE_CANCEL;
		s->ss->server_ops->connected(s);
		return;
	}
	s->phase = SERVER_PHASE_AUTH;
	server_login_begin(s);
}

/* --- queries of our own --- */

int server_send_query(struct server *s, const char *sql,
    enum server_chore chore)
{
	struct writer w;
	int rc = -1;

	writer_init(&w, 1 << 24);
	writer_query(&w, sql);
	s->chore = chore;
	if (!timeout_running(&s->timer))
		timeout_start(&s->ss->chore_list, &s->timer, time_now());
	if (w.failed || track_add(&s->track, FE_QUERY, TRACK_SKIP, NULL) < 0)
		server_fail(s, "53200", "out of memory");
	else if (stream_write_bytes(&s->stream, w.at, w.len) == STREAM_BROKEN)
		server_close(s, "server connection closed");
	else
		rc = 0;
	writer_fini(&w);
	return rc;
}

/* --- close --- */

/* Would the server read Terminate as a message of its own? */
static bool can_say_goodbye(const struct server *s)
{
	const struct client *c = s->ps.client == NULL ? NULL :
	    client_of(s->ps.client);

	return (s->phase == SERVER_PHASE_POOLED ||
	    s->phase == SERVER_PHASE_LOOKUP) && !s->stream.broken &&
	    !stream_is_blocked(&s->stream) && (c == NULL || c->skip == 0 ||
	    c->skip_drop);
}

/* Not for what a replication client wants of it. */
static bool is_host_to_blame(const struct server *s)
{
	return s->failure.code[0] != '\0' && (s->ps.state == SERVER_LOGIN ||
	    (s->ps.state == SERVER_DEDICATED_LOGIN && !s->introduced));
}

void server_close(struct server *s, const char *reason)
{
	struct sessions *ss = s->ss;

	if (s->ps.state == SERVER_GONE)
		return;
	if (sessions_settings(ss)->log_disconnections)
		log_at(LEVEL_INFO, &s->who, "closing because: %s (age=%llds)",
		    reason, (long long)((time_now() - s->ps.born) / USEC));
	if (is_host_to_blame(s))
		server_connect_blame(s);
	server_connect_cancel(s);
	timeout_stop(&s->timer);
	if (s->stream.fd >= 0) {
		if (can_say_goodbye(s)) {
			static const uint8_t terminate[] = { 'X', 0, 0, 0, 4 };
			stream_write_bytes(&s->stream, terminate,
			    sizeof terminate);
		}
		stream_close(&s->stream);
	}
	pool_server_set(&s->ps, SERVER_GONE);
	ss->servers--;
	ss->server_ops->closed(s, reason);
	track_fini(&s->track);
	prepared_uses_clear(&s->prepared);
	params_unref(&s->params);
	carry_fini(&s->carry);
	server_auth_end(&s->auth);
	tls_context_unref(&s->tls.context);
	writer_fini(&s->welcome);
	secret_wipe(s->key, sizeof s->key);
	s->stream.task.run = free_task;
	loop_defer(ss->loop, &s->stream.task);
}
