/* profile_perf.c - perf(1), run for a while on one process.
 * SPDX-License-Identifier: ISC */
#include "ctl/profile_perf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "ctl/perf_script.h"

#define DATA "perf.data"
#define COMPLAINTS "stderr"
#define ARGS 24
#define SWITCHES "sched:sched_switch"

/* --- perf's folder --- */

int profile_perf_open(char *dir, size_t size, struct err *e)
{
	const char *const tmp = getenv("TMPDIR");
	struct text t;

	text_init(&t, dir, size);
	text_addf(&t, "%s/pgsluicectl.XXXXXX",
	    tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
	if (!t.cut && mkdtemp(dir) != NULL)
		return 0;
	return err_set(e, ERRCODE_IO_ERROR, "could not make a folder in "
	    "\"%s\": %s", tmp != NULL ? tmp : "/tmp", strerror(errno));
}

static const char *path_in(const char *dir, const char *name, char *buf)
{
	struct text t;

	text_init(&t, buf, PATH_MAX);
	text_addf(&t, "%s/%s", dir, name);
	return buf;
}

void profile_perf_close(const char *dir)
{
	static const char *const names[] = { DATA, DATA ".old", COMPLAINTS };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		(void)unlink(path_in(dir, names[i], path));
	(void)rmdir(dir);
}

/* --- perf's messages --- */

/* The first line of file that is not empty, or "". */
static void first_line(const char *path, char *out, size_t size)
{
	FILE *const f = fopen(path, "re");

	out[0] = '\0';
	while (f != NULL && out[strspn(out, " \t\n")] == '\0' &&
	    fgets(out, (int)size, f) != NULL)
		continue;
	out[strcspn(out, "\n")] = '\0';
	if (f != NULL)
		fclose(f);
}

/* kernel.perf_event_paranoid, or -1 where it does not matter. */
static int64_t paranoia(void)
{
	char line[32];
	int64_t n = -1;

	first_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line));
	if (geteuid() == 0 || num_parse_i64(line, &n) != 0)
		return -1;
	return n;
}

static bool has_trace_points(void)
{
	static const char *const paths[] = {
		"/sys/kernel/tracing/events/sched/sched_switch/id",
		"/sys/kernel/debug/tracing/events/sched/sched_switch/id",
	};

	return access(paths[0], R_OK) == 0 || access(paths[1], R_OK) == 0;
}

/* perf recorded nothing: the likely reason, else its own words. */
static int explain(const struct profile_perf *p, struct err *e)
{
	char said[300], path[PATH_MAX];
	const int64_t level = paranoia();

	first_line(path_in(p->dir, COMPLAINTS, path), said, sizeof(said));
	if (kill(p->pid, 0) != 0 && errno == ESRCH)
		return err_set(e, ERRCODE_IO_ERROR, "process %d has ended "
		    "before anything was recorded", (int)p->pid);
	if (p->off_cpu && !has_trace_points())
		return err_set(e, ERRCODE_IO_ERROR, "the kernel's trace "
		    "points cannot be read, which --off-cpu needs: run this as "
		    "root, with tracefs mounted (mount -t tracefs tracefs "
		    "/sys/kernel/tracing)");
	if (level > (p->off_cpu ? -1 : 2) ||
	    (level >= 0 && kill(p->pid, 0) != 0))
		return err_set(e, ERRCODE_IO_ERROR, "the kernel does not "
		    "let this user look (kernel.perf_event_paranoid is %lld): "
		    "run this as root, or with CAP_PERFMON", (long long)level);
	return err_set(e, ERRCODE_IO_ERROR, "perf recorded nothing%s%s",
	    said[0] != '\0' ? ": " : "", said);
}

static int no_perf(int error, struct err *e)
{
	return error == ENOENT ? err_set(e, ERRCODE_IO_ERROR, "perf is not "
	    "installed (Debian: linux-perf, Ubuntu: linux-tools, others: "
	    "perf)") : err_set(e, ERRCODE_IO_ERROR,
	    "could not run perf: %s", strerror(error));
}

/* --- running perf --- */

/*
 * With out (or -1: nowhere) as its output, and complaints to a file; no signal
 * is blocked in it, and SIGINT ends it, even where a shell has us in the
 * background, which ignores that. 0, or what went wrong.
 */
