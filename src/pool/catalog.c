/* catalog.c - the databases, users and pools.
 * SPDX-License-Identifier: ISC */
#include "pool/catalog.h"

#include <stddef.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/err.h"
#include "base/mem.h"
#include "pool/credentials.h"
#include "pool/due.h"
#include "pool/hosts.h"
#include "pool/parts.h"
#include "pool/users.h"

#define CONSOLE "pgbouncer"

static void wake(struct database *db)
{
	if (db->own != NULL || db->conf->user != NULL)
		wheel_wake(&db->wheel);
}

void catalog_wake_databases(struct catalog *c)
{
	for (struct database *db = c->databases; db != NULL; db = db->hh.next)
		wake(db);
}

static struct database *database_new(struct catalog *c, const char *name)
{
	struct database *db = mem_new(MEM_DATABASE, sizeof *db);

	if (db == NULL)
		return NULL;
	db->name = mem_strdup(name);
	if (db->name == NULL) {
		mem_delete(MEM_DATABASE, db, sizeof *db);
		return NULL;
	}
	db->queue.kind = db->share.kind = LIMIT_DB;
	HASH_ADD_KEYPTR(hh, c->databases, db->name, strlen(name), db);
	if (db->hh.tbl == NULL) {
		mem_free(db->name);
		mem_delete(MEM_DATABASE, db, sizeof *db);
		return NULL;
	}
	wheel_add(&c->database_due, &db->wheel);
	cursor_list_add(&c->all_databases, &db->node);
	return db;
}

void catalog_drop_database(struct catalog *c, struct database *db)
{
	for (struct pool *p = db->pools, *next; p != NULL; p = next) {
		next = p->db_next;
		catalog_drop_pool(c, p);
	}
	c->part_databases -= db->is_part;
	wheel_remove(&db->wheel);
	cursor_list_remove(&c->all_databases, &db->node);
	HASH_DEL(c->databases, db);
	credentials_unref(&db->password);
	credentials_unref(&db->next_password);
	config_db_free(db->own);
	limit_queue_fini(&db->queue);
	limit_share_close(&db->share);
	mem_free(db->name);
	mem_delete(MEM_DATABASE, db, sizeof *db);
}

struct database *catalog_find_database(struct catalog *c, const char *name)
{
	struct database *db = NULL;

	HASH_FIND_STR(c->databases, name, db);
	return db;
}

struct pool *catalog_find_pool(struct catalog *c, struct database *db,
    struct user *user)
{
	const struct pool_key key = { db, user };
	struct pool *p = NULL;

	HASH_FIND(hh, c->pools, &key, sizeof key, p);
	return p;
}

struct pool *catalog_get_pool(struct catalog *c, struct database *db,
    struct user *user)
{
	struct pool *p = catalog_find_pool(c, db, user);

	if (p != NULL)
		return p;
	p = mem_new(MEM_POOL, sizeof *p);
	if (p == NULL)
		return NULL;
	p->key.db = db;
	p->key.user = user;
	p->share.kind = LIMIT_POOL;
	if (limit_queue_enroll(&db->queue) < 0)
		goto fail;
	if (limit_queue_enroll(&user->queue) < 0)
		goto fail_user;
	HASH_ADD(hh, c->pools, key, sizeof p->key, p);
	if (p->hh.tbl == NULL)
		goto fail_hash;
	DL_PREPEND2(db->pools, p, db_prev, db_next);
	DL_PREPEND2(user->pools, p, user_prev, user_next);
	wheel_add(&c->pool_due, &p->wheel);
	p->recent = &c->recent;
	cursor_list_add(&c->all_pools, &p->node);
	cursor_list_settle(&c->all_pools);
	pool_configure(p, c->config);
	return p;
fail_hash:
	limit_queue_dismiss(&user->queue, p);
fail_user:
	limit_queue_dismiss(&db->queue, p);
fail:
	mem_delete(MEM_POOL, p, sizeof *p);
	return NULL;
}

