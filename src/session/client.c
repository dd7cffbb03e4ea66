/* client.c - a client connection: open, role, cancel key, close.
 * SPDX-License-Identifier: ISC */
#include "session/client.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/probe.h"
#include "base/text.h"
#include "broker/vacate.h"
#include "io/socket.h"
#include "notify/channels.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "proto/prepared.h"
#include "relay/relay_own.h"
#include "session/roam.h"
#include "session/server.h"
#include "session/sessions.h"
#include "session/slow.h"

#define OUT_CAP (1 << 20)	/* bytes of a message from the pooler to a
				 * client */

/* A client of the pooler's own, to which nobody is connected. */
static bool is_own(const struct client *c)
{
	return c->stream.fd == STREAM_NO_SOCKET;
}

/* See spec/logging.md section 3. */
static void describe(const struct log_who *who, struct log_facts *out)
{
	const struct client *c = (const struct client *)((const char *)who -
	    offsetof(struct client, who));
	const struct pool *p = c->pc.pool;

	out->side = 'C';
	out->object = c;
	out->peer = p != NULL ? p->peer_id : 0;
	out->database = p != NULL ? p->key.db->name :
	    c->db != NULL && c->user != NULL ? c->db->name : "(nodb)";
	out->user = c->user != NULL ? c->user->name : "(nouser)";
	out->traceparent = c->query_start != 0 ? slow_trace(c) : NULL;
	net_format(&c->addr, out->address, sizeof out->address);
}

static void on_readable(struct stream *st)
{
	struct client *c = (struct client *)st;

	c->role->input(c);
}

static void on_drained(struct stream *st)
{
	struct client *c = (struct client *)st;

	if (c->role->drained != NULL)
		c->role->drained(c);
}

static void on_hangup(struct stream *st)
{
	struct client *c = (struct client *)st;

	if (c->role->hung_up != NULL)
		c->role->hung_up(c);
}

static void on_describe(const struct stream *st, struct text *t)
{
	const struct client *const c = (const struct client *)st;
	struct log_facts f = { 0 };

	describe(&c->who, &f);
	text_addf(t, "client %s/%s@%s (%s%s)", f.database, f.user, f.address,
	    c->role->name, c->pc.server != NULL ? ", linked" : "");
}

static const struct stream_ops stream_ops = {
	.describe = on_describe,
	.readable = on_readable,
	.drained = on_drained,
	.hangup = on_hangup,
};

_Static_assert(offsetof(struct client, stream) == 0,
    "a client is found from its stream");

static void ignore(struct client *c)
{
	(void)c;
}

/* The role of a client that does not have one yet, or not any more. */
static const struct client_role no_role = { .name = "none", .input = ignore };

void client_become(struct client *c, const struct client_role *role)
{
	const struct client_role *const before = c->role;

	if (log_wants(LEVEL_DEBUG))
		log_at(LEVEL_DEBUG, &c->who, "%s -> %s", before->name,
		    role->name);
	timeout_stop(&c->timer);
	c->role = role;
	if (before->leave != NULL)
		before->leave(c);
	if (role->time_out != NULL)
		timeout_start(role->time_out(c->ss), &c->timer, time_now());
}

static void free_task(struct loop_task *t)
{
	struct client *const c = container_of(t, struct client, stream.task);

	mem_delete(MEM_CLIENT, c, sizeof *c);
}

/* The stream of c is open. NULL: no memory, and everything is closed. */
static struct client *begin(struct client *c, struct sessions *ss,
    const struct net_addr *peer)
{
	c->ss = ss;
	c->role = &no_role;
	c->who.describe = describe;
	c->addr = *peer;
	c->id = sessions_next_id(ss);
	c->born = c->request_time = time_now();
	c->params = params_empty(ss->params);
	if (c->params == NULL) {
		stream_close(&c->stream);
		mem_delete(MEM_CLIENT, c, sizeof *c);
		return NULL;
	}
	cursor_list_add(&ss->all_clients, &c->node);
	catalog_count_socket(ss->catalog, 1);
	return c;
}

