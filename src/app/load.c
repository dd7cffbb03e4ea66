/* load.c - the files of the configuration, read by a helper thread.
 *
 * 20,000 databases and 100,000 users take longer than anybody may be kept
 * waiting: reading them, and freeing what they replace.
 * SPDX-License-Identifier: ISC */
#include "app/load.h"

#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/mem.h"
#include "conf/config.h"
#include "io/offload.h"
#include "session/tls_setup.h"

#define LINES_MAX 1000		/* a file of mistakes must not fill the log */

struct job {
	struct offload_job job;
	struct load *load;	/* borrowed: the result goes there */
	struct load result;
	struct load_line *last;	/* of its lines */
	size_t count;
	char *path;		/* owned */
};

static struct job *job_of(struct offload_job *j)
{
	return (struct job *)((char *)j - offsetof(struct job, job));
}

/* --- on the thread --- */

static void on_problem(void *arg, enum log_level level, const char *text)
{
	struct job *const j = arg;
	const size_t size = strlen(text) + 1;
	struct load_line *const line = j->count >= LINES_MAX ? NULL :
	    mem_alloc(sizeof *line + size);

	if (line == NULL) {
		j->result.hidden++;
		return;
	}
	line->next = NULL;
	line->level = level;
	memcpy(line->text, text, size);
	if (j->last != NULL)
		j->last->next = line;
	else
		j->result.lines = line;
	j->last = line;
	j->count++;
}

static void read_files(struct offload_job *oj)
{
	struct job *const j = job_of(oj);
	struct load *const l = &j->result;
	struct err why;

	l->config = config_load(j->path, l->prev, on_problem, j, &why);
	if (l->config == NULL)
		return;
	l->tls = tls_setup_new(l->config, &why);
	if (l->tls != NULL)
		return;
	on_problem(j, LEVEL_ERROR, why.text);
	on_problem(j, LEVEL_ERROR, "TLS configuration could not be "
	    "reloaded, keeping old configuration");
	config_unref(&l->config);
}

/* --- on the loop --- */

static void give_result(struct offload_job *oj)
{
	struct job *const j = job_of(oj);

	*j->load = j->result;
	j->load->ready = true;
	j->result = (struct load){ .running = false };
}

static void free_job(struct offload_job *oj)
{
	struct job *const j = job_of(oj);

	load_clear(&j->result);
	mem_free(j->path);
	mem_free(j);
}

static const struct offload_ops reading = {
	.work = read_files, .done = give_result, .free = free_job,
};

/* Where no thread can be had it takes the time it takes. */
static void run(struct offload *o, struct offload_job *j)
{
	if (o != NULL && offload_submit(o, OFFLOAD_CONFIG, j) == OFFLOAD_TAKEN)
		return;
	j->ops->work(j);
	j->ops->done(j);
	j->ops->free(j);
}

int load_start(struct load *l, struct offload *o, const char *path,
    struct config *prev)
{
	struct job *const j = mem_zalloc(sizeof *j);

	if (j == NULL)
		return -1;
	j->path = mem_strdup(path);
	if (j->path == NULL) {
		mem_free(j);
		return -1;
	}
	j->job.ops = &reading;
	j->load = l;
	j->result.prev = config_ref(prev);
	l->running = true;
	run(o, &j->job);
	return 0;
}

void load_clear(struct load *l)
{
	struct load_line *line, *next;

	tls_setup_free(&l->tls);
	config_unref(&l->config);
	config_unref(&l->prev);
	LL_FOREACH_SAFE(l->lines, line, next)
		mem_free(line);
	*l = (struct load){ .running = false };
}

/* --- what is done with --- */

struct old {
	struct offload_job job;
	struct config *config;	/* counted */
};

static void forget(struct offload_job *j)
{
	struct old *const o =
	    (struct old *)((char *)j - offsetof(struct old, job));

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
	mem_free((char *)j - offsetof(struct old, job));
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
	run(o, &old->job);
}