void catalog_touch_pool(struct catalog *c, struct pool *p)
{
	if (p->dirty_prev == NULL)
		DL_APPEND2(c->dirty, p, dirty_prev, dirty_next);
	wheel_wake(&p->wheel);
}

void catalog_untouch_pool(struct catalog *c, struct pool *p)
{
	if (p->dirty_prev == NULL)
		return;
	DL_DELETE2(c->dirty, p, dirty_prev, dirty_next);
	p->dirty_prev = p->dirty_next = NULL;
}

struct pool *catalog_take_touched(struct catalog *c)
{
	struct pool *p = c->dirty;

	if (p != NULL)
		catalog_untouch_pool(c, p);
	return p;
}

void catalog_drop_pool(struct catalog *c, struct pool *p)
{
	catalog_untouch_pool(c, p);
	limit_queue_dismiss(&p->key.db->queue, p);
	limit_queue_dismiss(&p->key.user->queue, p);
	averages_forget(&c->averages, p);
	wheel_remove(&p->wheel);
	cursor_list_remove(&c->all_pools, &p->node);
	wheel_wake(&p->key.db->wheel);
	HASH_DEL(c->pools, p);
	DL_DELETE2(p->key.db->pools, p, db_prev, db_next);
	DL_DELETE2(p->key.user->pools, p, user_prev, user_next);
	if (p->share.ledger != NULL)
		parts_leave(p, c);
	credentials_unref(&p->credentials);
	hosts_free(p);
	mem_free(p->failure);
	mem_free(p->miss);
	pool_drop_welcome(p);
	mem_delete(MEM_POOL, p, sizeof *p);
}

struct user *catalog_pool_user(struct catalog *c, struct database *db,
    struct user *u)
{
	return db->conf->user == NULL ? u :
	    catalog_get_user(c, db->conf->user);
}

/* False for a pool that runs auth_query beside those of the forced user. */
static bool is_forced(const struct pool *p)
{
	return p->key.db->conf->user != NULL &&
	    strcmp(p->key.db->conf->user, p->key.user->name) == 0;
}

void catalog_learn_credentials(struct pool *p, struct credentials *c)
{
	if (is_forced(p) || p->credentials == c)
		return;
	credentials_unref(&p->credentials);
	p->credentials = credentials_ref(c);
}

/*
 * The database's secret is for its forced user, or for all users if there is
 * none.
 */
const struct config_secret *catalog_pool_source(const struct pool *p)
{
	const struct config_db *const db = p->key.db->conf;
	const struct config_user *const user = p->key.user->conf;

	if (config_secret_is_given(&db->secret) &&
	    (db->user == NULL || is_forced(p)))
		return &db->secret;
	if (is_forced(p) && p->key.db->password != NULL)
		return NULL;
	return user != NULL && config_secret_is_given(&user->secret) ?
	    &user->secret : NULL;
}

/* See spec/authentication.md section 5. */
struct credentials *catalog_pool_credentials(const struct catalog *c,
    const struct pool *p)
{
	struct user *const u = p->key.user;

	if (is_forced(p) && p->key.db->password != NULL)
		return p->key.db->password;
	/* the auth file may have a newer secret than the typed one */
	struct credentials *const listed = user_credentials(c, u);

	if (!is_forced(p) && u->typed != NULL)
		return u->typed;
	return listed != NULL ? listed : p->credentials;
}

/* Applying a configuration begins with everything that can fail. */

/* name NULL or "": no user. */
static int make_user(const char *name, struct catalog *c)
{
	return name == NULL || name[0] == '\0' ||
	    catalog_get_user(c, name) != NULL ? 0 : -1;
}

