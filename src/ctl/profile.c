/* profile.c - pgsluicectl profile: where the time goes.
 * SPDX-License-Identifier: ISC */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "ctl/command.h"
#include "ctl/perf_script.h"
#include "ctl/printable.h"
#include "ctl/profile_perf.h"
#include "ctl/profile_report.h"
#include "ctl/profile_target.h"
#include "ctl/terminal.h"

#define TIME (10 * USEC)	/* unless said otherwise */

struct profile {
	const struct ctl_options *options;
	struct profile_target target;
	struct profile_perf perf;
	struct profile_report report;
	char dir[4096];
};

/* A note for the waiting user, not part of the report. */
static void say_on_terminal(const struct profile *p)
{
	if (terminal_is_err())
		fprintf(stderr, "looking at process %d for %.1f s, Ctrl-C "
		    "ends it early ...\n", (int)p->target.pid,
		    (double)p->perf.time / (double)USEC);
}

static int read_back(struct profile *p, struct err *e)
{
	struct perf_script *const script = mem_zalloc(sizeof(*script));
	int rc;

	if (script == NULL)
		return err_nomem(e);
	script->stacks = &p->report.stacks;
	script->program = p->target.program;
	script->away = p->perf.off_cpu ? p->target.pid : 0;
	rc = profile_perf_read(&p->perf, script, e);
	mem_free(script);
	return rc;
}

/* Why nothing was seen: the process had nothing to do, or is gone. */
static int nothing_seen(const struct profile *p, struct err *e)
{
	const double seconds = (double)p->perf.took / (double)USEC;

	if (!profile_target_lives(&p->target))
		return err_set(e, ERRCODE_IO_ERROR, "process %d ended before "
		    "anything was seen of it", (int)p->target.pid);
	return err_set(e, ERRCODE_IO_ERROR, p->perf.off_cpu ?
	    "no samples: process %d never left the CPU and came back in %.1f s"
	    : "no samples: process %d did not run in %.1f s",
	    (int)p->target.pid, seconds);
}

static int record(struct profile *p, struct err *e)
{
	struct profile_report *const r = &p->report;
	struct text t;

	say_on_terminal(p);
	if (profile_perf_record(&p->perf, e) != 0 || read_back(p, e) != 0)
		return -1;
	if (r->stacks.weight == 0)
		return nothing_seen(p, e);
	stacks_sort(&r->stacks);
	r->took = p->perf.took;
	r->off_cpu = p->perf.off_cpu;
	text_init(&t, r->title, sizeof(r->title));
	text_addf(&t, "%s, process %d", p->target.program,
	    (int)p->target.pid);
	return 0;
}

static void print_notes(const struct profile *p)
{
	if (p->perf.interrupted)
		fprintf(stderr, "(ended early)\n");
	if (!profile_target_lives(&p->target))
		fprintf(stderr, "(the process has ended meanwhile)\n");
}

static int run(struct profile *p, struct err *e)
{
	const char *const out = p->options->output;

	if (profile_target_find(&p->target, p->options, e) != 0 ||
	    (out != NULL && profile_report_prepare(out, e) != 0))
		return -1;
	p->perf.pid = p->target.pid;
	p->perf.time = p->options->seconds > 0 ? p->options->seconds : TIME;
	p->perf.off_cpu = p->options->off_cpu;
	p->perf.dir = p->dir;
	if (profile_perf_open(p->dir, sizeof(p->dir), e) != 0)
		return -1;
	const int rc = record(p, e);

	profile_perf_close(p->dir);
	if (rc != 0)
		return -1;
	print_notes(p);
	profile_report_print(&p->report, stdout);
	return out != NULL ? profile_report_save(&p->report, out, e) : 0;
}

static int profile(const struct ctl_options *o, int argc, char **argv)
{
	struct profile p = { .options = o };
	struct err e = { .text = "" };

	(void)argc;
	(void)argv;
	const int rc = run(&p, &e);

	stacks_fini(&p.report.stacks);
	return rc != 0 ? ctl_fail("%s", e.text) : ctl_flush();
}

const struct ctl_command *profile_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "profile", NULL, "", "record for a while by perf where the "
		    "time goes, and print it\n      by reason and by function",
		    0, 0, profile, TAKES_CONFIG | TAKES_PROFILE },
		{ .group = NULL },
	};

	return commands;
}
