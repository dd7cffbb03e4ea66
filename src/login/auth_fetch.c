/* auth_fetch.c - asks a server for an answer that the cache is to keep.
 *
 * No login runs the query: those that wait for it may leave. A client of ours, which
 * has no connection, queues for a server, at the worker that has the pool.
 * SPDX-License-Identifier: ISC */
#include "login/auth_fetch.h"

#include <stdatomic.h>
#include <stddef.h>
#include <utlist.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "login/auth_cache.h"
#include "login/auth_query.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "session/client.h"
#include "session/sessions.h"

struct auth_fetch {
	struct auth_fetch *prev, *next;	/* of ss->fetches, or ss->asking: DL */
	struct auth_entry *entry;	/* borrowed; its home's: touched there */
	unsigned home;			/* the worker that has the entry */
	struct client *client;		/* borrowed; NULL: none asks, here */
	struct database *db;		/* borrowed: the login's own; or NULL */
	uint64_t number;		/* of the cache */
	usec_t asked;			/* when it began, by the clock of home */
	atomic_bool unwanted;		/* nobody waits: by home, for all */
	bool sent;			/* a server had the query */
	bool spared;			/* none had it, as it was unwanted */
	bool done;			/* query has the answer, or why says why not */
	struct auth_query query;	/* and its answer */
	struct err why;
};

static void free_fetch(struct auth_fetch *f)
{
	auth_query_fini(&f->query);
	mem_free(f);
}

/* --- the end --- */

/*
 * At home. If somebody wants to know what has changed since, the same is asked
 * once more.
 */
static void conclude(struct sessions *ss, struct auth_fetch *f)
{
	struct auth_entry *const e = f->entry;
	struct auth_errand *const errand = f->query.errand;
	struct database *const db = f->db;
	const struct auth_news news = {
		.number = f->number,
		.asked = f->asked,
		.found = f->query.found,
		.name = f->query.name,
		.why = f->done ? NULL : &f->why,
		.denied = f->query.answer.denied,
	};
	/* somebody may have come since */
	const bool again = f->spared ? auth_entry_give_up(e) :
	    auth_entry_put(e, &news);

	f->query.errand = NULL;
	free_fetch(f);
	if (again)
		auth_fetch_begin(ss, e, errand, db);
	else {
		struct auth_errand *left = errand;

		auth_errand_free(&left);
	}
}

/* Another worker has asked; this one may have an older answer of the same. */
static void learn(struct sessions *ss, const struct auth_fetch *f)
{
	const struct auth_errand *const q = f->query.errand;
	struct auth_entry *const e = q->database == NULL ? NULL :
	    auth_cache_find(ss->answers, &(struct auth_key){
	    .user = q->user, .auth_user = q->auth_user,
	    .database = q->database, .sql = q->sql, .urgent = q->urgent });

	/* a FORGET may have come since, or another answer */
	if (e == NULL || e->fetch != NULL || !f->done ||
	    e->state == AUTH_ENTRY_NEW || e->asked > f->asked)
		return;
	(void)auth_entry_put(e, &(struct auth_news){
	    .number = auth_cache_begin(ss->answers), .asked = f->asked,
	    .found = f->query.found, .name = f->query.name });
}

static void put_off(struct sessions *ss, struct auth_fetch *f)
{
	DL_APPEND(ss->fetches, f);
}

static void post(struct sessions *ss, struct auth_fetch *f, unsigned to)
{
	if (ss->client_ops.may_ask(ss->app, to))
		ss->client_ops.ask(ss->app, f, to);
	else
		put_off(ss, f);
}

static void go_home(struct sessions *ss, struct auth_fetch *f)
{
	if (f->home == ss->worker) {
		conclude(ss, f);
		return;
	}
	learn(ss, f);
	post(ss, f, f->home);
}

/* --- its client --- */

static void ignore(struct client *c)
{
	(void)c;
}

static struct auth_query *query_of(const struct client *c)
{
	return &c->fetch->query;
}

static void send_query(struct client *c)
{
	c->fetch->sent = true;
	auth_query_send(c);
}

/* The logins are told; of their fetch there is nothing to say. */
static bool never_speaks(const struct client *c)
{
	(void)c;
	return false;
}

static struct timeout_list *time_out(struct sessions *ss)
{
	return &ss->login_list;
}

/* It has its answer, or gets none any more. */
static void on_leave(struct client *c)
{
	struct sessions *const ss = c->ss;
	struct auth_fetch *const f = c->fetch;

	auth_query_leave(c);
	catalog_count_request(ss->catalog, -1);
	ss->logins--;
	DL_DELETE(ss->asking, f);
	c->fetch = NULL;
	f->client = NULL;
	if (!f->done && f->why.code[0] == '\0')
		err_set(&f->why, ERRCODE_PROTOCOL_VIOLATION, "%s",
		    close_reason_text(f->sent ? CLOSE_BOUNCER_CONFIG_ERROR :
		    CLOSE_SERVER_LOGIN_FAILED));
	/* who waits goes on in a turn of its own: c is not looked at by it */
	go_home(ss, f);
}

