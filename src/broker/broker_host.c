/* broker_host.c - a host is not, or no longer, what target_session_attrs asks
 * for.
 *
 * What one worker has learned of a host is a word to the others; so is that a
 * client wants a database there for itself.
 * SPDX-License-Identifier: ISC */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/net.h"
#include "broker/broker.h"
#include "io/loop.h"
#include "pool/hosts.h"
#include "session/server.h"
#include "session/sessions.h"

struct host_word {
	struct host_word *prev, *next;	/* of ss->words */
	unsigned to;		/* the worker it is for */
	char *database;		/* owned: no idle server of it may stay */
	char *list;		/* owned: its item is passed over; NULL:
				 * host and addr have changed; with database:
				 * the hosts of who wants that, or NULL */
	struct host host;	/* with list: item, and port of addr, alone */
	struct net_addr addr;
};

/* --- servers that go --- */

static bool is_same_host(const struct host_word *w, const struct server *s)
{
	if (w->host.kind != s->host.kind)
		return false;
	return w->host.kind == HOST_UNIX ?
	    strcmp(w->host.text, s->host.text) == 0 :
	    net_equal(&w->addr, &s->addr);
}

static void broker_host_retire(struct pool *p, const struct host_word *w,
    const struct server *except)
{
	struct pool_server *ps, *next;

	for (int state = SERVER_IDLE; state < SERVER_ACTIVE_CANCEL; state++) {
		DL_FOREACH_SAFE(p->servers[state], ps, next) {
			if (server_of(ps) == except ||
			    !is_same_host(w, server_of(ps)))
				continue;
			ps->close_needed = true;
			if (state == SERVER_IDLE || state == SERVER_USED)
				server_close(server_of(ps),
				    CLOSE_HOST_DOES_NOT_FIT);
		}
	}
	pool_recheck(p);
}

static void retire_all(const struct sessions *ss, const struct host_word *w,
    const struct server *except)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (p->limits.attrs != ATTRS_ANY)
			broker_host_retire(p, w, except);
	}
}

static bool has_one_primary(const struct pool *p)
{
	return p->limits.attrs == ATTRS_PRIMARY ||
	    p->limits.attrs == ATTRS_READ_WRITE;
}

/* The first in use or idle that is connected to this host of the list. */
static struct server *find_at(const struct pool *p, unsigned item)
{
	struct pool_server *ps;

	for (int state = SERVER_IDLE; state < SERVER_ACTIVE_CANCEL; state++) {
		DL_FOREACH(p->servers[state], ps) {
			if (server_of(ps)->host.item == item)
				return server_of(ps);
		}
	}
	return NULL;
}

static void pass_over(const struct sessions *ss, const struct host_word *w)
{
	struct server *old;

	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (!has_one_primary(p) || !hosts_are(p, w->list, w->addr.port))
			continue;
		/* the end of one may be that of others */
		while ((old = find_at(p, w->host.item)) != NULL)
			server_close(old, CLOSE_HOST_DOES_NOT_FIT);
	}
}

/* --- a database that is wanted --- */

static bool broker_host_is_there(const struct host_word *w,
    const struct server *s)
{
	return is_same_host(w, s) || (w->list != NULL &&
	    hosts_are(s->ps.pool, w->list, w->addr.port));
}

/* What is being reset or checked goes when it is done. */
static void vacate_pool(struct pool *p, const struct host_word *w)
{
	static const enum server_state free_ones[] = { SERVER_IDLE,
		SERVER_USED, SERVER_TESTED };
	struct pool_server *ps, *next;

	for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++) {
		DL_FOREACH_SAFE(p->servers[free_ones[i]], ps, next) {
			if (!broker_host_is_there(w, server_of(ps)))
				continue;
			pool_vacated(p, time_now());
			if (ps->state == SERVER_TESTED)
				ps->close_needed = true;
			else
				server_close(server_of(ps), CLOSE_VACATED);
		}
	}
}

static void vacate(const struct sessions *ss, const struct host_word *w)
{
	for (struct pool *p = ss->catalog->pools; p; p = p->hh.next) {
		if (p->peer_id == 0 && !p->key.db->console &&
		    pool_may_vacate(p, time_now()) &&
		    strcmp(p->key.db->conf->dbname, w->database) == 0)
			vacate_pool(p, w);
	}
}

/* --- words --- */

static void discard(struct host_word *w)
{
	mem_free(w->database);
	mem_free(w->list);
	mem_free(w);
}

