/* peer.c - other processes of our group: their clients' cancels are passed on.
 * SPDX-License-Identifier: ISC */
#include "login/peer.h"

#include <string.h>

#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "broker/canceler.h"
#include "io/socket.h"
#include "login/login_lobby.h"
#include "pool/catalog.h"
#include "proto/startup.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "upstream/server_launch.h"

/* --- which there are --- */

static const struct config_peer *find_config(const struct sessions *ss, int id)
{
	return config_find_peer(ss->catalog->config, id);
}

static struct peer *peer_find(const struct sessions *ss, int id)
{
	struct peer *p = NULL;

	HASH_FIND_INT(ss->peers, &id, p);
	return p;
}

static struct peer *peer_add(struct sessions *ss, int id)
{
	struct peer *p = mem_new(MEM_PEER, sizeof *p);

	if (p == NULL)
		return NULL;
	p->id = p->pool.peer_id = id;
	text_copy(p->db_name, sizeof p->db_name, "(nodb)");
	text_copy(p->user_name, sizeof p->user_name, "(nouser)");
	p->db.name = p->db_name;
	p->db.conf = &p->conf;
	p->user.name = p->user_name;
	p->pool.key.db = &p->db;
	p->pool.key.user = &p->user;
	HASH_ADD_INT(ss->peers, id, p);
	if (p->hh.tbl == NULL) {
		mem_delete(MEM_PEER, p, sizeof *p);
		return NULL;
	}
	return p;
}

static struct peer *peer_of(struct pool *p)
{
	return container_of(p, struct peer, pool);
}

static void peer_drop(struct sessions *ss, struct peer *p,
    enum close_reason reason)
{
	/* the clients first: a closed server would tell them something else */
	for (int i = 0; i < CLIENT_STATES; i++)
		while (p->pool.clients[i] != NULL)
			client_close(client_of(p->pool.clients[i]), reason);
	for (int i = 0; i < SERVER_GONE; i++)
		while (p->pool.servers[i] != NULL)
			server_close(server_of(p->pool.servers[i]), reason);
	catalog_untouch_pool(ss->catalog, &p->pool);
	hosts_free(&p->pool);
	HASH_DEL(ss->peers, p);
	mem_delete(MEM_PEER, p, sizeof *p);
}

void peer_apply(struct sessions *ss)
{
	struct peer *p, *next;

	HASH_ITER(hh, ss->peers, p, next) {
		if (find_config(ss, p->id) != NULL)
			continue;
		log_warning("dropping peer %d as it does not exist anymore",
		    p->id);
		peer_drop(ss, p, CLOSE_PEER_REMOVED);
	}
}

void peer_drop_all(struct sessions *ss, enum close_reason reason)
{
	struct peer *p, *next;

	HASH_ITER(hh, ss->peers, p, next)
		peer_drop(ss, p, reason);
}

