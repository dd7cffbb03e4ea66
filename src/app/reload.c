/* reload.c - a new configuration: read, applied and swapped, or not at all.
 * SPDX-License-Identifier: ISC */
#include "app/app.h"

#include <string.h>
#include <utlist.h>

#include "app/idle.h"
#include "app/listener.h"
#include "app/notify.h"
#include "base/err.h"
#include "base/errcodes.h"
#include "base/log.h"
#include "base/text.h"
#include "console/admin.h"
#include "io/dns.h"
#include "io/offload.h"
#include "session/broker.h"
#include "session/peer.h"
#include "session/tls_setup.h"

void app_log_setup(const struct app *app)
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
#define NAMES_THREADS 4
#define NAMES_QUEUE 1000
#define CONFIG_QUEUE 10	/* one reading, and what it replaces */

void app_limit_threads(const struct app *app)
{
	const struct settings *const set = &app->config->set;
	struct offload *const o = app->ss.offload;

	offload_limit(o, OFFLOAD_DERIVE, DERIVE_THREADS, DERIVE_QUEUE);
	offload_limit(o, OFFLOAD_TYPED, DERIVE_THREADS, DERIVE_QUEUE);
	offload_limit(o, OFFLOAD_NAMES, NAMES_THREADS, NAMES_QUEUE);
	offload_limit(o, OFFLOAD_PAM, set->auth_threads, set->auth_queue);
	offload_limit(o, OFFLOAD_LDAP, set->auth_threads, set->auth_queue);
	offload_limit(o, OFFLOAD_CONFIG, 1 + (int)app->hung.count,
	    CONFIG_QUEUE);
}

void app_mock_setup(struct app *app)
{
	const struct mock *const m = &app->config->mock;

	app->ss.mock_shape = m->shape;
	if (m->seeded)
		memcpy(app->ss.mock_salt, m->seed, sizeof m->seed);
}

void app_dns_setup(const struct app *app)
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

/* Takes fresh, and tls, which is NULL when nothing of it has changed. */
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
	app_limit_threads(app);
	app_dns_setup(app);
	app_mock_setup(app);
	idle_reset(app->idle);
	listener_retune_all(app);
	/* larger limits: look at all pools again */
	struct pool *p, *next;
	HASH_ITER(hh, app->catalog->pools, p, next)
		broker_touch(&app->ss, p);
	return 0;
}

const char *app_file_to_read(const struct app *app)
{
	const char *const set = app->config->set.conffile;

	return set != NULL && set[0] != '\0' ? set : app->args.path;
}

/* --- RELOAD --- */

static void begin_reload(struct app *app)
{
	app->reloads++;
	app->reload_again = false;
	memset(app->set_since, 0, sizeof app->set_since);
	const struct load_order order = {
		.path = app_file_to_read(app), .prev = app->config,
	};

	if (load_start(&app->load, app->ss.offload, &order) == 0)
		return;
	/* no memory: nothing was read, and the result says no more */
	app->load.ready = true;
}

unsigned app_reload(struct app *app)
{
	if (!app->load.running && !app->load.ready) {
		begin_reload(app);
		return app->reloads;
	}
	app->reload_again = true;
	return app->reloads + 1;
}

/* To the log, and a mistake to whoever asked as well: told. */
static void tell_line(enum log_level level, const char *line,
    struct text *told)
{
	log_at(level, NULL, "%s", line);
	if (level <= LEVEL_ERROR)
		text_addf(told, "%s%s", told->len > 0 ? "\n" : ERR_DETAIL,
		    line);
}

static void tell_lines(const struct load *l, struct text *told)
{
	const struct load_line *line;

	LL_FOREACH(l->lines, line)
		tell_line(line->level, line->text, told);
	if (l->hidden > 0)
		log_error("%zu more problems are not shown", l->hidden);
}

/* (spec/admin-console.md section 4.11) */
static bool is_about_tls(const char *key)
{
	return strstr(key, "_tls_") != NULL || strstr(key, "_tls13_") != NULL;
}

static struct tls_setup *make_tls(struct config *c)
{
	struct err why;
	struct tls_setup *const tls = tls_setup_new(c, &why);

	if (tls != NULL)
		return tls;
	log_error("%s", why.text);
	log_error("TLS configuration could not be reloaded, keeping old "
	    "configuration");
	return NULL;
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
		    is_about_tls(rows[i].name));
	if (about_tls)
		tls = make_tls(c);
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
	if (put_in_force(app, fresh, tls, e) < 0)
		return -1;
	config_unref(&app->loaded);
	app->loaded = config_ref(l->config);
	return 0;
}

