/* reload.c - a new configuration: read, applied and swapped, or not at all.
 * SPDX-License-Identifier: ISC */
#include "app/reload.h"

#include <string.h>
#include <utlist.h>

#include "app/app.h"
#include "app/apply.h"
#include "app/notify.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "console/admin.h"
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

static void tell_line(enum log_level level, const char *line, struct told *t)
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
		tell_line(line->level, line->text, t);
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
			tell_line(LEVEL_ERROR, e->text, told);
	} else if (l->lines == NULL) {
		tell_line(LEVEL_ERROR, "out of memory", told);
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
static void forget(struct app *app, struct config **cp)
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
	forget(app, &l->prev);
	forget(app, &l->config);
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

