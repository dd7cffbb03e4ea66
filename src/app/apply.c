/* apply.c - a configuration, put in force.
 * SPDX-License-Identifier: ISC */
#include "app/apply.h"

#include <string.h>

#include "app/app.h"
#include "app/idle.h"
#include "app/listener.h"
#include "app/notify.h"
#include "app/slow_turn.h"
#include "app/workers.h"
#include "base/ceiling.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/broker.h"
#include "conf/memory_limit.h"
#include "http/http.h"
#include "io/dns.h"
#include "io/offload.h"
#include "login/auth_cache.h"
#include "login/peer.h"
#include "upstream/tls_setup.h"

void apply_log(const struct app *app)
{
	const struct settings *const now = &app->config->set;
	/* a SET of these waits for the next reload (spec/settings.md section 5) */
	const struct settings *const then = &app->loaded->set;

	log_setup(&(struct log_opts){
		.verbose = now->verbose,
		.quiet = app->args.quiet,
		.json = now->log_format == LOG_FORMAT_JSON,
		.file = then->logfile,
		.syslog = now->syslog != 0,
		.syslog_ident = then->syslog_ident,
		.syslog_facility = then->syslog_facility,
		.journal = notify_journal(),
	});
}

#define DERIVE_THREADS 2	/* one that takes long is not alone */
#define DERIVE_QUEUE 1000
#define TLS_QUEUE 1000000	/* max_unauthenticated bounds it */
#define NAMES_THREADS 4
#define NAMES_QUEUE 1000
#define CONFIG_QUEUE 10	/* one reading, and what it replaces */
#define PASSWORD_THREADS 2
#define PASSWORD_QUEUE 1000000	/* one for each password, at most */

/* What all workers may have together. */
static int share(const struct app *app, int all)
{
	const int part = all / app->config->set.workers;

	return part > 0 ? part : 1;
}

void apply_threads(const struct app *app)
{
	const struct settings *const set = &app->config->set;
	struct offload *const o = app->ss.offload;

	offload_limit(o, OFFLOAD_DERIVE, DERIVE_THREADS, DERIVE_QUEUE);
	offload_limit(o, OFFLOAD_TYPED, DERIVE_THREADS, DERIVE_QUEUE);
	offload_limit(o, OFFLOAD_TLS, DERIVE_THREADS, TLS_QUEUE);
	offload_limit(o, OFFLOAD_NAMES, NAMES_THREADS, NAMES_QUEUE);
	offload_limit(o, OFFLOAD_PAM, share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_LDAP, share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_CONFIG, 1 + (int)app->hung.count,
	    CONFIG_QUEUE);
	offload_limit(o, OFFLOAD_TLS_FILES, 1, 1);
	offload_limit(o, OFFLOAD_PASSWORD, PASSWORD_THREADS, PASSWORD_QUEUE);
}

void apply_memory(const struct app *app)
{
	size_t limit = 0;
	struct err e;

	if (memory_limit_parse(app->config->set.memory_limit, &limit, &e) < 0)
		log_error("%s", e.text);
	if (limit != ceiling_limit() && limit != 0)
		log_info("memory limit: %zu MB", limit >> 20);
	ceiling_set(limit);
}

void apply_mock(struct app *app)
{
	const struct mock *const m = &app->config->mock;

	app->ss.mock_shape = m->shape;
	if (m->seeded)
		memcpy(app->ss.mock_salt, m->seed, sizeof m->seed);
}

void apply_dns(const struct app *app)
{
	const struct settings *const set = &app->config->set;
	struct dns *const dns = app->ss.dns;

	dns_set_ttl(dns, set->dns_max_ttl, set->dns_nxdomain_ttl);
	if (dns_set_zone_period(dns, set->dns_zone_check_period) < 0)
		log_error("out of memory: DNS zones are not checked");
}

static void on_database_removed(struct database *db, void *arg)
{
	struct app *const app = arg;

	log_warning("dropping database '%s' as it does not exist anymore or "
	    "inactive auto-database", db->name);
	broker_kill_database(&app->ss, db);
}

