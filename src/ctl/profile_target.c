/* profile_target.c - which process is looked at.
 * SPDX-License-Identifier: ISC */
#include "ctl/profile_target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "conf/options.h"
#include "ctl/command.h"
#include "ctl/place.h"

#define CANDIDATES 8		/* named when there are several */

/* --- what the kernel tells of a process --- */

/* Up to size bytes of a file of pid's; NUL terminated. Returns how many. */
static size_t read_proc(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		n = read(fd, buf, size - 1);
		close(fd);
	}
	if (n < 0)
		n = 0;
	buf[n] = '\0';
	return (size_t)n;
}

/* The program of pid; if we may not know, the process's own name. */
static void read_program(pid_t pid, char *out, size_t size)
{
	char path[64], file[PATH_MAX];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	const ssize_t n = readlink(path, file, sizeof(file) - 1);

	if (n <= 0) {
		read_proc(pid, "comm", out, size);
		out[strcspn(out, "\n")] = '\0';
		return;
	}
	file[n] = '\0';
	char *const deleted = strstr(file, " (deleted)");

	if (deleted != NULL)
		*deleted = '\0';
	text_copy(out, size, strrchr(file, '/') + 1);
}

/* Arguments of pid with blanks between; empty: none, or the process is gone. */
static void read_command(pid_t pid, char *out, size_t size)
{
	size_t n = read_proc(pid, "cmdline", out, size);

	while (n > 0 && out[n - 1] == '\0')
		n--;
	for (size_t i = 0; i < n; i++) {
		if (out[i] == '\0')
			out[i] = ' ';
	}
}

bool profile_target_is_name(const char *name)
{
	/* our replacement of the package pgbouncer goes by its name */
	return strcmp(name, "pgbouncer") == 0 ||
	    (strncmp(name, "pgsluice", 8) == 0 &&
	    strncmp(name, "pgsluicectl", 11) != 0);
}

bool profile_target_lives(const struct profile_target *t)
{
	char stat[512];

	/* an ended process may wait for its parent to notice: state Z */
	read_proc(t->pid, "stat", stat, sizeof(stat));
	const char *const behind = strrchr(stat, ')');

	return behind != NULL && strncmp(behind, ") Z", 3) != 0 &&
	    strncmp(behind, ") X", 3) != 0;
}

/* --- the ways to one --- */

static int take_pid(struct profile_target *t, pid_t pid, const char *source,
    struct err *e)
{
	t->pid = pid;
	if (!profile_target_lives(t))
		return err_set(e, ERRCODE_IO_ERROR, "no process %d%s%s",
		    (int)pid, source[0] != '\0' ? ", which is what is in " :
		    "", source);
	read_program(pid, t->program, sizeof(t->program));
	return 0;
}

static int by_pidfile(struct profile_target *t, const char *config,
    struct err *e)
{
	struct settings set = { 0 };
	char text[32] = "";
	uint32_t pid = 0;
	int rc = place_read(config, &set, e);

	if (rc == 0 && set.pidfile[0] == '\0')
		rc = err_set(e, ERRCODE_IO_ERROR, "%s sets no pidfile: "
		    "say which process by --pid", config);
	if (rc != 0)
		goto out;
	const int fd = open(set.pidfile, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[strcspn(text, "\n")] = '\0';
	if (n < 0)
		rc = err_set(e, ERRCODE_IO_ERROR,
		    "could not read the pidfile \"%s\": %s", set.pidfile,
		    strerror(errno));
	else if (num_parse_u32(text, &pid) != 0 || pid == 0 || pid > INT_MAX)
		rc = err_set(e, ERRCODE_IO_ERROR, "no number in \"%s\"",
		    set.pidfile);
	else
		rc = take_pid(t, (pid_t)pid, set.pidfile, e);
out:
	settings_fini(&set);
	return rc;
}

struct search {
	const char *pattern;
	pid_t found[CANDIDATES];
	size_t count;
};

static void consider(struct search *s, pid_t pid)
{
	const struct profile_target t = { .pid = pid };
	char program[64], command[4096];

	read_program(pid, program, sizeof(program));
	if (!profile_target_is_name(program) || !profile_target_lives(&t))
		return;
	read_command(pid, command, sizeof(command));
	if (command[0] == '\0' ||
	    (s->pattern != NULL && strstr(command, s->pattern) == NULL))
		return;
	if (s->count < CANDIDATES)
		s->found[s->count] = pid;
	s->count++;
}

static int look_around(struct search *s, struct err *e)
{
	DIR *const d = opendir("/proc");
	const struct dirent *entry;
	uint32_t pid;

	if (d == NULL)
		return err_set(e, ERRCODE_IO_ERROR, "no /proc: %s",
		    strerror(errno));
	while ((entry = readdir(d)) != NULL) {
		if (num_parse_u32(entry->d_name, &pid) == 0 && pid <= INT_MAX)
			consider(s, (pid_t)pid);
	}
	closedir(d);
	return 0;
}

static int say_which(const struct search *s, struct err *e)
{
	char buf[sizeof(e->text)], command[80];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	text_addf(&t, "%zu processes: choose one by --pid, --config or "
	    "--pattern", s->count);
	for (size_t i = 0; i < s->count && i < CANDIDATES; i++) {
		read_command(s->found[i], command, sizeof(command));
		text_addf(&t, "\n  %d  %s", (int)s->found[i], command);
	}
	if (s->count > CANDIDATES)
		text_addf(&t, "\n  and %zu more", s->count - CANDIDATES);
	return err_set(e, ERRCODE_IO_ERROR, "%s", buf);
}

int profile_target_find(struct profile_target *t,
    const struct ctl_options *o, struct err *e)
{
	struct search s = { .pattern = o->pattern };

	if (o->pid != 0)
		return take_pid(t, o->pid, "", e);
	if (o->config != NULL)
		return by_pidfile(t, o->config, e);
	if (look_around(&s, e) != 0)
		return -1;
	if (s.count == 0)
		return err_set(e, ERRCODE_IO_ERROR, "no pgsluice runs%s",
		    o->pattern != NULL ? " whose command line has the pattern "
		    "in it" : "");
	return s.count > 1 ? say_which(&s, e) :
	    take_pid(t, s.found[0], "", e);
}