/* Prepares what db needs of its entry. An empty password counts as none. */
static int prepare_entry(struct catalog *c, struct database *db,
    const struct config_db *conf)
{
	const char *password = conf->password != NULL &&
	    conf->password[0] != '\0' ? conf->password : NULL;

	if (password != NULL)
		db->next_password = credentials_renew(db->password, password);
	if (password != NULL && db->next_password == NULL)
		return -1;
	return make_user(conf->user, c) < 0 ? -1 :
	    make_user(conf->auth_user, c);
}

/* An automatic database without an entry of its own gets a new copy of "*". */
static int prepare_automatic(struct catalog *c, struct database *db,
    const struct config *config)
{
	struct err e = { .text = "" };

	if (db->console || db->own == NULL || db->next_conf != NULL)
		return 0;
	db->next_own = config_auto_db(config, db->name, &e);
	if (db->next_own != NULL)
		return prepare_entry(c, db, db->next_own);
	/* without a usable "*" line, the old entry stays */
	return err_is_nomem(&e) ? -1 : 0;
}

/*
 * A SET shares the entries, and a reload shares an auth file that has not
 * changed.
 */
static bool same_entries(const struct config *a, const struct config *b)
{
	return a != b && a->index == b->index;
}

static bool same_users(const struct config *a, const struct config *b)
{
	return a != b && a->userlist == b->userlist;
}

static int prepare_entries(struct catalog *c, const struct config *config)
{
	struct database *db, *next_db;

	for (const struct config_db *conf = config->dbs; conf != NULL;
	    conf = conf->next) {
		const bool at_home =
		    catalog_home(c, conf->name) == c->part.index;

		if (!at_home && c->part_databases == 0)
			continue;
		db = catalog_find_database(c, conf->name);
		if (!at_home && db == NULL)
			continue;
		if (db == NULL)
			db = database_new(c, conf->name);
		if (db == NULL)
			return -1;
		db->next_conf = conf;
		if (prepare_entry(c, db, conf) < 0)
			return -1;
	}
	HASH_ITER(hh, c->databases, db, next_db)
		if (prepare_automatic(c, db, config) < 0)
			return -1;
	return 0;
}

/* Must be fast for unchanged databases, because there may be 20,000. */
static int prepare(struct catalog *c, const struct config *config)
{
	if (!same_entries(c->config, config) &&
	    prepare_entries(c, config) < 0)
		return -1;
	return make_user(config->set.auth_user, c);
}

/* No memory: drops what was prepared. New names of users do no harm. */
static void abandon(struct catalog *c)
{
	struct database *db, *next_db;

	HASH_ITER(hh, c->databases, db, next_db) {
		credentials_unref(&db->next_password);
		config_db_free(db->next_own);
		db->next_own = NULL;
		db->next_conf = NULL;
		if (db->conf == NULL)
			catalog_drop_database(c, db);
	}
}

static void put_entry(struct database *db, const struct config_db *conf)
{
	db->conf = conf;
	credentials_unref(&db->password);
	db->password = db->next_password;
	db->next_password = NULL;
	config_db_free(db->own);
	db->own = db->next_own;
	db->next_own = NULL;
	if (db->own == NULL)	/* db now has a line of its own */
		db->tentative = false;
	wake(db);
}

/*
 * Must servers of db be replaced? A changed "*" line replaces those of all
 * databases that it made.
 */
static bool recycles(const struct database *db, const struct config_db *conf,
    const struct config *old, const struct config *config)
{
	if (db->conf == NULL)
		return false;
	if (db->next_own != NULL && (old->auto_db == NULL ||
	    strcmp(old->auto_db, config->auto_db) != 0))
		return true;
	return config_db_recycles(db->conf, conf);
}

