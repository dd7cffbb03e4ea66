/* snapshot_load.c - sessions as bytes: made again; clients.
 * SPDX-License-Identifier: ISC */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/errcodes.h"
#include "base/log.h"
#include "base/mem.h"
#include "broker/broker.h"
#include "io/socket.h"
#include "notify/channels.h"
#include "proto/baggage.h"
#include "proto/params_list.h"
#include "proto/prepared.h"
#include "relay/relay.h"
#include "relay/relay_own.h"
#include "session/client.h"
#include "session/server.h"
#include "session/sessions.h"
#include "state/custom_table.h"
#include "transfer/snapshot.h"
#include "transfer/snapshot_load_parts.h"
#include "transfer/snapshot_parts.h"

/* --- what both have --- */

struct pool *snapshot_find_pool(struct sessions *ss,
    const struct snapshot *h, struct err *e)
{
	struct catalog *const cat = ss->catalog;
	struct database *db = catalog_find_database(cat, h->database);

	e->text[0] = '\0';
	if (db == NULL)
		db = catalog_auto_database(cat, h->database, e);
	if (db == NULL || db->console)
		return NULL;
	struct user *const u = catalog_get_user(cat, h->user);
	struct user *const pu = u == NULL ? NULL :
	    catalog_pool_user(cat, db, u);
	struct pool *const p = pu == NULL ? NULL :
	    catalog_get_pool(cat, db, pu);

	if (p == NULL)
		(void)err_nomem(e);
	return p;
}

int snapshot_read_queued(struct stream *s, const uint8_t *p, size_t n)
{
	return n > 0 && stream_queue(s, p, n) == STREAM_BROKEN ? -1 : 0;
}

int snapshot_read_baggage(struct sessions *ss,
    const struct snapshot_baggage *in, struct baggage **out, struct err *e)
{
	if (in->at == NULL)
		return 0;
	*out = baggage_get(ss->baggage, in->at, in->len);
	if (*out == NULL)
		return err_nomem(e);
	custom_table_share_set(ss, *out);
	return 0;
}

struct prepared *snapshot_read_statement(struct sessions *ss,
    const struct snapshot_statement *in, struct err *e)
{
	struct baggage *dialect = NULL;

	if (snapshot_read_baggage(ss, &in->dialect, &dialect, e) < 0)
		return NULL;
	struct prepared *const stmt = (in->retired ? prepared_adopt_retired :
	    prepared_adopt)(ss->prepared, in->server_name,
	    (struct prepared_text){ .dialect = dialect,
	    .body = in->body, .len = in->len });

	baggage_unref(&dialect);
	if (stmt == NULL)
		err_set(e, ERRCODE_OUT_OF_MEMORY, "no statement %s",
		    in->server_name);
	else
		stmt->unsure = stmt->unsure || in->unsure;
	return stmt;
}

/* --- clients --- */

static int read_names(struct client *c, struct reader *list, struct err *e)
{
	struct snapshot_statement in;

	while (snapshot_next_statement(list, &in)) {
		struct prepared *const stmt = snapshot_read_statement(c->ss,
		    &in, e);

		if (stmt == NULL)
			return -1;
		const int rc = prepared_name_add(&c->statements, in.name,
		    stmt);

		struct prepared_name *const n = rc < 0 ? NULL :
		    prepared_name_find(c->statements, in.name);

		if (n != NULL) {
			n->lost = in.lost;
			n->told = in.shape;
		}
		prepared_unref(stmt);
		if (rc < 0)
			return err_nomem(e);
		c->relay.stands = c->relay.stands || in.name[0] == '\0';
	}
	return 0;
}

static void set_client(struct client *c, const struct snapshot_client *in)
{
	c->born = in->born;
	c->request_time = in->request_time;
	c->query_start = in->query_start;
	c->xact_start = in->xact_start;
	c->waited = in->waited;
	c->pc.wait_since = in->wait_since;
	c->rest.bytes = in->rest;
	c->rest.dropped = (in->flags & SNAPSHOT_DROP) != 0;
	c->notified = (in->flags & SNAPSHOT_NOTIFIED) != 0;
	c->told = (in->flags & SNAPSHOT_BEHIND) != 0 ? UINT32_MAX : 0;
	c->has_spoken = true;
	c->welcomed = (in->flags & SNAPSHOT_WELCOME) == 0;
}

static enum hears hears_of(unsigned flags)
{
	return (flags & SNAPSHOT_HEARS_SERVER) != 0 ? HEARS_SERVER :
	    (flags & SNAPSHOT_HEARS_NOBODY) != 0 ? HEARS_NOBODY :
	    HEARS_LISTENER;
}

