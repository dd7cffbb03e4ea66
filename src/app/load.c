/* load.c - the files of the configuration, read by a helper thread.
 *
 * 20,000 databases and 100,000 users take longer than anybody may be kept
 * waiting: reading them, and freeing what they replace.
 * SPDX-License-Identifier: ISC */
#include "app/load.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "conf/config_load.h"
#include "io/offload.h"
#include "upstream/tls_setup.h"

#define LINES_MAX 1000		/* a file of mistakes must not fill the log */

struct load_job {
	struct offload_job job;
	struct load *load;	/* borrowed: the result goes there */
	struct load result;
	struct load_line *last;	/* of its lines */
	size_t count;
	char *path;		/* owned */
	char *key, *value;	/* owned: tried; or NULL */
	struct input_watch watch;
	char stuck_at[PATH_MAX];	/* the file, when it was given up; "" */
};

static struct load_job *job_of(struct offload_job *j)
{
	return container_of(j, struct load_job, job);
}

/* --- on the thread --- */

/* NULL: no memory. */
static struct load_line *line_new(enum log_level level, const char *text)
{
	const size_t size = strlen(text) + 1;
	struct load_line *const line = mem_alloc(sizeof *line + size);

	if (line == NULL)
		return NULL;
	line->next = NULL;
	line->level = level;
	memcpy(line->text, text, size);
	return line;
}

static void load_on_problem(void *arg, enum log_level level, const char *text)
{
	struct load_job *const j = arg;
	struct load_line *const line = j->count >= LINES_MAX ? NULL :
	    line_new(level, text);

	if (line == NULL) {
		j->result.hidden++;
		return;
	}
	if (j->last != NULL)
		j->last->next = line;
	else
		j->result.lines = line;
	j->last = line;
	j->count++;
}

static void on_tls_problem(struct load_job *j, const struct err *why)
{
	char line[sizeof why->text + 32];

	load_on_problem(j, LEVEL_ERROR, why->text);
	snprintf(line, sizeof line, "TLS setup failed: %s", why->text);
	load_on_problem(j, LEVEL_ERROR, line);
}

static void load_read_all(struct load_job *j)
{
	struct load *const l = &j->result;
	struct err why;

	l->config = config_load_with(&(struct config_order){
		.path = j->path, .prev = l->prev, .report = load_on_problem,
		.arg = j, .key = j->key, .value = j->value }, &why);
	if (l->config == NULL)
		return;
	l->tls = tls_setup_new(l->config, &why);
	if (l->tls != NULL)
		return;
	on_tls_problem(j, &why);
	load_on_problem(j, LEVEL_ERROR, "TLS configuration could not be "
	    "reloaded, keeping old configuration");
	config_unref(&l->config);
}

static void read_files(struct offload_job *oj)
{
	struct load_job *const j = job_of(oj);

	input_watch_set(&j->watch);
	load_read_all(j);
	input_watch_end();
	input_watch_set(NULL);
}

/* --- on the loop --- */

static void set_ready(struct load *to, const struct load *result)
{
	to->running = false;
	to->ready = true;
	to->config = result->config;
	to->prev = result->prev;
	to->tls = result->tls;
	to->lines = result->lines;
	to->hidden = result->hidden;
	to->job = NULL;
}

static void give_result(struct offload_job *oj)
{
	struct load_job *const j = job_of(oj);

	set_ready(j->load, &j->result);
	j->result = (struct load){ .running = false };
}

/* A load that was given up is back. */
static void forget_hung(struct load_job *j)
{
	struct load_hung *const h = j->load->hung;
	unsigned n = 0;

	while (n < h->count && h->at[n] != j)
		n++;
	if (n == h->count)
		return;
	h->at[n] = h->at[--h->count];
	log_info("%s has been read after all, the next reload can take it",
	    j->stuck_at);
}

static void free_strings(struct load_job *j)
{
	mem_free(j->path);
	mem_free(j->key);
	if (j->value != NULL)
		secret_wipe(j->value, strlen(j->value));
	mem_free(j->value);
}

static void load_free_job(struct offload_job *oj)
{
	struct load_job *const j = job_of(oj);

	forget_hung(j);
	input_watch_fini(&j->watch);
	load_clear(&j->result);
	free_strings(j);
	mem_free(j);
}

static const struct offload_ops reading = {
	.work = read_files, .done = give_result, .free = load_free_job,
};

