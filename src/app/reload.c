/* reload.c - a new configuration: read, applied and swapped, or not at all.
 * SPDX-License-Identifier: ISC */
#include "app/reload.h"

#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/idle.h"
#include "app/listener.h"
#include "app/notify.h"
#include "app/watch.h"
#include "app/workers.h"
#include "base/ceiling.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "broker/broker.h"
#include "conf/memory_limit.h"
#include "console/admin.h"
#include "http/http.h"
#include "io/dns.h"
#include "io/offload.h"
#include "login/auth_cache.h"
#include "login/peer.h"
#include "upstream/passwords.h"
#include "upstream/tls_setup.h"

const char *reload_path(const struct app *app)
{
	const char *const set = app->config->set.conffile;

	return set != NULL && set[0] != '\0' ? set : app->args.path;
}

static void begin_reload(struct app *app)
{
	app->reloads++;
	app->reload_again = false;
	memset(app->set_since, 0, sizeof app->set_since);
	const struct load_order order = {
		.path = reload_path(app), .prev = app->config,
	};

	if (load_start(&app->load, app->ss.offload, &order) == 0)
		return;
	/* no memory: nothing was read, and the result says no more */
	app->load.ready = true;
}

unsigned reload_start(struct app *app)
{
	if (!app->load.running && !app->load.ready) {
		begin_reload(app);
		return app->reloads;
	}
	app->reload_again = true;
	return app->reloads + 1;
}

#define REMARKS_MAX 4096	/* bytes of what does not prevent it */

/* What whoever asked for the reload is told; the log has it as well. */
struct told {
	struct text mistakes, remarks;
	char mistakes_buf[sizeof ((struct err *)0)->text];
	char remarks_buf[REMARKS_MAX];
};

static void told_init(struct told *t)
{
	text_init(&t->mistakes, t->mistakes_buf, sizeof t->mistakes_buf);
	text_init(&t->remarks, t->remarks_buf, sizeof t->remarks_buf);
}

static void reload_tell_line(enum log_level level, const char *line,
    struct told *t)
{
	log_at(level, NULL, "%s", line);
	if (level <= LEVEL_ERROR)
		text_addf(&t->mistakes, "%s%s", t->mistakes.len > 0 ? "\n" :
		    ERR_DETAIL, line);
	else if (level == LEVEL_WARNING)
		text_addf(&t->remarks, "%s%s", t->remarks.len > 0 ? "\n" : "",
		    line);
}

static void tell_lines(const struct load *l, struct told *t)
{
	const struct load_line *line;

	LL_FOREACH(l->lines, line)
		reload_tell_line(line->level, line->text, t);
	if (l->hidden > 0)
		log_error("%zu more problems are not shown", l->hidden);
}

/* What the new files lock is theirs, whatever SET changed meanwhile. */
static void drop_locked(struct app *app, const struct config *fresh)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	for (size_t i = 0; i < count; i++)
		app->set_since[i] = app->set_since[i] &&
		    !option_is_locked(rows[i].name, &fresh->set);
}

/*
 * What SET changed while the files were read is newer than they are: it
 * counts on top of them. A copy of l->config, and l->tls fits it; NULL with e.
 */
static struct config *with_sets(struct app *app, struct load *l,
    struct err *e)
{
	size_t count;
	const struct option_row *const rows = option_rows(&count);

	drop_locked(app, l->config);
	struct config *c = config_with_marked(l->config, app->config,
	    app->set_since, e);
	struct tls_setup *tls = NULL;
	bool about_tls = false;

	if (c == NULL)
		return NULL;
	for (size_t i = 0; i < count; i++)
		about_tls = about_tls || (app->set_since[i] &&
		    apply_is_about_tls(rows[i].name));
	if (about_tls)
		tls = apply_new_tls(c);
	/* the TLS of the files stays: the other settings must go with it */
	if (tls == NULL && tls_setup_check(c, e) < 0)
		config_unref(&c);
	if (tls != NULL) {
		tls_setup_free(&l->tls);
		l->tls = tls;
	}
	return c;
}

/* All of it, or nothing. 0, or -1 with e. */
static int apply(struct app *app, struct load *l, struct err *e)
{
	struct config *const fresh = l->prev == app->config ?
	    config_ref(l->config) : with_sets(app, l, e);
	struct tls_setup *const tls = l->tls;

	if (fresh == NULL)
		return -1;
	l->tls = NULL;
	if (apply_config(app, fresh, tls, e) < 0)
		return -1;
	config_unref(&app->loaded);
	app->loaded = config_ref(l->config);
	return 0;
}

