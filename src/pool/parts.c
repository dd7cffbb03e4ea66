/* parts.c - a pool that several workers serve: its home's, and parts of it.
 * SPDX-License-Identifier: ISC */
#include "pool/parts.h"

#include <string.h>
#include <utlist.h>

#include "base/ledger.h"
#include "pool/catalog.h"
#include "pool/credentials.h"
#include "proto/params.h"

/* Where parts differ by fewer clients, they come in turn. */
#define SLACK 4

/* --- which pools --- */

/* By this user secrets are looked up: in a pool that is asked at home. */
static bool parts_is_asked(const struct pool *p, const struct catalog *c)
{
	const char *const own = p->key.db->conf->auth_user;
	const char *const user = own != NULL ? own : c->config->set.auth_user;

	return p->lookups > 0 ||
	    (user != NULL && strcmp(user, p->key.user->name) == 0);
}

static bool has_dedicated(const struct pool *p)
{
	const struct pool_server *ps;

	if (p->client_count[CLIENT_DEDICATED_WAITING] > 0 ||
	    p->server_count[SERVER_DEDICATED_LOGIN] > 0)
		return true;
	DL_FOREACH(p->servers[SERVER_ACTIVE], ps) {
		if (ps->dedicated)
			return true;
	}
	return false;
}

bool parts_may_begin(const struct pool *p, const struct catalog *c)
{
	const struct pool_limits *const l = &p->limits;

	return !p->key.db->console && !p->key.db->tentative &&
	    p->peer_id == 0 && l->size >= 2 * PARTS_LEASE_MIN &&
	    l->mode != POOL_SESSION && p->hearing.listener == NULL &&
	    !has_dedicated(p) && !parts_is_asked(p, c);
}

unsigned parts_most(const struct pool *p)
{
	return (unsigned)p->limits.size / PARTS_LEASE_MIN;
}

/* --- their ledgers --- */

static void parts_add(struct limit_share *s, enum ledger_kind kind, unsigned n)
{
	while (n-- > 0)
		ledger_add(s->ledger, kind);
}

static void seed_database(struct database *db)
{
	unsigned cancelers = 0;

	for (const struct pool *p = db->pools; p != NULL; p = p->db_next)
		cancelers += p->server_count[SERVER_ACTIVE_CANCEL];
	parts_add(&db->share, LEDGER_SERVERS, db->servers);
	parts_add(&db->share, LEDGER_CANCELERS, cancelers);
	parts_add(&db->share, LEDGER_CLIENTS, database_admitted(db));
}

static void seed_pool(struct pool *p)
{
	unsigned clients = 0;

	for (int i = 0; i < CLIENT_STATES; i++)
		clients += p->client_count[i];
	parts_add(&p->share, LEDGER_SERVERS, pool_total(p));
	parts_add(&p->share, LEDGER_CANCELERS,
	    p->server_count[SERVER_ACTIVE_CANCEL]);
	parts_add(&p->share, LEDGER_CLIENTS, clients);
	parts_add(&p->share, LEDGER_PINNED, p->pinned);
}

int parts_enter(struct pool *p, struct catalog *c)
{
	struct database *const db = p->key.db;
	const struct catalog_part *const at = &c->part;

	if (db->share.ledger == NULL) {
		if (limit_share_open(&db->share, at->book, at->index,
		    (struct limit_name){ .name = db->name }) < 0)
			return -1;
		seed_database(db);
	}
	if (p->share.ledger != NULL)
		return 0;
	if (limit_share_open(&p->share, at->book, at->index,
	    (struct limit_name){ db->name, p->key.user->name }) < 0)
		return -1;
	seed_pool(p);
	DL_APPEND2(c->shared, p, shared_prev, shared_next);
	return 0;
}

void parts_leave(struct pool *p, struct catalog *c)
{
	DL_DELETE2(c->shared, p, shared_prev, shared_next);
	limit_share_close(&p->share);
	p->parts = (struct pool_parts){ 0 };
	p->lease = 0;
}

void parts_leave_database(struct database *db)
{
	limit_share_close(&db->share);
}

