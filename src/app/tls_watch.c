/* tls_watch.c - certificates that change on disk are read again.
 * SPDX-License-Identifier: ISC */
#include "app/tls_watch.h"

#include <string.h>

#include "app/app.h"
#include "app/reload.h"
#include "base/container.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "console/handover.h"
#include "io/offload.h"

#define LOOK USEC		/* between two looks */

/* A look at the files, and what is read if they are others. */
struct look {
	struct offload_job job;
	struct app *app;		/* borrowed; not for the thread */
	struct config *config;		/* counted: which names them */
	uint8_t known[TLS_PRINT];	/* what is in force */
	bool has_failed;		/* so did these: */
	uint8_t failed[TLS_PRINT];
	uint8_t before[TLS_PRINT];	/* what the last look found */
	uint8_t print[TLS_PRINT];	/* what is there, if it was seen */
	bool seen;
	bool changing;			/* they differ from those of the last look */
	bool tried;			/* the files stayed the same meanwhile */
	struct tls_setup *tls;		/* owned; NULL: why says why, if tried */
	struct err why;
};

/* --- on a thread --- */

static bool is_print(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, TLS_PRINT) == 0;
}

static void look(struct offload_job *j)
{
	struct look *const l = container_of(j, struct look, job);

	uint8_t behind[TLS_PRINT];

	l->seen = tls_setup_print(l->config, l->print) == 0;
	if (!l->seen || is_print(l->print, l->known) ||
	    (l->has_failed && is_print(l->print, l->failed)))
		return;
	/* half of a list of authorities is one, too: nobody may be writing */
	l->changing = !is_print(l->print, l->before);
	if (l->changing)
		return;
	l->tls = tls_setup_new(l->config, &l->why);
	l->tried = tls_setup_print(l->config, behind) == 0 &&
	    is_print(behind, l->print);
}

/* --- on the loop --- */

static void take(struct look *l)
{
	struct tls_watch *const w = &l->app->tls_watch;

	if (l->tls == NULL) {
		log_warning("TLS files have changed on disk and cannot be used "
		    "as they are, the old ones stay in use: %s", l->why.text);
		memcpy(w->failed_print, l->print, sizeof l->print);
		w->failed = true;
		return;
	}
	struct tls_setup *const tls = l->tls;

	l->tls = NULL;
	/* the next look finds the same, and tries again */
	if (apply_tls(l->app, tls, &l->why) < 0) {
		log_warning("TLS files have changed on disk and are not in "
		    "force yet: %s", l->why.text);
		return;
	}
	w->failed = false;
	log_info("TLS files have changed on disk and were read again");
}

static void looked(struct offload_job *j)
{
	struct look *const l = container_of(j, struct look, job);

	if (l->seen)
		memcpy(l->app->tls_watch.seen_print, l->print,
		    sizeof l->print);
	if (l->changing)
		log_at(LEVEL_DEBUG, NULL, "TLS files have changed on disk; they "
		    "are read when a second look finds them the same");
	/* a reload has read them anew, or others */
	if (l->tried && l->config == l->app->config &&
	    !handover_is_on(&l->app->admin))
		take(l);
}

static void free_look(struct offload_job *j)
{
	struct look *const l = container_of(j, struct look, job);

	l->app->tls_watch.looking = false;
	tls_setup_free(&l->tls);
	config_unref(&l->config);
	mem_free(l);
}

static void begin(struct app *app)
{
	static const struct offload_ops ops = {
		.work = look, .done = looked, .free = free_look,
	};
	const struct tls_watch *const w = &app->tls_watch;
	struct look *const l = mem_zalloc(sizeof *l);

	if (l == NULL)
		return;
	l->job.ops = &ops;
	l->app = app;
	l->config = config_ref(app->config);
	memcpy(l->known, app->ss.tls->print, sizeof l->known);
	l->has_failed = w->failed;
	memcpy(l->failed, w->failed_print, sizeof l->failed);
	memcpy(l->before, w->seen_print, sizeof l->before);
	app->tls_watch.looking = true;
	if (offload_submit(app->ss.offload, OFFLOAD_TLS_FILES, &l->job) !=
	    OFFLOAD_TAKEN)
		free_look(&l->job);
}

void tls_watch_tick(struct app *app, usec_t now)
{
	struct tls_watch *const w = &app->tls_watch;

	if (app->first != NULL || w->looking || now - w->looked_at < LOOK ||
	    app->config->set.tls_reload == TLS_RELOAD_OFF ||
	    app->load.running || app->load.ready ||
	    handover_is_on(&app->admin))
		return;
	w->looked_at = now;
	begin(app);
}