static int by_id(const struct peer *a, const struct peer *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

void peer_sort(struct sessions *ss)
{
	HASH_SORT(ss->peers, by_id);
}

/* --- how many requests --- */

static unsigned waiting(const struct peer *p)
{
	return p->pool.client_count[CLIENT_CANCEL_WAITING];
}

/* Which key is a client's only the peer knows: it may be down, or slow. */
static void keep_few(struct sessions *ss)
{
	struct peer *p, *most = ss->peers;

	if (catalog_requests(ss->catalog) <= login_max_strangers(ss))
		return;
	for (p = ss->peers; p != NULL; p = p->hh.next) {
		if (waiting(p) > waiting(most))
			most = p;
	}
	client_close(client_of(most->pool.clients[CLIENT_CANCEL_WAITING]),
	    CLOSE_TOO_MANY_PEER_CANCELS);
}

/* --- passing on --- */

/* (spec/pooling.md section 18, step 1) */
void peer_forward(struct client *c, const uint8_t *key, size_t len)
{
	struct sessions *ss = c->ss;
	const int id = cancel_key_peer(key);

	struct cancel_request r = { .key_len = (uint8_t)len };

	memcpy(r.key, key, len);
	if (!cancel_key_spend(r.key)) {
		client_close(c, CLOSE_CANCEL_TTL_EXHAUSTED);
		return;
	}
	struct peer *p = peer_find(ss, id);

	if (find_config(ss, id) == NULL || (p == NULL &&
	    (p = peer_add(ss, id)) == NULL)) {
		client_close(c, CLOSE_NO_SUCH_PEER);
		return;
	}
	if (canceler_enqueue(c, &p->pool, &r) < 0)
		return;
	catalog_count_request(ss->catalog, 1);
	keep_few(ss);
}

static bool same_key(const struct client *c, const struct server *canceler)
{
	const struct cancel_request *const r = c->request;

	return r->key_len == canceler->key_len &&
	    memcmp(r->key, canceler->key, r->key_len) == 0;
}

/* Is a request with the key of c on its way already? */
static bool is_carried(const struct pool *p, const struct client *c)
{
	struct pool_server *ps = p->servers[SERVER_ACTIVE_CANCEL];

	while (ps != NULL && !same_key(c, server_of(ps)))
		ps = ps->next;
	return ps != NULL;
}

/* The first request that need not wait for the end of one like it. */
static struct client *next_request(const struct pool *p)
{
	struct pool_client *pc = p->clients[CLIENT_CANCEL_WAITING];

	while (pc != NULL && is_carried(p, client_of(pc)))
		pc = pc->next;
	return pc == NULL ? NULL : client_of(pc);
}

/* Where the configuration in force says that the peer is. */
static int configure(const struct sessions *ss, struct peer *p)
{
	const struct config_peer *conf = find_config(ss, p->id);

	if (conf == NULL)
		return -1;
	p->conf = (struct config_db){
		.host = conf->host,
		.port = conf->port,
		.load_balance_hosts = LB_ROUND_ROBIN,
		.tls = { .sslmode = CONFIG_UNSET, .negotiation = CONFIG_UNSET },
	};
	p->pool.limits.size = conf->pool_size != CONFIG_UNSET ?
	    conf->pool_size : sessions_settings(ss)->default_pool_size;
	return 0;
}

void peer_launch(struct sessions *ss, struct pool *p)
{
	const int *const size = &p->limits.size;

	/* one attempt at a time; it serves whoever is first by then */
	if (p->server_count[SERVER_LOGIN] > 0 || next_request(p) == NULL ||
	    configure(ss, peer_of(p)) < 0)
		return;
	if (*size <= 0 || pool_total(p) < (unsigned)*size)
		server_launch(ss, p);
}

/*
 * In a folder that all may write anybody may listen where the peer should, and
 * a process that has the key of a client can end its queries.
 */
static bool is_trusted(struct server *canceler)
{
	struct err why;

	if (canceler->host.kind != HOST_UNIX ||
	    socket_peer_is_ours(canceler->stream.fd, canceler->host.text,
	    &why) == 0)
		return true;
	log_at(LEVEL_WARNING, &canceler->who, "no cancel request is passed on: "
	    "%s", why.text);
	server_fail(canceler, CLOSE_PEER_OF_ANOTHER_USER);
	return false;
}

void peer_connected(struct server *canceler)
{
	struct pool *p = canceler->ps.pool;

	if (!is_trusted(canceler))
		return;
	struct client *first = next_request(p);
	struct pool_client *pc, *next;

	if (first == NULL) {
		/* nobody else may be told that it failed */
		pool_server_set(&canceler->ps, SERVER_ACTIVE_CANCEL);
		canceler->sent = true;
		server_close(canceler, CLOSE_CANCEL_GIVEN_UP);
		return;
	}
	memcpy(canceler->key, first->request->key, first->request->key_len);
	canceler->key_len = first->request->key_len;
	if (canceler_send(canceler, canceler->key, canceler->key_len) < 0)
		return;
	pool_server_set(&canceler->ps, SERVER_ACTIVE_CANCEL);
	timeout_start(&canceler->ss->peer_list, &canceler->timer, time_now());
	for (pc = p->clients[CLIENT_CANCEL_WAITING]; pc != NULL; pc = next) {
		next = pc->next;
		if (same_key(client_of(pc), canceler))
			canceler_take(canceler, client_of(pc));
	}
	catalog_touch_pool(canceler->ss->catalog, p);
}