static void put_databases(struct catalog *c, const struct config *old,
    const struct catalog_ops *ops, void *arg)
{
	struct database *db, *next;

	HASH_ITER(hh, c->databases, db, next) {
		const struct config_db *conf = db->next_own != NULL ?
		    db->next_own : db->next_conf;

		if (db->console)
			continue;
		db->next_conf = NULL;
		if (conf != NULL) {
			const bool changed = recycles(db, conf, old,
			    c->config);

			put_entry(db, conf);
			if (changed)
				db->overheard = 0;
			if (changed && ops != NULL)
				ops->database_changed(db, arg);
		} else if (db->own == NULL) {
			if (ops != NULL)
				ops->database_removed(db, arg);
			catalog_drop_database(c, db);
		}
	}
}

/* Only users with a record are affected. */
static void put_users(struct catalog *c, const struct config *old)
{
	struct user *u;

	if (!same_users(old, c->config)) {
		c->auth_file++;
		c->to_renew = c->users;
	}
	if (same_entries(old, c->config))
		return;
	for (const struct config_user *cu = old->users; cu != NULL;
	    cu = cu->next) {
		u = catalog_find_user(c, cu->name);
		if (u != NULL)
			u->conf = NULL;
	}
	for (const struct config_user *cu = c->config->users; cu != NULL;
	    cu = cu->next) {
		u = catalog_find_user(c, cu->name);
		if (u != NULL)
			u->conf = cu;
	}
}

/* Only these settings affect the upkeep of a database. */
static bool database_limits_differ(const struct settings *a,
    const struct settings *b)
{
	return a->min_pool_size != b->min_pool_size ||
	    a->autodb_idle_timeout != b->autodb_idle_timeout;
}

int catalog_apply(struct catalog *c, struct config *config,
    const struct catalog_ops *ops, void *arg)
{
	struct config *old = (struct config *)c->config;
	struct pool *p, *next;

	if (prepare(c, config) < 0) {
		abandon(c);
		return -1;
	}
	/* old entries are compared and borrowed until everything is applied */
	c->config = config_ref(config);
	put_users(c, old);
	if (!same_entries(old, config))
		put_databases(c, old, ops, arg);
	/* also for databases that have lost the line that made them */
	if (database_limits_differ(&old->set, &config->set))
		catalog_wake_databases(c);
	HASH_ITER(hh, c->pools, p, next)
		pool_configure(p, c->config);
	config_unref(&old);
	return 0;
}

/* The admin database looks like any other, but has no servers. */
static int make_console(struct catalog *c)
{
	struct config_db *own = mem_zalloc(sizeof *own);

	if (own == NULL)
		return -1;
	own->pool_size = 2;
	own->min_pool_size = own->reserve_pool_size = CONFIG_UNSET;
	own->server_lifetime = own->query_wait_timeout = CONFIG_UNSET;
	own->pin_timeout = own->server_down_timeout = CONFIG_UNSET;
	own->max_pinned = CONFIG_UNSET;
	own->pool_mode = POOL_STATEMENT;
	own->session_state = own->listen_lost = CONFIG_UNSET;
	own->server_gss = CONFIG_UNSET;
	own->tls.sslmode = own->tls.negotiation = CONFIG_UNSET;
	own->port = c->config->set.listen_port;
	own->name = mem_strdup(CONSOLE);
	own->dbname = mem_strdup(CONSOLE);
	own->user = mem_strdup(CONSOLE);
	struct database *db = own->name != NULL && own->dbname != NULL &&
	    own->user != NULL ? database_new(c, CONSOLE) : NULL;

	if (db == NULL) {
		config_db_free(own);
		return -1;
	}
	db->console = true;
	db->conf = db->own = own;
	c->console = db;
	struct user *u = catalog_get_user(c, CONSOLE);

	return u == NULL || catalog_get_pool(c, db, u) == NULL ? -1 : 0;
}

bool catalog_is_console(const char *name)
{
	return strcmp(name, CONSOLE) == 0;
}

unsigned catalog_home(const struct catalog *c, const char *name)
{
	return c->part.count == 0 || catalog_is_console(name) ? 0 :
	    hash_bytes(name, strlen(name)) % c->part.count;
}