static int spawn(const char *const *args, const char *dir, int out,
    pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	char path[PATH_MAX];
	sigset_t none, ends;

	sigemptyset(&none);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	if (posix_spawn_file_actions_init(&files) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &ends);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
	    O_RDONLY, 0);
	if (out >= 0)
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDOUT_FILENO,
		    "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO,
	    path_in(dir, COMPLAINTS, path), O_WRONLY | O_CREAT | O_TRUNC,
	    0600);
	const int rc = posix_spawnp(pid, args[0], &files, &attr,
	    (char *const *)args, environ);

	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/*
 * Wait until perf has ended; a signal to end us means: report now. The signals
 * are blocked.
 */
static void await(struct profile_perf *p, pid_t perf, const sigset_t *signals)
{
	const usec_t began = time_precise();
	int status, got;

	while (waitpid(perf, &status, WNOHANG) != perf) {
		if (sigwait(signals, &got) != 0 || got == SIGCHLD)
			continue;
		if (!p->interrupted)
			p->took = time_precise() - began;
		p->interrupted = true;
		(void)kill(perf, SIGINT);
	}
	if (!p->interrupted)
		p->took = time_precise() - began;
	/* perf needs some time of its own */
	if (p->took > p->time)
		p->took = p->time;
}

static bool has_data(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size > 0;
}

int profile_perf_record(struct profile_perf *p, struct err *e)
{
	char data[PATH_MAX], pid[16], seconds[32], filter[64], hz[16];
	const char *args[ARGS] = { "perf", "record", "-q", "-o",
	    path_in(p->dir, DATA, data), "--call-graph", "fp" };
	size_t n = 7;
	sigset_t signals, before;
	pid_t perf;

	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	snprintf(hz, sizeof(hz), "%d", PROFILE_HZ);
	snprintf(filter, sizeof(filter), "prev_pid == %s || next_pid == %s",
	    pid, pid);
	snprintf(seconds, sizeof(seconds), "%lld.%06lld",
	    (long long)(p->time / USEC), (long long)(p->time % USEC));
	/* a change of threads belongs to the one that leaves: look at all */
	const char *const on[] = { "-e", "cpu-clock", "-F", hz, "-p", pid },
	    *const off[] = { "-e", SWITCHES, "-a", "--filter", filter },
	    *const how_long[] = { "--", "sleep", seconds, NULL };

	memcpy(args + n, p->off_cpu ? off : on,
	    p->off_cpu ? sizeof(off) : sizeof(on));
	n += (p->off_cpu ? sizeof(off) : sizeof(on)) / sizeof(*args);
	memcpy(args + n, how_long, sizeof(how_long));
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &before);
	const int rc = spawn(args, p->dir, -1, &perf);

	if (rc == 0)
		await(p, perf, &signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return no_perf(rc, e);
	return has_data(data) ? 0 : explain(p, e);
}

/* --- what was recorded --- */

static void feed(int fd, struct perf_script *to)
{
	FILE *const f = fdopen(fd, "r");
	char line[4096];

	if (f == NULL) {
		close(fd);
		return;
	}
	while (fgets(line, sizeof(line), f) != NULL) {
		const size_t len = strlen(line);
		int c = len > 0 && line[len - 1] != '\n' ? getc(f) : EOF;

		/* of what is longer than any name the rest is skipped */
		while (c != '\n' && c != EOF)
			c = getc(f);
		perf_script_line(to, line);
	}
	fclose(f);
}

int profile_perf_read(const struct profile_perf *p, struct perf_script *to,
    struct err *e)
{
	char data[PATH_MAX], path[PATH_MAX], said[300];
	const char *const args[] = { "perf", "script", "-i",
	    path_in(p->dir, DATA, data), "--no-inline", "-F", PERF_FIELDS,
	    NULL };
	int ends[2], status = 0;
	pid_t perf;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_set(e, ERRCODE_IO_ERROR, "no pipe: %s",
		    strerror(errno));
	const int rc = spawn(args, p->dir, ends[1], &perf);

	close(ends[1]);
	if (rc != 0) {
		close(ends[0]);
		return no_perf(rc, e);
	}
	feed(ends[0], to);
	while (waitpid(perf, &status, 0) < 0 && errno == EINTR)
		continue;
	if (perf_script_end(to) != 0)
		return err_nomem(e);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	first_line(path_in(p->dir, COMPLAINTS, path), said, sizeof(said));
	return err_set(e, ERRCODE_IO_ERROR, "perf could not read what it "
	    "recorded%s%s", said[0] != '\0' ? ": " : "", said);
}
