/* server_connect.c - connects a server to one of its hosts.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_connect.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/dial.h"
#include "io/dns.h"
#include "io/loop.h"
#include "io/socket.h"
#include "io/tls.h"
#include "io/tls_context.h"
#include "pool/hosts.h"
#include "pool/pool.h"
#include "proto/msg.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_attempt.h"
#include "upstream/tls_setup.h"

/* Avoids this address of a name for a while, if there are others. */
static void avoid(const struct dialling *d, const struct dial_place *at)
{
	const struct server *const s = d->server;
	const struct host *const h = &d->hosts[at->host];

	if (h->kind == HOST_NAME && at->addr.family != NET_NONE)
		dns_avoid(s->ss->dns, h->text, &at->addr,
		    time_now() + s->ps.pool->limits.login_retry);
}

/* Notes "Connection refused (10.0.0.7:5432)" for administrators. */
static void note_miss(struct dialling *d, const struct dial_place *at,
    const char *why)
{
	const struct server *const s = d->server;
	char addr[NET_TEXT_MAX], what[256];
	struct text t;

	if (server_is_canceler(s))
		return;
	text_init(&t, what, sizeof what);
	text_addf(&t, "%s (%s)", why, at->addr.family == NET_UNIX ||
	    at->addr.family == NET_NONE ? d->hosts[at->host].text :
	    net_format(&at->addr, addr, sizeof addr));
	pool_miss(s->ps.pool, what);
}

static void log_miss(struct dialling *d, const struct dial_place *at,
    enum dial_miss why, int error)
{
	struct server *const s = d->server;
	const char *const text = d->hosts[at->host].text;
	char addr[NET_TEXT_MAX];

	switch (why) {
	case DIAL_NO_NAME:
		log_at(LEVEL_WARNING, NULL, "DNS lookup failed: %s: result=%d",
		    text, error);
		note_miss(d, at, "no address");
		return;
	case DIAL_NO_START:
		note_miss(d, at, strerror(error));
		log_at(LEVEL_WARNING, NULL,
		    "sbuf_connect failed to connect to %s: %s",
		    at->addr.family == NET_UNIX ? text :
		    net_format(&at->addr, addr, sizeof addr), strerror(error));
		return;
	case DIAL_NO_CONNECT:
		s->addr = at->addr;
		note_miss(d, at, strerror(error));
		log_at(LEVEL_WARNING, &s->who, "connect failed: %s",
		    strerror(error));
		return;
	case DIAL_SLOW:
		log_at(LEVEL_DEBUG, &s->who, "no answer yet from %s", text);
		return;
	case DIAL_BARRED:
		log_at(LEVEL_DEBUG, &s->who, "%s is being drained",
		    at->addr.family == NET_UNIX ? text :
		    net_format_ip(&at->addr, addr, sizeof addr));
		return;
	}
}

static void on_missed(void *arg, const struct dial_place *at,
    enum dial_miss why, int error)
{
	static const enum host_outcome outcomes[] = {
		[DIAL_NO_NAME] = OUTCOME_FAILED,
		[DIAL_NO_START] = OUTCOME_FAILED,
		[DIAL_NO_CONNECT] = OUTCOME_FAILED,
		[DIAL_SLOW] = OUTCOME_SLOW,
		[DIAL_BARRED] = OUTCOME_DRAINED,
	};
	struct dialling *const d = arg;

	log_miss(d, at, why, error);
	if (why != DIAL_BARRED)
		avoid(d, at);
	if (why != DIAL_NO_NAME)
		d->had_addr = true;
	if (d->outcomes[at->host] < outcomes[why])
		d->outcomes[at->host] = outcomes[why];
}

/*
 * A cancel request must follow its target, so a list of hosts does not apply.
 */
static bool may_use(void *arg, const struct dial_place *at)
{
	const struct dialling *const d = arg;
	const struct server *const s = d->server;

	return !d->listed || s->ps.pool->peer_id != 0 ||
	    !drain_has(s->ss->catalog, d->hosts[at->host].text, &at->addr);
}

static bool all_drained(const struct dialling *d)
{
	unsigned n = 0;

	while (n < d->count && d->outcomes[n] == OUTCOME_DRAINED)
		n++;
	return n == d->count;
}

/* Not a failure: clients that wait for s continue to wait. */
static void stop_at_drained(struct server *s)
{
	s->ps.pool->drained_at = time_now();
	if (s->ps.dedicated)
		pool_unlink(s->ps.client);
	server_close(s, CLOSE_HOST_IS_BEING_DRAINED);
}

