/* set.c - SET, SET PERSIST: settings of the configuration in force change.
 * SPDX-License-Identifier: ISC */
#include "app/set.h"

#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/reload.h"
#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "conf/persist.h"
#include "console/admin.h"
#include "io/offload.h"
#include "upstream/tls_setup.h"

static int set_check_lock(const struct app *app, const char *key, struct err *e)
{
	if (!option_is_locked(key, &app->config->set))
		return 0;
	return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "%s can't be changed from the console (console_locked_settings)",
	    key);
}

int set_try(const struct app *app, const char *key, const char *value,
    struct err *e)
{
	struct config *tried;

	if (set_check_lock(app, key, e) < 0)
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
		return "this setting is read only at the start, so the present "
		    "value stays";
	if (apply_is_about_tls(key) && tls == NULL)
		return "TLS settings could not be applied, still using old "
		    "configuration";
	return "";
}

int set_now(struct app *app, const char *key, const char *value,
    struct err *e)
{
	const struct settings *set = &app->config->set;
	const int verbose = set->verbose, syslog = set->syslog,
	    format = set->log_format;
	struct config *fresh = set_check_lock(app, key, e) < 0 ? NULL :
	    config_with(app->config, key, value, e);
	struct tls_setup *tls = NULL;

	if (fresh == NULL)
		return -1;
	if (apply_is_about_tls(key)) {
		tls = apply_new_tls(fresh);
	} else if (tls_setup_is_asked_for(key) &&
	    tls_setup_check(fresh, e) < 0) {
		config_unref(&fresh);
		return -1;
	}
	if (apply_config(app, fresh, tls, e) < 0)
		return -1;
	app->set_since[option_index(key)] = true;
	/* key and certificate are changed one after the other */
	err_set(e, ERRCODE_SUCCESSFUL_COMPLETION, "%s", why_without_effect(key,
	    tls));
	set = &app->config->set;
	if (set->verbose != verbose || set->syslog != syslog ||
	    set->log_format != format)
		apply_log(app);
	return 0;
}

/*
 * All that a reload reads is read with the new value, by a thread; then another
 * one writes the value down, and then only it is put in force.
 */

#define WAITING_MAX 100		/* consoles that wait for an answer, or have left */

/* One that was asked for; the first is being tried, and then written. */
struct set_persisting {
	struct set_persisting *next;
	struct persist_entry entry;	/* its strings are owned */
	unsigned number;
	enum { TRIED, BEING_WRITTEN, WRITTEN } state;
	struct err why;			/* it is WRITTEN, or not */
	int rc;
};

/* The thread's, which may never come back from a disk. */
struct writing {
	struct offload_job job;
	struct app *app;		/* borrowed; the loop's */
	struct set_persisting *p;	/* its own copy */
	char *path;			/* owned */
};

static void wipe(const char *text)
{
	char *const owned = (char *)text;

	if (owned != NULL)
		secret_wipe(owned, strlen(owned));
	mem_free(owned);
}

static void persisting_free(struct set_persisting *p)
{
	wipe(p->entry.key);
	wipe(p->entry.value);
	wipe(p->entry.by);
	mem_free(p);
}

static struct set_persisting *persisting_new(const struct persist_entry *entry)
{
	struct set_persisting *const p = mem_zalloc(sizeof *p);

	if (p == NULL)
		return NULL;
	p->entry.key = mem_strdup(entry->key);
	p->entry.value = mem_strdup(entry->value);
	p->entry.by = mem_strdup(entry->by);
	if (p->entry.key != NULL && p->entry.value != NULL &&
	    p->entry.by != NULL)
		return p;
	persisting_free(p);
	return NULL;
}

/* Nothing else is told: what was loaded does not come into force. */
static void tell_errors(const struct load *l, struct err *e)
{
	char lines[sizeof e->text] = "";
	const struct load_line *line;
	struct text t;

	text_init(&t, lines, sizeof lines);
	LL_FOREACH(l->lines, line) {
		if (line->level <= LEVEL_ERROR)
			text_addf(&t, "%s%s", t.len > 0 ? "\n" : ERR_DETAIL,
			    line->text);
	}
	if (t.len == 0)
		text_add(&t, ERR_DETAIL "out of memory");
	(void)err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
	    "SET failed: the configuration can't be loaded with this value%s",
	    lines);
}