static const struct client_role role = {
	.name = "fetch",
	.logging_in = true,
	.mute = true,
	.time_out = time_out,
	.input = ignore,
	.go_on = send_query,
	.query = query_of,
	.speaks = never_speaks,
	.leave = on_leave,
};

static void on_answered(struct client *c)
{
	c->fetch->done = true;
	client_close(c, CLOSE_AUTH_QUERY_ANSWERED);
}

/* --- asking --- */

static void no_memory(struct sessions *ss, struct auth_fetch *f)
{
	err_set(&f->why, ERRCODE_OUT_OF_MEMORY, "bouncer resources exhaustion");
	go_home(ss, f);
}

/* The pool is this worker's. */
static void ask_here(struct sessions *ss, struct auth_fetch *f)
{
	struct client *const c = client_open_own(ss);

	if (c == NULL) {
		no_memory(ss, f);
		return;
	}
	catalog_count_request(ss->catalog, 1);
	ss->logins++;
	DL_APPEND(ss->asking, f);
	c->fetch = f;
	f->client = c;
	c->db = f->db;
	if (c->db != NULL)
		database_count_client(c->db, 1);
	client_become(c, &role);
	if (auth_query_start(c, &f->why) < 0)
		client_close(c, CLOSE_BOUNCER_CONFIG_ERROR);
}

/* The worker that has the pool which is asked; on any. */
static unsigned worker_of(const struct sessions *ss,
    const struct auth_fetch *f)
{
	const char *const name = f->query.errand->database;

	return name == NULL ? f->home : catalog_home(ss->catalog, name);
}

void auth_fetch_begin(struct sessions *ss, struct auth_entry *e,
    struct auth_errand *errand, struct database *db)
{
	struct auth_fetch *const f = mem_zalloc(sizeof *f);

	if (f == NULL) {
		struct auth_errand *left = errand;
		struct err why;

		auth_errand_free(&left);
		(void)err_nomem(&why);
		(void)auth_entry_put(e, &(struct auth_news){ .why = &why });
		return;
	}
	f->entry = e;
	f->home = ss->worker;
	f->db = db;
	f->number = auth_cache_begin(e->cache);
	f->asked = time_now();
	f->query = (struct auth_query){ .user = errand->user,
		.errand = errand, .answered = on_answered };
	e->fetch = f;
	if (worker_of(ss, f) == ss->worker)
		ask_here(ss, f);
	else
		post(ss, f, worker_of(ss, f));
}

bool auth_fetch_is_vain(const struct sessions *ss, const struct auth_entry *e,
    usec_t now)
{
	const struct auth_fetch *const f = e->fetch;

	if (f == NULL)
		return false;
	/* the client of another worker is not to be looked at */
	const struct pool *const p = worker_of(ss, f) == ss->worker &&
	    f->client != NULL ? f->client->pc.pool : NULL;

	return time_age(f->asked, now) >= AUTH_FETCH_PATIENCE ||
	    (p != NULL && pool_is_down(p));
}

void auth_fetch_arrive(struct sessions *ss, struct auth_fetch *f)
{
	if (f->home == ss->worker)
		conclude(ss, f);
	else
		ask_here(ss, f);
}

void auth_fetch_want(struct auth_entry *e)
{
	if (e->fetch != NULL)
		atomic_store_explicit(&e->fetch->unwanted,
		    auth_entry_is_unwanted(e), memory_order_relaxed);
}

/* Strangers who have left already are not to fill the queue of the pool. */
static void spare_unwanted(struct sessions *ss)
{
	struct auth_fetch *f, *next;

	DL_FOREACH_SAFE(ss->asking, f, next) {
		if (f->sent || !atomic_load_explicit(&f->unwanted,
		    memory_order_relaxed))
			continue;
		f->spared = true;
		client_close(f->client, CLOSE_AUTH_QUERY_UNWANTED);
	}
}

void auth_fetch_tick(struct sessions *ss)
{
	struct auth_fetch *const all = ss->fetches;
	struct auth_fetch *f, *next;

	ss->fetches = NULL;
	DL_FOREACH_SAFE(all, f, next) {
		const bool goes_home = f->done || f->why.code[0] != '\0';

		post(ss, f, goes_home ? f->home : worker_of(ss, f));
	}
	spare_unwanted(ss);
}

void auth_fetch_discard(struct auth_fetch *f)
{
	free_fetch(f);
}

void auth_fetch_forget(struct sessions *ss)
{
	struct auth_fetch *f, *next;

	DL_FOREACH_SAFE(ss->fetches, f, next)
		free_fetch(f);
	ss->fetches = NULL;
}