static void log_connected(struct server *s)
{
	struct net_addr local;
	char text[NET_TEXT_MAX];

	if (!sessions_settings(s->ss)->log_connections || server_is_canceler(s))
		return;
	if (s->host.kind == HOST_UNIX ||
	    socket_local_addr(s->stream.fd, &local) < 0) {
		log_at(LEVEL_INFO, &s->who, "new connection to server");
		return;
	}
	log_at(LEVEL_INFO, &s->who, "new connection to server (from %s)",
	    net_format(&local, text, sizeof text));
}

/* Is the process at the other end of a Unix socket an allowed one? */
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

static void connected(struct server *s, int fd)
{
	uid_t uid;
	pid_t pid;

	if (server_open(s, fd) < 0)
		return;
	if (s->host.kind == HOST_UNIX) {
		const bool known = socket_peer_cred(s->stream.fd, &uid,
		    &pid) == 0;

		s->addr.pid = known ? pid : 0;
		if (!is_wanted(s, known ? (int64_t)uid : -1)) {
			server_fail(s, CLOSE_SERVER_OF_ANOTHER_USER);
			return;
		}
	}
	log_connected(s);
	server_begin(s, SERVER_PHASE_TLS);
}

static void on_done(void *arg, int fd, const struct dial_place *at)
{
	struct dialling *const d = arg;
	struct server *const s = d->server;

	d->dial = NULL;
	if (fd < 0 && all_drained(d)) {
		stop_at_drained(s);
		return;
	}
	if (fd < 0) {
		server_attempt_blame(d, d->count);
		server_fail(s, d->had_addr ? CLOSE_CONNECT_FAILED :
		    CLOSE_SERVER_DNS_LOOKUP_FAILED);
		return;
	}
	server_attempt_blame(d, at->host);
	s->host = d->hosts[at->host];
	s->host.addr = s->addr = at->addr;
	server_attempt_end_dialling(s->attempt);
	connected(s, fd);
}

static void fill_plan(const struct dialling *d, struct dial_host *out)
{
	for (unsigned i = 0; i < d->count; i++) {
		const struct host *const h = &d->hosts[i];

		out[i] = (struct dial_host){
			.path = h->kind == HOST_UNIX ? h->text : NULL,
			.name = h->kind == HOST_NAME &&
			    h->addr.family == NET_NONE ? h->text : NULL,
			.addr = h->addr,
		};
	}
}

static void socket_options(const struct settings *set, struct socket_opts *o)
{
	*o = (struct socket_opts){
		.buffer_bytes = set->tcp_socket_buffer,
		.keepalive = set->tcp_keepalive != 0,
		.keepcnt = set->tcp_keepcnt,
		.keepidle = set->tcp_keepidle,
		.keepintvl = set->tcp_keepintvl,
		.user_timeout = set->tcp_user_timeout,
	};
}

/* Takes over hosts in every case. */
static void begin(struct server *s, struct host *hosts, unsigned count,
    bool listed)
{
	static const struct dial_ops ops = { may_use, on_missed, on_done };
	struct dialling *const d = hosts == NULL ? NULL :
	    mem_zalloc(sizeof *d);
	struct dial_host places[HOSTS_MAX];

	if (d == NULL) {
		mem_free(hosts);
		server_fail_as(s, CLOSE_CONNECT_FAILED, ERRCODE_OUT_OF_MEMORY);
		return;
	}
	d->server = s;
	d->hosts = hosts;
	d->count = count;
	d->listed = listed;
	s->attempt->dialling = d;
	s->addr = hosts[0].addr;
	fill_plan(d, places);

	struct dial_plan plan = {
		.loop = s->ss->loop,
		.dns = s->ss->dns,
		.hosts = places,
		.count = count,
		.rotation = s->ps.pool->address_turn++,
	};
	socket_options(sessions_settings(s->ss), &plan.opts);
	d->dial = dial_start(&plan, &ops, d);
	if (d->dial == NULL)
		server_fail_as(s, CLOSE_CONNECT_FAILED, ERRCODE_OUT_OF_MEMORY);
}

/* Connects to the first of the pool's hosts that answers. */
static void search(struct server *s)
{
	struct host *hosts = NULL;
	const int count = hosts_plan(s->ps.pool, s->ss->catalog, time_now(),
	    &hosts);

	if (count < 0 && errno == 0) {
		server_fail(s, CLOSE_NO_UNIX_SOCKET_DIR);
		return;
	}
	if (count == 0) {
		mem_free(hosts);
		stop_at_drained(s);
		return;
	}
	begin(s, hosts, count < 0 ? 0 : (unsigned)count, true);
}

void server_connect_begin(struct server *s)
{
	if (s->host.kind == HOST_NONE)
		search(s);
	else
		begin(s, mem_dup(&s->host, sizeof s->host), 1, false);
}

#define SSL_REQUEST 80877103