static void broker_host_forget(struct sessions *ss, struct host_word *w)
{
	DL_DELETE(ss->words, w);
	discard(w);
}

void broker_forget_words(struct sessions *ss)
{
	loop_cancel(&ss->word_task);
	while (ss->words != NULL)
		broker_host_forget(ss, ss->words);
}

static void heed(struct sessions *ss, struct host_word *w)
{
	if (w->database != NULL)
		vacate(ss, w);
	else if (w->list != NULL)
		pass_over(ss, w);
	else
		retire_all(ss, w, NULL);
	broker_host_forget(ss, w);
}

void broker_pass_words(struct sessions *ss)
{
	struct host_word *w, *next;

	DL_FOREACH_SAFE(ss->words, w, next) {
		if (w->to != ss->worker) {
			if (!ss->client_ops.may_tell(ss->app, w->to))
				continue;
			DL_DELETE(ss->words, w);
			ss->client_ops.tell(ss->app, w, w->to);
		} else if (!ss->suspended) {
			/* what a successor has of a server stays what it is */
			heed(ss, w);
		}
	}
}

void broker_hear(struct sessions *ss, struct host_word *w)
{
	DL_APPEND(ss->words, w);
	broker_pass_words(ss);
}

static void pass_words(struct loop_task *t)
{
	broker_pass_words(container_of(t, struct sessions, word_task));
}

static bool broker_host_is_same(const struct host_word *a,
    const struct host_word *b)
{
	if (a->database != NULL || b->database != NULL)
		return a->database != NULL && b->database != NULL &&
		    strcmp(a->database, b->database) == 0 &&
		    net_equal(&a->addr, &b->addr);
	if (a->list == NULL || b->list == NULL)
		return a->list == b->list && a->host.kind == b->host.kind &&
		    strcmp(a->host.text, b->host.text) == 0 &&
		    net_equal(&a->addr, &b->addr);
	return a->host.item == b->host.item && a->addr.port == b->addr.port &&
	    strcmp(a->list, b->list) == 0;
}

/* Without memory they learn it from the next server, or by themselves. */
static void broker_host_note(struct sessions *ss, const struct host_word *word,
    unsigned to)
{
	struct host_word *w;

	DL_FOREACH(ss->words, w) {
		if (w->to == to && broker_host_is_same(w, word))
			return;
	}
	w = mem_dup(word, sizeof *word);
	if (w == NULL)
		return;
	w->to = to;
	w->list = word->list == NULL ? NULL : mem_strdup(word->list);
	w->database = word->database == NULL ? NULL :
	    mem_strdup(word->database);
	if ((word->list != NULL && w->list == NULL) ||
	    (word->database != NULL && w->database == NULL))
		discard(w);
	else
		DL_APPEND(ss->words, w);
}

static void tell_others(struct sessions *ss, const struct host_word *w)
{
	for (unsigned to = 0; to <= ss->others; to++) {
		if (to != ss->worker)
			broker_host_note(ss, w, to);
	}
	if (ss->words == NULL)
		return;
	/* many may say the same in one turn */
	ss->word_task.run = pass_words;
	loop_again(ss->loop, &ss->word_task);
}

/* --- what is learned --- */

void broker_retire_host(struct pool *p, const struct server *of)
{
	broker_host_retire(p,
	    &(struct host_word){ .host = of->host, .addr = of->addr }, of);
}

void broker_host_fits(const struct server *s)
{
	const struct pool *const judge = s->ps.pool;
	const struct config_db *const conf = judge->key.db->conf;
	struct host_word w = { .list = conf->host };

	if (judge->failures == NULL || !has_one_primary(judge))
		return;
	w.addr.port = (uint16_t)conf->port;
	for (; hosts_find_doubted(judge, &w.host.item); w.host.item++) {
		pass_over(s->ss, &w);
		tell_others(s->ss, &w);
	}
}

void broker_host_changed(struct server *s, bool standby)
{
	const struct host_word w = { .host = s->host, .addr = s->addr };

	s->standby = standby ? FACT_YES : FACT_NO;
	if (s->ps.pool->limits.attrs == ATTRS_ANY)
		return;
	s->ps.close_needed = true;
	retire_all(s->ss, &w, s);
	tell_others(s->ss, &w);
}

void broker_vacate(const struct server *s, char *database)
{
	const struct host_word w = { .host = s->host, .addr = s->addr,
		.list = s->ps.pool->key.db->conf->host,
		.database = database };

	vacate(s->ss, &w);
	tell_others(s->ss, &w);
}
