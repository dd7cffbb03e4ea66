/* program.c - the commands that are other programs: check, and those in Python.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "conf/options.h"
#include "ctl/command.h"
#include "ctl/place.h"

#define MAIN "/__main__.py"
#define ARGS_MAX 64

/* Returns only when the program name cannot be run. */
static int run_program(const char *name, char *const *words)
{
	const char *const other = getenv("PGSLUICECTL_LIBEXEC");
	char path[PATH_MAX];
	/* of no folder but its own are modules taken, and none is written */
	const char *args[ARGS_MAX + 1] = { "python3", "-IB", "-X", "utf8",
		path };
	struct text t;

	text_init(&t, path, sizeof path);
	text_addf(&t, "%s/%s", other != NULL ? other : PKGLIBEXECDIR, name);
	const size_t len = t.len;

	text_add(&t, MAIN);
	if (t.cut || access(path, R_OK) != 0)
		return ctl_fail("%s is not installed: could not read %s: %s",
		    name, path, strerror(t.cut ? ENAMETOOLONG : errno));
	path[len] = '\0';
	for (size_t n = 5; *words != NULL; n++) {
		if (n == ARGS_MAX)
			return ctl_fail("too many arguments");
		args[n] = *words++;
	}
	execvp(args[0], (char *const *)args);
	return ctl_fail("%s needs Python 3.11 or newer: could not run "
	    "python3: %s", name, strerror(errno));
}

static int convert(const struct ctl_options *o, int argc, char **argv)
{
	(void)o;
	(void)argc;
	return run_program("convert", argv);
}

/* Pairs of a name and a value; a NULL behind them. */
struct words {
	char *at[16];
	size_t count;
};

static void add_words(struct words *w, const char *name, const char *value)
{
	if (value == NULL)
		return;
	w->at[w->count++] = (char *)name;
	w->at[w->count++] = (char *)value;
}

/* The process is that of the pidfile that --config names. */
static int read_pidfile(const struct ctl_options *o, struct settings *set)
{
	struct err e;

	if (o->config == NULL || o->pid != 0)
		return CTL_OK;
	if (place_read(o->config, set, &e) != 0)
		return ctl_fail("%s", e.text);
	return set->pidfile[0] != '\0' ? CTL_OK :
	    ctl_fail("%s sets no pidfile: say which process by --pid",
	    o->config);
}

static int profile(const struct ctl_options *o, int argc, char **argv)
{
	struct settings set = { 0 };
	struct words w = { .count = 0 };
	char pid[16], seconds[32];
	int rc = read_pidfile(o, &set);

	(void)argc;
	(void)argv;
	snprintf(pid, sizeof pid, "%d", (int)o->pid);
	snprintf(seconds, sizeof seconds, "%lld.%06lld",
	    (long long)(o->seconds / USEC), (long long)(o->seconds % USEC));
	add_words(&w, "pid", o->pid != 0 ? pid : NULL);
	add_words(&w, "pidfile", set.pidfile);
	add_words(&w, "seconds", o->seconds > 0 ? seconds : NULL);
	add_words(&w, "pattern", o->pattern);
	add_words(&w, "off-cpu", o->off_cpu ? "yes" : NULL);
	add_words(&w, "output", o->output);
	if (rc == CTL_OK)
		rc = run_program("profile", w.at);
	settings_fini(&set);
	return rc;
}

const struct ctl_command *program_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "convert", NULL, "FILE FOLDER",
		    "convert the configuration of PgCat or Odyssey",
		    2, 2, convert, 0 },
		{ "profile", NULL, "", "record for a while by perf where the "
		    "time goes, and print it\n      by reason and by function",
		    0, 0, profile, TAKES_CONFIG | TAKES_PROFILE },
		{ .group = NULL },
	};

	return commands;
}

#define PROGRAM "pgsluice"

/* The program of this installation: beside this one. Returns buf, or NULL. */
static const char *beside(char *buf, size_t size)
{
	const ssize_t n = readlink("/proc/self/exe", buf, size - 1);

	if (n <= 0)
		return NULL;
	buf[n] = '\0';
	char *const name = strrchr(buf, '/');
	const size_t room = size - (size_t)(name + 1 - buf);

	if (snprintf(name + 1, room, PROGRAM) >= (int)room ||
	    access(buf, X_OK) != 0)
		return NULL;
	return buf;
}

static int check(const struct ctl_options *o, int argc, char **argv)
{
	char buf[PATH_MAX];
	const char *const path = beside(buf, sizeof(buf));
	char *const args[] = { PROGRAM, "--check", "--", argv[0], NULL };

	(void)o;
	(void)argc;
	if (path != NULL)
		execv(path, args);
	else
		execvp(PROGRAM, args);
	return ctl_fail("could not run %s: %s", path != NULL ? path : PROGRAM,
	    strerror(errno));
}

const struct ctl_command *check_commands(void)
{
	static const struct ctl_command commands[] = {
		{ "check", NULL, "FILE",
		    "print every problem of a configuration", 1, 1, check, 0 },
		{ .group = NULL },
	};

	return commands;
}