static void set_begin(struct app *app)
{
	const struct persist_entry *const entry = &app->persisting->entry;
	/* with this one it is another file that a reload reads */
	const bool moves = strcmp(entry->key, "conffile") == 0;
	const struct load_order order = {
		.path = moves ? entry->value : reload_path(app),
		.prev = app->config,
		.key = moves ? NULL : entry->key,
		.value = entry->value,
	};

	apply_threads(app);
	/* no memory: nothing was read, and the result says no more */
	if (load_start(&app->trial, app->ss.offload, &order) < 0)
		app->trial.ready = true;
}

unsigned set_persist(struct app *app, const struct persist_entry *entry,
    struct err *e)
{
	struct set_persisting *p;
	int waiting;

	if (set_try(app, entry->key, entry->value, e) < 0)
		return 0;
	LL_COUNT(app->persisting, p, waiting);
	p = waiting < WAITING_MAX ? persisting_new(entry) : NULL;
	if (p == NULL) {
		(void)err_set(e, ERRCODE_OUT_OF_MEMORY, waiting < WAITING_MAX ?
		    "out of memory" : "too many settings are being written");
		return 0;
	}
	if (++app->persists == 0)
		app->persists = 1;
	p->number = app->persists;
	LL_APPEND(app->persisting, p);
	if (app->persisting == p)
		set_begin(app);
	return p->number;
}

/* --- writing --- */

static struct writing *writing_of(struct offload_job *j)
{
	return container_of(j, struct writing, job);
}

static void set_work(struct offload_job *j)
{
	struct writing *const w = writing_of(j);

	w->p->rc = persist_set(w->path, &w->p->entry, &w->p->why);
}

static void set_done(struct offload_job *j)
{
	const struct writing *const w = writing_of(j);
	struct set_persisting *const p = w->app->persisting;

	p->state = WRITTEN;
	p->rc = w->p->rc;
	p->why = w->p->why;
}

static void set_free_job(struct offload_job *j)
{
	struct writing *const w = writing_of(j);

	if (w->p != NULL)
		persisting_free(w->p);
	mem_free(w->path);
	mem_free(w);
}

static const struct offload_ops writes = {
	.work = set_work, .done = set_done, .free = set_free_job,
};

/* Without a thread it is written now. */
static int start_writing(struct app *app, struct err *e)
{
	struct set_persisting *const p = app->persisting;
	struct writing *const w = mem_zalloc(sizeof *w);

	if (w == NULL)
		return err_nomem(e);
	w->job.ops = &writes;
	w->app = app;
	w->p = persisting_new(&p->entry);
	w->path = mem_strdup(reload_path(app));
	if (w->p == NULL || w->path == NULL) {
		set_free_job(&w->job);
		return err_nomem(e);
	}
	p->state = BEING_WRITTEN;
	if (offload_submit(app->ss.offload, OFFLOAD_PERSIST, &w->job) ==
	    OFFLOAD_TAKEN)
		return 0;
	set_work(&w->job);
	set_done(&w->job);
	set_free_job(&w->job);
	return 0;
}

/* --- */

/* One step; 0, or -1 with e. */
static int set_go_on(struct app *app, struct err *e)
{
	struct set_persisting *const p = app->persisting;

	if (p->state == WRITTEN) {
		*e = p->why;
		return p->rc < 0 ? -1 :
		    set_now(app, p->entry.key, p->entry.value, e);
	}
	if (app->trial.config == NULL) {
		tell_errors(&app->trial, e);
		return -1;
	}
	/* a lock may have come meanwhile */
	if (set_try(app, p->entry.key, p->entry.value, e) < 0)
		return -1;
	return start_writing(app, e);
}

bool set_persist_is_due(const struct app *app)
{
	return app->trial.ready || (app->persisting != NULL &&
	    app->persisting->state == WRITTEN);
}

void set_persist_turn(struct app *app)
{
	struct set_persisting *const p = app->persisting;
	const bool written = p->state == WRITTEN;
	struct err e = { .text = "" };
	const int rc = set_go_on(app, &e);

	if (!written)
		reload_drop(app, &app->trial);
	if (rc == 0 && !written)
		return;
	LL_DELETE(app->persisting, p);
	if (app->persisting != NULL)
		set_begin(app);
	admin_persisted(&app->admin, p->number, &(struct admin_persist){
		.entry = &p->entry, .failed = rc < 0, .why = &e });
	persisting_free(p);
}

void set_persist_fini(struct app *app)
{
	struct set_persisting *p, *next;

	LL_FOREACH_SAFE(app->persisting, p, next)
		persisting_free(p);
	app->persisting = NULL;
	load_clear(&app->trial);
}