struct client *client_open(struct sessions *ss, int fd,
    const struct net_addr *peer)
{
	struct client *c = mem_new(MEM_CLIENT, sizeof *c);
	uid_t uid;
	pid_t pid;

	if (c == NULL) {
		close(fd);
		return NULL;
	}
	if (stream_open(&c->stream, ss->loop, fd, &stream_ops) < 0) {
		mem_delete(MEM_CLIENT, c, sizeof *c);
		return NULL;
	}
	c = begin(c, ss, peer);
	if (c != NULL && peer->family == NET_UNIX &&
	    socket_peer_cred(fd, &uid, &pid) == 0)
		c->addr.pid = pid;
	return c;
}

struct client *client_open_own(struct sessions *ss)
{
	static const struct net_addr nowhere = { .family = NET_UNIX };
	struct client *const c = mem_new(MEM_CLIENT, sizeof *c);

	if (c == NULL)
		return NULL;
	stream_open_none(&c->stream, ss->loop, &stream_ops);
	return begin(c, ss, &nowhere);
}

void client_enter(struct client *c, struct database *db, struct user *u)
{
	c->db = db;
	database_count_client(db, 1);
	c->user = u;
	u->clients++;
	c->counted = user_admit(u, 0) && database_admit(db, 0);
}

/* Frees everything except the struct. */
static void release(struct client *c)
{
	struct sessions *ss = c->ss;

	channels_leave(c);
	if (c->pc.pool != NULL)
		pool_client_set(&c->pc, CLIENT_LOGIN);
	c->pc.pool = NULL;
	if (c->hh.tbl != NULL)
		HASH_DEL(ss->by_key, c);
	prepared_name_clear(&c->statements);
	slow_forget(c);
	vacate_end(c);
	params_unref(&c->params);
	baggage_unref(&c->baggage);
	baggage_unref(&c->brought);
	carry_fini(&c->carry);
	if (c->roamer != NULL)
		roam_end(c);
	secret_wipe(c->key, sizeof c->key);
	mem_free(c->options);
	c->options = NULL;
	relay_own_fini(c);
	relay_state_fini(&c->relay);
	if (c->counted) {
		user_dismiss(c->user);
		database_dismiss(c->db);
	}
	if (c->db != NULL)
		database_count_client(c->db, -1);
	c->counted = false;
	if (c->user != NULL)
		catalog_release_user(ss->catalog, c->user);
	c->db = NULL;
	c->user = NULL;
	cursor_list_remove(&ss->all_clients, &c->node);
	catalog_count_socket(ss->catalog, -1);
}

/*
 * Has c received only a part of a message? Then a message of ours would be read
 * as the rest of it.
 */
static bool is_torn(const struct client *c)
{
	const struct server *s = c->pc.server == NULL ? NULL :
	    server_of(c->pc.server);

	return c->cut_short || (s != NULL && rest_passes(&s->rest));
}

static void log_refusal(const struct client *c, const struct report *r)
{
	log_at(LEVEL_WARNING, &c->who, "pooler error: %s", r->message);
	if (r->detail != NULL && r->detail[0] != '\0')
		log_at(LEVEL_WARNING, &c->who, "pooler error detail: %s",
		    r->detail);
}

static void tell(struct client *c, const struct report *error)
{
	struct writer w;

	tally_error(&c->ss->tally, TALLY_OF_POOLER, error->code);
	log_settle();
	writer_init(&w, OUT_CAP);
	report_write(&w, BE_ERROR_RESPONSE, error);
	if (!w.failed)
		stream_write_bytes(&c->stream, w.at, w.len);
	writer_fini(&w);
}

/*
 * error: sent to the client, or NULL. It is logged after the closing line
 * (spec/logging.md section 5), and before the client reads it.
 */
static void close_it(struct client *c, const struct close_cause *why,
    const struct report *error)
{
	const struct settings *set = sessions_settings(c->ss);
	/* a connection that has sent nothing is not logged */
	const bool silent = error == NULL && !c->has_spoken && client_logs_in(c);

	if (!client_is_open(c))
		return;
	const bool speaks = !silent && (c->role->speaks == NULL ||
	    c->role->speaks(c));

	if (!is_own(c))
		c->ss->tally.disconnects[TALLY_CLIENT][why->reason]++;
	slow_log_unfinished(c);
	if (client_logs_in(c) && !is_own(c))
		PROBE(login__failed, c->id, why->text);
	if (set->log_disconnections && speaks)
		log_at(c->only_looks && error == NULL ? LEVEL_DEBUG :
		    LEVEL_INFO, &c->who, "closing because: %s (age=%llds)",
		    why->text, (long long)((time_now() - c->born) / USEC));
	if (error != NULL && speaks && set->log_pooler_errors)
		log_refusal(c, error);
	if (error != NULL && !is_torn(c))
		tell(c, error);
	if (error)
		stream_close_told(&c->stream);
	else
		stream_close(&c->stream);
	client_become(c, &no_role);
	if (c->has_reserve_fd)
		c->ss->client_ops.return_reserve(c);
	release(c);
	c->stream.task.run = free_task;
	loop_defer(c->ss->loop, &c->stream.task);
}