struct catalog *catalog_new(struct config *config)
{
	return catalog_new_part(config, (struct catalog_part){ 0 });
}

struct catalog *catalog_new_part(struct config *config,
    struct catalog_part part)
{
	struct catalog *c = mem_zalloc(sizeof *c);

	if (c == NULL)
		return NULL;
	c->part = part;
	c->all_users.compare = user_compare;
	c->all_databases.compare = database_compare;
	c->all_pools.compare = pool_compare;
	c->config = config_ref(config);
	wheel_init(&c->database_due, DUE_GRAIN, time_now());
	wheel_init(&c->pool_due, DUE_GRAIN, time_now());
	if ((part.index == 0 && make_console(c) < 0) ||
	    catalog_apply(c, config, NULL, NULL) < 0)
		catalog_free(&c);
	return c;
}

void catalog_free(struct catalog **cp)
{
	struct catalog *c = *cp;
	struct database *db, *next_db;
	struct user *u, *next_user;

	*cp = NULL;
	if (c == NULL)
		return;
	HASH_ITER(hh, c->databases, db, next_db)
		catalog_drop_database(c, db);
	HASH_ITER(hh, c->users, u, next_user)
		catalog_drop_user(c, u);
	struct config *config = (struct config *)c->config;

	(void)drain_remove(c, NULL);
	averages_fini(&c->averages);
	config_unref(&config);
	mem_free(c);
}

struct database *catalog_auto_database(struct catalog *c, const char *name,
    struct err *e)
{
	struct config_db *own = config_auto_db(c->config, name, e);

	if (own == NULL)
		return NULL;
	struct database *db = database_new(c, name);

	if (db == NULL || prepare_entry(c, db, own) < 0) {
		err_nomem(e);
		if (db != NULL)
			catalog_drop_database(c, db);
		config_db_free(own);
		return NULL;
	}
	db->next_own = own;
	put_entry(db, own);
	return db;
}

static struct database *database_of_line(struct catalog *c, const char *name)
{
	const struct config_db *const conf = config_find_db(c->config, name);
	struct err e;

	if (conf == NULL)
		return catalog_auto_database(c, name, &e);
	struct database *const db = database_new(c, name);

	if (db == NULL)
		return NULL;
	if (prepare_entry(c, db, conf) < 0) {
		catalog_drop_database(c, db);
		return NULL;
	}
	put_entry(db, conf);
	return db;
}

struct database *catalog_get_part(struct catalog *c, const char *name)
{
	struct database *db = catalog_find_database(c, name);

	if (db != NULL)
		return db;
	db = database_of_line(c, name);
	if (db != NULL) {
		db->is_part = true;
		c->part_databases++;
	}
	return db;
}

int database_compare(const struct cursor_node *a, const struct cursor_node *b)
{
	return strcmp(container_of(a, struct database, node)->name,
	    container_of(b, struct database, node)->name);
}

int pool_compare(const struct cursor_node *a, const struct cursor_node *b)
{
	const struct pool_key *const x =
	    &container_of(a, struct pool, node)->key;
	const struct pool_key *const y =
	    &container_of(b, struct pool, node)->key;
	const int d = strcmp(x->db->name, y->db->name);

	return d != 0 ? d : strcmp(x->user->name, y->user->name);
}

void catalog_turn(struct catalog *c, usec_t now)
{
	wheel_turn(&c->database_due, now);
	wheel_turn(&c->pool_due, now);
}

struct database *catalog_turn_database(struct catalog *c)
{
	struct wheel_node *const n = wheel_take(&c->database_due);

	return n == NULL ? NULL : container_of(n, struct database, wheel);
}

struct pool *catalog_turn_pool(struct catalog *c)
{
	struct wheel_node *const n = wheel_take(&c->pool_due);

	return n == NULL ? NULL : container_of(n, struct pool, wheel);
}