static void crashed(struct server *s)
{
	server_fail_as(s, CLOSE_SERVER_CRASHED, ERRCODE_CANNOT_CONNECT);
}

static void hand_shake(struct server *s);

static void server_connect_done(struct server *s)
{
	server_begin(s, server_is_canceler(s) ? SERVER_PHASE_CANCEL :
	    SERVER_PHASE_AUTH);
}

static void server_connect_start(struct server *s)
{
	const int rc = tls_connect(&s->stream, s->attempt->context, s->host.text);

	tls_context_unref(&s->attempt->context);
	if (rc < 0)
		server_fail(s, CLOSE_NO_MEMORY_FOR_TLS);
	else
		hand_shake(s);
}

static void server_connect_ask(struct server *s)
{
	uint8_t request[8];

	msg_put_u32(request, sizeof request);
	msg_put_u32(request + 4, SSL_REQUEST);
	if (stream_write_bytes(&s->stream, request, sizeof request) ==
	    STREAM_BROKEN)
		server_fail(s, CLOSE_SSLREQ_PROCESSING_FAILED);
}

/* Chooses the TLS mode and context. False: there is no usable context. */
static bool server_connect_choose(struct server *s)
{
	const struct tls_target *t;

	/*
	 * a cancel request uses TLS if its target does; peers do not support
	 * TLS
	 */
	if (s->host.kind == HOST_UNIX || s->ps.pool->peer_id != 0 ||
	    s->ps.state == SERVER_ACTIVE_CANCEL)
		return true;
	tls_context_unref(&s->attempt->context);
	t = tls_setup_find(s->ss->tls, s->ps.pool->key.db->conf);
	if (t == NULL)
		return false;
	if (t->context != NULL)
		s->attempt->context = tls_context_ref(t->context);
	s->attempt->tls_required = t->what.sslmode >= SSLMODE_REQUIRE;
	s->tls_direct = t->what.negotiation == TLS_DIRECT;
	return true;
}

void server_tls_begin(struct server *s)
{
	if (!server_connect_choose(s)) {
		server_fail(s, CLOSE_TLS_CONFIGURATION_IS_BROKEN);
		return;
	}
	if (s->attempt->context == NULL) {
		server_connect_done(s);
		return;
	}
	if (s->tls_direct)
		server_connect_start(s);
	else
		server_connect_ask(s);
}

static void log_established(const struct server *s)
{
	const bool loud = sessions_settings(s->ss)->log_connections;
	char text[TLS_TEXT_MAX];

	if (s->ps.state == SERVER_ACTIVE_CANCEL)
		return;
	log_at(loud ? LEVEL_INFO : LEVEL_NOISE, &s->who,
	    "SSL established: %s", tls_describe(&s->stream, text,
	    sizeof text));
}

static void hand_shake(struct server *s)
{
	struct err e;

	const enum tls_step step = tls_handshake(&s->stream, &e);

	if (step != TLS_MORE)
		s->ss->tally.tls_handshakes[TALLY_SERVER][step == TLS_DONE ?
		    TALLY_OK : TALLY_FAILED]++;
	switch (step) {
	case TLS_MORE:
		return;
	case TLS_DONE:
		log_established(s);
		/* nothing can have arrived that was asked for */
		stream_reread(&s->stream);
		server_connect_done(s);
		return;
	case TLS_GONE:
		crashed(s);
		return;
	case TLS_FAILED:
		log_at(LEVEL_WARNING, &s->who, "TLS handshake error: %s",
		    e.text);
		server_fail(s, CLOSE_TLS_HANDSHAKE_FAILED);
	}
}

/* PostgreSQL docs, Message Flow, SSL Session Encryption */
static void server_connect_on_answer(struct server *s)
{
	char answer[2];
	const ssize_t n = stream_read(&s->stream, answer, sizeof answer);

	if (n == STREAM_NONE)
		return;
	if (n < 0)
		crashed(s);
	else if (n > 1 && answer[0] == 'S')
		/*
		 * CVE-2021-3935, CVE-2021-23222: these bytes are not protected
		 * by TLS
		 */
		server_fail(s, CLOSE_DATA_AFTER_SSL_RESPONSE);
	else if (n > 1 || (answer[0] != 'S' && answer[0] != 'N'))
		server_fail(s, CLOSE_BAD_SSLREQ_ANSWER);
	else if (answer[0] == 'S')
		server_connect_start(s);
	else if (s->attempt->tls_required)
		server_fail(s, CLOSE_SERVER_REFUSED_SSL);
	else
		server_connect_done(s);
}

void server_tls_input(struct server *s)
{
	if (tls_state(&s->stream) == TLS_NONE)
		server_connect_on_answer(s);
	else
		hand_shake(s);
}