void client_close(struct client *c, enum close_reason reason)
{
	client_close_cause(c, close_cause(reason));
}

void client_close_cause(struct client *c, struct close_cause why)
{
	close_it(c, &why, NULL);
}

void client_fail(struct client *c, enum close_reason reason)
{
	client_fail_cause(c, close_cause(reason));
}

void client_fail_cause(struct client *c, struct close_cause why)
{
	const struct report r = { "FATAL",
		why.code == NULL ? ERRCODE_PROTOCOL_VIOLATION : why.code,
		why.text, why.detail == NULL ? "" : why.detail,
		why.hint == NULL ? "" : why.hint };

	if (client_logs_in(c) && !is_own(c))
		tally_minute_note(&c->ss->failed_logins, time_now());
	close_it(c, &why, c->role->mute ? NULL : &r);
}

static struct client *find_id(struct sessions *ss, const uint8_t *key)
{
	struct client *c = NULL;

	HASH_FIND(hh, ss->by_key, key, CLIENT_KEY_BYTES, c);
	return c;
}

/*
 * Does another client have the key of c, or did one bring it from another
 * process?
 */
static bool has_known_key(const struct client *c)
{
	return find_id(c->ss, c->key) != NULL ||
	    roam_find(c->ss, c->key).worker >= 0 ||
	    carried_find(c->ss->carried, c->key) >= 0;
}

/*
 * See spec/pooling.md section 18, "Client key". A key of protocol 3.2 begins
 * with the same bytes.
 */
void client_new_key(struct client *c)
{
	const int peer = sessions_settings(c->ss)->peer_id;

	if (c->hh.tbl != NULL)
		HASH_DEL(c->ss->by_key, c);
	if (c->key_len == 0)
		c->key_len = CLIENT_KEY_BYTES;
	do {
		random_pool_take(&c->ss->random, c->key, c->key_len);
		cancel_key_stamp(c->key, peer);
		if (c->ss->others > 0)
			cancel_key_set_worker(c->key, c->ss->worker);
	} while (has_known_key(c));
	/*
	 * without memory, the client is not found, and its cancel requests are
	 * dropped
	 */
	HASH_ADD(hh, c->ss->by_key, key, CLIENT_KEY_BYTES, c);
}

struct client *client_find(struct sessions *ss, const uint8_t *key,
    size_t len)
{
	uint8_t whole[CLIENT_KEY_MAX];

	if (len < CLIENT_KEY_BYTES || len > sizeof whole)
		return NULL;
	memcpy(whole, key, len);
	struct client *c = find_id(ss, whole);

	if (c == NULL && sessions_settings(ss)->peer_id > 0) {
		/* the number of forwards is not part of the key */
		cancel_key_restore(whole);
		c = find_id(ss, whole);
	}
	return c != NULL && c->key_len == len &&
	    crypto_equal(c->key, whole, len) ? c : NULL;
}

void client_set_key(struct client *c, const uint8_t *key, size_t len)
{
	memcpy(c->key, key, len);
	c->key_len = (uint8_t)len;
	HASH_ADD(hh, c->ss->by_key, key, CLIENT_KEY_BYTES, c);
}

int client_send_login(struct client *c, const struct iovec *v)
{
	if (v->iov_len == 0)
		return 0;
	if (stream_write_bytes(&c->stream, v->iov_base, v->iov_len) ==
	    STREAM_SENT) {
		c->answered = true;
		return 0;
	}
	client_close(c, CLOSE_CLIENT_UNEXPECTED_EOF);
	return -1;
}

void client_send_notice(struct client *c, const struct report *r)
{
	struct writer w;

	writer_init(&w, OUT_CAP);
	report_write(&w, BE_NOTICE_RESPONSE, r);
	if (!w.failed)
		stream_write_bytes(&c->stream, w.at, w.len);
	writer_fini(&w);
}