/* If the connection that listens did not come, that is noticed later. */
static int read_channels(struct client *c, struct snapshot_client *in,
    struct err *e)
{
	while (reader_left(&in->channels) > 0) {
		const char *const name = reader_str(&in->channels);

		if (name == NULL)
			return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
			    "state of a session is broken");
		if (channels_find(c, name) == NULL &&
		    channels_add(c, name, SUBSCRIBED) < 0)
			return err_nomem(e);
	}
	if (c->listening == NULL)
		return 0;
	struct listening *const g = c->listening;

	g->hears = hears_of(in->flags);
	g->always = (in->flags & SNAPSHOT_ALWAYS) != 0;
	g->expects = (in->flags & SNAPSHOT_EXPECTS) != 0;
	writer_bytes(&g->waiting, in->heard, in->heard_len);
	writer_bytes(&g->early, in->early, in->early_len);
	return g->waiting.failed || g->early.failed ? err_nomem(e) : 0;
}

static int fill_client(struct client *c, struct snapshot_client *in,
    struct err *e)
{
	if (in->key_len > sizeof c->key || in->key_len < CLIENT_KEY_BYTES)
		return err_set(e, ERRCODE_PROTOCOL_VIOLATION,
		    "state of a session is broken");
	set_client(c, in);
	pool_client_set(&c->pc, !c->welcomed ? CLIENT_WELCOME :
	    (in->flags & SNAPSHOT_WAITING) != 0 ? CLIENT_WAITING :
	    CLIENT_ACTIVE);
	if (params_list_load(c->ss->params, in->params, &c->params) < 0 ||
	    carry_keep(&c->carry, in->carry, in->carry_len) < 0 ||
	    snapshot_read_queued(&c->stream, in->queued, in->queued_len) < 0)
		return err_nomem(e);
	if (in->query_text != NULL &&
	    slow_set_text(c, in->query_text) < 0)
		return err_nomem(e);
	if (relay_state_load(&c->relay, c->ss->params,
	    (struct relay_bytes){ in->relay, in->relay_len }, e) < 0)
		return -1;
	if (c->welcomed)
		client_set_key(c, in->key, in->key_len);
	else	/* a key comes with the welcome */
		c->key_len = (uint8_t)in->key_len;
	relay_own_came(c);
	prepared_skip(c->ss->prepared, in->last);
	if (snapshot_read_baggage(c->ss, &in->baggage, &c->baggage, e) < 0 ||
	    snapshot_read_baggage(c->ss, &in->brought, &c->brought, e) < 0)
		return -1;
	if (read_channels(c, in, e) < 0)
		return -1;
	return read_names(c, &in->statements, e);
}

/* If we fail, the other process goes on with c: not a word to the client. */
static void drop_client(struct client *c, struct close_cause why)
{
	c->stream.broken = true;
	client_close_cause(c, why);
}

/*
 * Are the statements of c known by the names that we would use? Names that have
 * been translated go on to be; names that were not, only the server knows.
 */
static bool fits(const struct client *c, unsigned flags)
{
	return (flags & (SNAPSHOT_TRANSLATES | SNAPSHOT_SESSION)) != 0 ||
	    !c->welcomed || !relay_translates(c);
}

struct client *snapshot_read_client(struct sessions *ss,
    const struct snapshot *h, struct err *e)
{
	struct snapshot_client in;
	struct pool *p = NULL;
	struct net_addr peer;

	if (snapshot_parse_client(h->state, h->len, &in, e) == 0)
		p = snapshot_find_pool(ss, h, e);
	if (p == NULL || socket_peer_addr(h->fd, &peer) < 0) {
		close(h->fd);
		return NULL;
	}
	if (peer.family == NET_UNIX)
		peer.port = (uint16_t)sessions_settings(ss)->listen_port;
	else
		peer = in.addr;
	struct client *const c = client_open(ss, h->fd, &peer);

	if (c == NULL) {
		(void)err_nomem(e);
		return NULL;
	}
	client_become(c, ss->client_ops.relay);
	stream_suspend(&c->stream);
	client_enter(c, p->key.db, catalog_get_user(ss->catalog, h->user));
	c->pc.pool = p;
	if (fill_client(c, &in, e) < 0) {
		drop_client(c, close_cause_err(CLOSE_SNAPSHOT_UNUSABLE, e));
		return NULL;
	}
	if (fits(c, in.flags))
		return c;
	drop_client(c, close_cause(CLOSE_CONFIGURATION_CHANGED));
	e->text[0] = '\0';
	return NULL;
}

/* --- together --- */

void snapshot_link(struct client *c, struct server *s)
{
	const uint8_t mode = s->ps.mode;	/* as the old process linked them */

	pool_link(&c->pc, &s->ps);
	s->ps.mode = mode;
}

void snapshot_go_on(struct client *c)
{
	broker_adopt(c);
}
