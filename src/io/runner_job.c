/* runner_job.c - a command that the runner runs: started, read and ended.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "io/runner_parts.h"

/* The vectors of words that exec wants; NULL behind each. */
struct vectors {
	char *env[RUNNER_VARIABLES + 1];
	char *argv[];
};

static void say(struct runner_job *j, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The order fails, and this is why. */
static void say(struct runner_job *j, const char *fmt, ...)
{
	struct runner_answer *const a = j->answer;
	struct text t;
	va_list ap;

	a->ok = false;
	text_init(&t, a->text, 1024);
	va_start(ap, fmt);
	text_vaddf(&t, fmt, ap);
	va_end(ap);
	a->len = (uint32_t)t.len + 1;
}

/* --- start --- */

/* The strings stay those of the order. NULL: no memory. */
static struct vectors *vectors_new(struct runner_order *o)
{
	struct vectors *const v = mem_zalloc(sizeof *v +
	    o->count * sizeof v->argv[0]);
	char *at = o->words;

	for (unsigned i = 0; v != NULL && i < o->count; i++) {
		if (i < RUNNER_VARIABLES)
			v->env[i] = at;
		else
			v->argv[i - RUNNER_VARIABLES] = at;
		at += strlen(at) + 1;
	}
	return v;
}

/* A group of its own, so that what it has started is killed with it. */
static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	return posix_spawnattr_setpgroup(attr, 0) != 0 ||
	    posix_spawnattr_setsigmask(attr, &none) != 0 ||
	    posix_spawnattr_setsigdefault(attr, &all) != 0 ||
	    posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP |
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) != 0 ? -1 : 0;
}

static int set_streams(posix_spawn_file_actions_t *actions, int out, int err)
{
	return posix_spawn_file_actions_addopen(actions, STDIN_FILENO,
	    "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_adddup2(actions, out,
	    STDOUT_FILENO) != 0 ||
	    posix_spawn_file_actions_adddup2(actions, err,
	    STDERR_FILENO) != 0 ? -1 : 0;
}

/* Everything else that is open here is closed on exec. 0, or an errno. */
static int spawn(struct runner_job *j, struct vectors *v, int out, int err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc = ENOMEM;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	if (set_attributes(&attr) == 0 &&
	    set_streams(&actions, out, err) == 0)
		rc = posix_spawn(&j->pid, v->argv[0], &actions, &attr,
		    v->argv, v->env);
	if (rc != 0)
		j->pid = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* Reading never waits; writing does, as programs expect. */
static int open_pipe(int ends[2])
{
	if (os_pipe(ends) < 0)
		return -1;
	return fcntl(ends[1], F_SETFL, 0);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int runner_job_start(struct runner_job *j)
{
	struct vectors *v = vectors_new(j->order);
	int out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int rc = ENOMEM;

	memcpy(j->answer->tag, j->order->tag, sizeof j->answer->tag);
	j->until = j->order->limit > 0 ? time_precise() + j->order->limit :
	    INT64_MAX;
	if (v != NULL)
		rc = open_pipe(out) < 0 || open_pipe(err) < 0 ? errno :
		    spawn(j, v, out[1], err[1]);
	if (rc != 0)
		say(j, "cannot be run: %s", strerror(rc));
	mem_free(v);
	close_end(&out[1]);
	close_end(&err[1]);
	j->out = out[0];
	j->err = err[0];
	if (rc == 0)
		return 0;
	close_end(&j->out);
	close_end(&j->err);
	return -1;
}

/* --- what it prints --- */

static void kill_group(const struct runner_job *j)
{
	(void)kill(-j->pid, SIGKILL);
}

static void fail(struct runner_job *j, const char *why)
{
	close_end(&j->out);
	say(j, "%s", why);
	j->failed = true;
	kill_group(j);
}

static void read_output(struct runner_job *j)
{
	struct runner_answer *const a = j->answer;
	ssize_t n = 1;

	while (j->out >= 0 && n > 0) {
		/* the byte behind it is the NUL's, or shows that there is more */
		n = read(j->out, a->text + a->len, sizeof a->text - a->len);
		if (n > 0)
			a->len += (uint32_t)n;
		if (a->len == sizeof a->text)
			fail(j, "prints more than 64 kB");
	}
	if (n == 0)
		close_end(&j->out);
}

/* Only what can be shown, and of several lines the last. */
static void complain(struct runner_job *j, const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char c = at[i];

		if (c == '\n') {
			j->complaint_over = true;
		} else if (c >= ' ' && c <= '~') {
			if (j->complaint_over)
				j->complained = 0;
			j->complaint_over = false;
			if (j->complained < sizeof j->complaint - 1)
				j->complaint[j->complained++] = c;
			j->complaint[j->complained] = '\0';
		}
	}
}

static void read_complaints(struct runner_job *j)
{
	char some[4096];
	ssize_t n = 1;

	/* one that never stops must not keep the others waiting */
	for (int i = 0; i < 16 && j->err >= 0 && n > 0; i++) {
		n = read(j->err, some, sizeof some);
		if (n > 0)
			complain(j, some, (size_t)n);
	}
	if (n == 0)
		close_end(&j->err);
}

void runner_job_read(struct runner_job *j)
{
	read_output(j);
	read_complaints(j);
}

void runner_job_kill(struct runner_job *j)
{
	fail(j, "has not ended within password_timeout");
}

/* --- its end --- */

/* Words on stderr are shown only if no password can be among them. */
static void judge(struct runner_job *j, int status)
{
	const bool silent = j->answer->len == 0 && j->complaint[0] != '\0';
	const char *const colon = silent ? ": " : "";
	const char *const words = silent ? j->complaint : "";

	if (j->failed)
		return;
	if (WIFSIGNALED(status))
		say(j, "was ended by signal %d%s%s", WTERMSIG(status), colon,
		    words);
	else if (WEXITSTATUS(status) != 0)
		say(j, "exited with status %d%s%s", WEXITSTATUS(status),
		    colon, words);
	else
		j->answer->ok = true;
}

bool runner_job_ended(struct runner_job *j)
{
	siginfo_t info = { .si_pid = 0 };
	int status;

	if (waitid(P_PID, (id_t)j->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return false;
	/* all that it has printed is in the pipe, whoever else still holds it */
	runner_job_read(j);
	/* before it is waited for: until then no other group has its number */
	kill_group(j);
	if (waitpid(j->pid, &status, 0) != j->pid)
		status = 0;
	j->pid = 0;
	judge(j, status);
	close_end(&j->out);
	close_end(&j->err);
	return true;
}

void runner_job_free(struct runner_job **jp)
{
	struct runner_job *const j = *jp;

	*jp = NULL;
	if (j->pid != 0) {
		kill_group(j);
		(void)waitpid(j->pid, NULL, 0);
	}
	close_end(&j->out);
	close_end(&j->err);
	secmem_free(j->answer);
	mem_free(j->order);
	mem_free(j);
}