/* And tell how it went. */
static int finish_reload(struct app *app, struct load *l, struct told *told,
    struct err *e)
{
	int rc = -1;

	told_init(told);
	tell_lines(l, told);
	if (l->config != NULL) {
		rc = apply(app, l, e);
		if (rc < 0)
			reload_tell_line(LEVEL_ERROR, e->text, told);
	} else if (l->lines == NULL) {
		reload_tell_line(LEVEL_ERROR, "out of memory", told);
	}
	if (rc < 0) {
		log_warning("config file loading failed");
		(void)err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "RELOAD failed, see logs for additional details%s",
		    told->mistakes_buf);
	}
	/* a rotated log file is let go all the same */
	apply_log(app);
	if (rc == 0)
		log_info("configuration reloaded");
	return rc;
}

/* The last that knows a configuration may be slow to let it go. */
static void reload_forget(struct app *app, struct config **cp)
{
	struct config *old = *cp;

	*cp = NULL;
	if (old == app->config)
		config_unref(&old);
	else if (old != NULL)
		load_forget(app->ss.offload, &old);
}

void reload_drop(struct app *app, struct load *l)
{
	reload_forget(app, &l->prev);
	reload_forget(app, &l->config);
	load_clear(l);
}

void reload_tick(struct app *app)
{
	const usec_t limit = app->config->set.reload_file_timeout;

	load_look(&app->load, app->ss.offload, limit);
	load_look(&app->trial, app->ss.offload, limit);
}

void reload_turn(struct app *app)
{
	const unsigned number = app->reloads;
	struct told told;
	struct err e;
	const int rc = finish_reload(app, &app->load, &told, &e);

	reload_drop(app, &app->load);
	/* a thread may have been lost to a file */
	apply_threads(app);
	if (app->reload_again)
		begin_reload(app);
	else if (app->manager_waits) {
		app->manager_waits = false;
		notify_ready();
	}
	admin_reloaded(&app->admin, number, rc == 0 ? NULL : &e,
	    told.remarks_buf);
}

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
#define GSS_SERVERS_QUEUE 1000	/* server_connect_timeout ends the wait */
#define CONFIG_QUEUE 10	/* one reading, and what it replaces */

/* What all workers may have together. */
static int reload_share(const struct app *app, int all)
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
	offload_limit(o, OFFLOAD_PAM, reload_share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_LDAP, reload_share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_GSS, reload_share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_OAUTH, reload_share(app, set->auth_threads),
	    set->auth_queue);
	offload_limit(o, OFFLOAD_GSS_SERVERS,
	    reload_share(app, set->auth_threads), GSS_SERVERS_QUEUE);
	offload_limit(o, OFFLOAD_CONFIG, 1 + (int)app->hung.count,
	    CONFIG_QUEUE);
	offload_limit(o, OFFLOAD_TLS_FILES, 1, 1);
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
	passwords_retry(app->ss.passwords);
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

/* Give each of the other workers its own of tls; all of them, or none: -1. */
static int share_tls(struct app *app, const struct tls_setup *tls)
{
	for (struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w)) {
		w->next_tls = tls_setup_share(tls);
		if (w->next_tls == NULL)
			return -1;
	}
	return 0;
}

/* Put in force what share_tls() gave, or free it. */
static void end_tls(struct app *app, bool use)
{
	for (struct app *w = workers_next(app); w != NULL;
	    w = workers_next(w)) {
		if (use && w->next_tls != NULL)
			put_tls_in_force(w, w->next_tls);
		else
			tls_setup_free(&w->next_tls);
		w->next_tls = NULL;
	}
}

int apply_tls(struct app *app, struct tls_setup *tls, struct err *e)
{
	int rc = -1;

	if (!workers_hold(app)) {
		tls_setup_free(&tls);
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "a worker does not answer");
	}
	if (share_tls(app, tls) == 0) {
		put_tls_in_force(app, tls);
		end_tls(app, true);
		http_apply(app->http);
		rc = 0;
	} else {
		end_tls(app, false);
		tls_setup_free(&tls);
		(void)err_nomem(e);
	}
	workers_let_go(app);
	return rc;
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