static bool load_submit(struct offload *o, struct offload_job *j)
{
	return o != NULL &&
	    offload_submit(o, OFFLOAD_CONFIG, j) == OFFLOAD_TAKEN;
}

/* Nothing is read: the result is why. j has no thread. */
static void load_refuse(struct load_job *j, const char *why)
{
	load_on_problem(j, LEVEL_ERROR, why);
	give_result(&j->job);
	load_free_job(&j->job);
}

/* Two readers hang there: a third would be lost as they are. NULL: none. */
static const char *barred_path(const struct load_hung *h)
{
	for (unsigned i = 1; i < h->count; i++)
		for (unsigned k = 0; k < i; k++)
			if (strcmp(h->at[i]->stuck_at,
			    h->at[k]->stuck_at) == 0)
				return h->at[i]->stuck_at;
	return NULL;
}

static void still_reading(const char *path, char *line, size_t size)
{
	snprintf(line, size, "reload still reading %s", path);
}

/* NULL: no memory. */
static struct load_job *job_new(const struct load_order *what)
{
	struct load_job *const j = mem_zalloc(sizeof *j);

	if (j == NULL)
		return NULL;
	j->path = mem_strdup(what->path);
	if (what->key != NULL) {
		j->key = mem_strdup(what->key);
		j->value = mem_strdup(what->value);
	}
	if (j->path == NULL ||
	    (what->key != NULL && (j->key == NULL || j->value == NULL))) {
		free_strings(j);
		mem_free(j);
		return NULL;
	}
	return j;
}

int load_start(struct load *l, struct offload *o,
    const struct load_order *what)
{
	struct load_job *const j = job_new(what);
	char line[PATH_MAX + 64];

	if (j == NULL)
		return -1;
	j->job.ops = &reading;
	j->load = l;
	j->result.prev = config_ref(what->prev);
	input_watch_init(&j->watch, barred_path(l->hung));
	l->running = true;
	l->job = j;
	l->steps = 0;
	l->still = 0;
	if (l->hung->count == LOAD_HUNG_MAX) {
		still_reading(l->hung->at[0]->stuck_at, line, sizeof line);
		load_refuse(j, line);
	} else if (!load_submit(o, &j->job)) {
		load_refuse(j, "no thread can be started to read the files");
	}
	return 0;
}

static void load_give_up(struct load *l, struct offload *o)
{
	struct load_job *const j = l->job;
	char line[PATH_MAX + 64];

	still_reading(j->stuck_at, line, sizeof line);
	l->hung->at[l->hung->count++] = j;
	offload_cancel(o, &j->job);
	/* the job's own lines are the thread's */
	set_ready(l, &(struct load){
		.lines = line_new(LEVEL_ERROR, line) });
}

void load_look(struct load *l, struct offload *o, usec_t limit)
{
	unsigned long steps;

	if (!l->running || limit == 0 ||
	    !input_watch_look(&l->job->watch, l->job->stuck_at, &steps))
		return;
	l->still = steps == l->steps ? l->still + LOAD_LOOK : 0;
	l->steps = steps;
	if (l->still >= limit)
		load_give_up(l, o);
}

void load_clear(struct load *l)
{
	struct load_line *line, *next;

	tls_setup_free(&l->tls);
	config_unref(&l->config);
	config_unref(&l->prev);
	LL_FOREACH_SAFE(l->lines, line, next)
		mem_free(line);
	l->lines = NULL;
	l->hidden = 0;
	l->running = l->ready = false;
}

/* --- what is done with --- */

struct old {
	struct offload_job job;
	struct config *config;	/* counted */
};

static void forget(struct offload_job *j)
{
	struct old *const o = container_of(j, struct old, job);

	config_unref(&o->config);
}

static void nothing_to_tell(struct offload_job *j)
{
	(void)j;
}

static void free_old(struct offload_job *j)
{
	/* without its thread it still has to be done */
	forget(j);
	mem_free(container_of(j, struct old, job));
}

static const struct offload_ops forgetting = {
	.work = forget, .done = nothing_to_tell, .free = free_old,
};

void load_forget(struct offload *o, struct config **c)
{
	struct old *const old = mem_zalloc(sizeof *old);

	if (old == NULL) {
		config_unref(c);
		return;
	}
	old->job.ops = &forgetting;
	old->config = *c;
	*c = NULL;
	/* without a thread it takes the time it takes */
	if (!load_submit(o, &old->job))
		free_old(&old->job);
}