/* And tell how it went. */
static int finish_reload(struct app *app, struct load *l, struct err *e)
{
	char lines[sizeof e->text] = "";
	struct text told;
	int rc = -1;

	text_init(&told, lines, sizeof lines);
	tell_lines(l, &told);
	if (l->config != NULL) {
		rc = apply(app, l, e);
		if (rc < 0)
			tell_line(LEVEL_ERROR, e->text, &told);
	} else if (l->lines == NULL) {
		tell_line(LEVEL_ERROR, "out of memory", &told);
	}
	if (rc < 0) {
		log_warning("config file loading failed");
		(void)err_set(e, ERRCODE_CONFIG_FILE_ERROR,
		    "RELOAD failed, see logs for additional details%s", lines);
	}
	/* a rotated log file is let go all the same */
	app_log_setup(app);
	if (rc == 0)
		log_info("configuration reloaded");
	return rc;
}

/* The last that knows a configuration may be slow to let it go. */
static void forget(struct app *app, struct config **cp)
{
	struct config *old = *cp;

	*cp = NULL;
	if (old == app->config)
		config_unref(&old);
	else if (old != NULL)
		load_forget(app->ss.offload, &old);
}

void app_drop_load(struct app *app, struct load *l)
{
	forget(app, &l->prev);
	forget(app, &l->config);
	load_clear(l);
}

void app_reload_tick(struct app *app)
{
	const usec_t limit = app->config->set.reload_file_timeout;

	load_look(&app->load, app->ss.offload, limit);
	load_look(&app->trial, app->ss.offload, limit);
}

void app_reload_turn(struct app *app)
{
	const unsigned number = app->reloads;
	struct err e;

	if (!app->load.ready)
		return;
	const int rc = finish_reload(app, &app->load, &e);

	app_drop_load(app, &app->load);
	/* a thread may have been lost to a file */
	app_limit_threads(app);
	if (app->reload_again)
		begin_reload(app);
	else if (app->manager_waits) {
		app->manager_waits = false;
		notify_ready();
	}
	admin_reloaded(&app->admin, number, rc == 0 ? NULL : &e);
}

/* --- SET --- */

static int check_lock(const struct app *app, const char *key, struct err *e)
{
	if (!option_is_locked(key, &app->config->set))
		return 0;
	return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "%s can't be changed from the console (console_locked_settings)",
	    key);
}

int app_try_set(const struct app *app, const char *key, const char *value,
    struct err *e)
{
	struct config *tried;

	if (check_lock(app, key, e) < 0)
		return -1;
	tried = config_with(app->config, key, value, e);
	if (tried == NULL)
		return -1;
	config_unref(&tried);
	return 0;
}

/* Of a value that is right; "" when it is in force. */
static const char *why_without_effect(const char *key,
    const struct tls_setup *tls)
{
	if (option_find(key)->effect == OPT_START)
		return "this setting is read at the start only, the value in "
		    "force stays";
	if (is_about_tls(key) && tls == NULL)
		return "TLS settings could not be applied, still using old "
		    "configuration";
	return "";
}

int app_set(struct app *app, const char *key, const char *value,
    struct err *e)
{
	const struct settings *set = &app->config->set;
	const int verbose = set->verbose, syslog = set->syslog,
	    format = set->log_format;
	struct config *fresh = check_lock(app, key, e) < 0 ? NULL :
	    config_with(app->config, key, value, e);
	struct tls_setup *tls = NULL;

	if (fresh == NULL)
		return -1;
	if (is_about_tls(key)) {
		tls = make_tls(fresh);
	} else if (tls_setup_is_asked_for(key) &&
	    tls_setup_check(fresh, e) < 0) {
		config_unref(&fresh);
		return -1;
	}
	if (put_in_force(app, fresh, tls, e) < 0)
		return -1;
	app->set_since[option_index(key)] = true;
	/* key and certificate are changed one after the other */
	err_set(e, ERRCODE_SUCCESSFUL_COMPLETION, "%s", why_without_effect(key,
	    tls));
	set = &app->config->set;
	if (set->verbose != verbose || set->syslog != syslog ||
	    set->log_format != format)
		app_log_setup(app);
	return 0;
}