static void on_database_changed(struct database *db, void *arg)
{
	struct app *const app = arg;

	broker_reconnect(&app->ss, db);
}

/* Takes tls. Connections keep what they have, but the wrong kind of server. */
static void put_tls_in_force(struct app *app, struct tls_setup *tls)
{
	struct tls_setup *old = app->ss.tls;
	const bool recycle = tls_setup_recycles(&old->config->set,
	    &tls->config->set);
	struct pool *p, *next;

	app->ss.tls = tls;
	tls_setup_free(&old);
	if (!recycle)
		return;
	HASH_ITER(hh, app->catalog->pools, p, next) {
		if (!p->key.db->console)
			broker_reconnect_pool(&app->ss, p);
	}
}

/* Takes fresh and tls. 0, or -1 with e. */
static int put_in_force(struct app *app, struct config *fresh,
    struct tls_setup *tls, struct err *e)
{
	static const struct catalog_ops ops = {
		.database_removed = on_database_removed,
		.database_changed = on_database_changed,
	};

	if (catalog_apply(app->catalog, fresh, &ops, app) < 0) {
		config_unref(&fresh);
		tls_setup_free(&tls);
		return err_nomem(e);
	}
	config_unref(&app->config);
	app->config = fresh;
	if (tls != NULL)
		put_tls_in_force(app, tls);
	peer_apply(&app->ss);
	auth_cache_clear(app->ss.answers);
	apply_threads(app);
	apply_dns(app);
	apply_mock(app);
	slow_turn_watch(app);
	idle_reset(app->idle);
	/* larger limits, a mended configuration: look at all pools again */
	struct pool *p, *next;
	broker_retry(&app->ss, NULL);
	HASH_ITER(hh, app->catalog->pools, p, next) {
		if (p->restarts)
			broker_reconnect_pool(&app->ss, p);
		p->restarts = false;
		broker_touch(&app->ss, p);
	}
	return 0;
}

/* The others follow; where memory is short, one stays as it was. */
static int put_in_force_elsewhere(struct app *app, bool tls, struct err *e)
{
	for (struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w)) {
		struct tls_setup *const own = tls ?
		    tls_setup_share(app->ss.tls) : NULL;

		if (tls && own == NULL)
			return err_nomem(e);
		if (put_in_force(w, config_ref(app->config), own, e) < 0)
			return -1;
	}
	return 0;
}

int apply_config(struct app *app, struct config *fresh,
    struct tls_setup *tls, struct err *e)
{
	const bool has_tls = tls != NULL;

	if (!workers_hold(app)) {
		config_unref(&fresh);
		tls_setup_free(&tls);
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "a worker does not answer");
	}
	int rc = put_in_force(app, fresh, tls, e);

	if (rc == 0)
		rc = put_in_force_elsewhere(app, has_tls, e);
	if (rc == 0) {
		apply_memory(app);
		listener_retune_all(app);
		http_apply(app->http);
	}
	workers_let_go(app);
	return rc;
}

int apply_tls(struct app *app, struct tls_setup *tls)
{
	if (!workers_hold(app)) {
		tls_setup_free(&tls);
		return -1;
	}
	put_tls_in_force(app, tls);
	for (struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w)) {
		struct tls_setup *const own = tls_setup_share(app->ss.tls);

		/* where memory is short, one stays as it was */
		if (own != NULL)
			put_tls_in_force(w, own);
	}
	http_apply(app->http);
	workers_let_go(app);
	return 0;
}

/* (spec/admin-console.md section 4.11) */
bool apply_is_about_tls(const char *key)
{
	return strstr(key, "_tls_") != NULL || strstr(key, "_tls13_") != NULL;
}

struct tls_setup *apply_new_tls(struct config *c)
{
	struct err why;
	struct tls_setup *const tls = tls_setup_new(c, &why);

	if (tls != NULL)
		return tls;
	log_error("%s", why.text);
	log_error("TLS setup failed: %s", why.text);
	log_error("TLS configuration could not be reloaded, keeping old "
	    "configuration");
	return NULL;
}