bool database_admit(struct database *db, int max)
{
	if (db->share.ledger == NULL)
		return max <= 0 || database_admitted(db) < (unsigned)max;
	if (max > 0)
		return ledger_take(db->share.ledger, LEDGER_CLIENTS,
		    (unsigned)max);
	ledger_add(db->share.ledger, LEDGER_CLIENTS);
	return true;
}

void database_dismiss(struct database *db)
{
	if (db->share.ledger != NULL)
		ledger_give(db->share.ledger, LEDGER_CLIENTS);
}

/* --- making one --- */

/* Texts are of a table of each worker. */
static int copy_welcome(struct pool *p, const struct welcome *from,
    struct params_table *t)
{
	struct params *set = params_empty(t);
	bool failed = set == NULL;

	for (int i = 0; !failed && i < params_count(t); i++) {
		const char *const value = params_get(from->params, i);

		failed = value != NULL && params_set(&set, i, value) < 0;
	}
	if (failed) {
		params_unref(&set);
		return -1;
	}
	return pool_put_welcome(p, set, from->bytes, from->len);
}

static int furnish(struct pool *p, const struct pool *home,
    struct params_table *t)
{
	if (p->welcome == NULL && home->welcome != NULL &&
	    copy_welcome(p, home->welcome, t) < 0)
		return -1;
	if (p->credentials == NULL && home->credentials != NULL)
		p->credentials = credentials_ref(home->credentials);
	p->old_protocol = home->old_protocol;
	return 0;
}

int parts_begin(struct pool *home, struct catalog *c,
    const struct parts_place *to)
{
	struct catalog *const at = to->catalog;

	if (parts_enter(home, c) < 0)
		return -1;
	struct database *const db = catalog_get_part(at, home->key.db->name);
	struct user *const u = db == NULL ? NULL :
	    catalog_get_user(at, home->key.user->name);
	struct pool *const p = u == NULL ? NULL : catalog_get_pool(at, db, u);

	if (p == NULL)
		return -1;
	p->is_part = true;
	db->paused = home->key.db->paused;
	db->disabled = home->key.db->disabled;
	db->overheard |= home->key.db->overheard;
	if (parts_enter(p, at) < 0 || furnish(p, home, to->params) < 0)
		return -1;
	home->parts.open |= (uint64_t)1 << at->part.index;
	return 0;
}

void parts_end(struct pool *home)
{
	home->parts = (struct pool_parts){ 0 };
}

bool parts_is_open(const struct pool *home, unsigned worker)
{
	return (home->parts.open >> worker & 1) != 0;
}

unsigned parts_count(const struct pool *home)
{
	unsigned n = 1;

	for (uint64_t open = home->parts.open; open != 0; open &= open - 1)
		n++;
	return n;
}

void parts_put_lease(struct pool *p, unsigned count)
{
	const unsigned lease = (unsigned)p->limits.size / count;

	p->lease = lease > 0 ? lease : 1;
}

/* --- new clients --- */

/* The first worker behind at that has some of home; here is the home. */
static unsigned next_open(const struct pool *home, unsigned here, unsigned at)
{
	do {
		at = (at + 1) % 64;
	} while (at != here && !parts_is_open(home, at));
	return at;
}

unsigned parts_choose(struct pool *home, unsigned here)
{
	struct pool_parts *const parts = &home->parts;
	const struct ledger *const l = home->share.ledger;
	unsigned most = 0, fewest = 0, emptiest = here, at = here;

	if (parts->open == 0)
		return here;
	fewest = most = ledger_taken_at(l, here, LEDGER_CLIENTS);
	while ((at = next_open(home, here, at)) != here) {
		const unsigned n = ledger_taken_at(l, at, LEDGER_CLIENTS);

		if (n < fewest)
			emptiest = at;
		fewest = n < fewest ? n : fewest;
		most = n > most ? n : most;
	}
	parts->dealt = most - fewest > SLACK ? emptiest :
	    next_open(home, here, parts->dealt);
	return parts->dealt;
}
