/* pidfile.c - the file that names the process.
 * SPDX-License-Identifier: ISC */
#include "app/pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/num.h"
#include "base/text.h"

/* What is there? */
enum pidfile {
	PIDFILE_NONE,
	PIDFILE_NAMES,		/* a process */
	PIDFILE_BROKEN,		/* empty, unreadable, no number */
	PIDFILE_FAILED,		/* can't be opened, or is no file */
};

static int open_failed(const char *path, const char *why, struct err *e)
{
	return err_set(e, ERRCODE_SYSTEM_ERROR,
	    "could not open pidfile '%s': %s", path, why);
}

static enum pidfile read_pid(int fd, pid_t *out)
{
	char buf[32];
	uint32_t pid;
	ssize_t n;

	do
		n = read(fd, buf, sizeof buf - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return PIDFILE_BROKEN;
	buf[n] = '\0';
	buf[strcspn(buf, " \t\r\n")] = '\0';
	if (num_parse_u32(buf, &pid) < 0 || pid == 0 || pid > INT32_MAX)
		return PIDFILE_BROKEN;
	*out = (pid_t)pid;
	return PIDFILE_NAMES;
}

/* Of PIDFILE_FAILED e tells why. */
static enum pidfile look(const char *path, pid_t *pid, struct err *e)
{
	/* what is no file must not keep us waiting */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK |
	    O_NOCTTY);
	enum pidfile what = PIDFILE_FAILED;
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return PIDFILE_NONE;
	if (fd < 0 || fstat(fd, &st) < 0)
		open_failed(path, strerror(errno), e);
	else if (!S_ISREG(st.st_mode))
		open_failed(path, S_ISDIR(st.st_mode) ? strerror(EISDIR) :
		    "not a regular file", e);
	else
		what = read_pid(fd, pid);
	if (fd >= 0)
		close(fd);
	return what;
}

static bool is_alive(pid_t pid)
{
	/* in a container the pid of the last run may be ours now */
	if (pid == getpid())
		return false;
	return kill(pid, 0) == 0 || errno != ESRCH;
}

int pidfile_check(const char *path, pid_t ending, struct err *e)
{
	pid_t pid = 0;
	const enum pidfile what = look(path, &pid, e);

	if (what == PIDFILE_FAILED)
		return -1;
	if (what == PIDFILE_NONE || (pid != 0 && pid == ending))
		return 0;
	if (what == PIDFILE_BROKEN)
		log_error("pidfile '%s' holds no process id: remove it if no "
		    "instance is running", path);
	else if (is_alive(pid))
		log_error("pidfile '%s' is of process %ld, which is running: "
		    "if that is another program, remove the file", path,
		    (long)pid);
	if (what == PIDFILE_BROKEN || is_alive(pid))
		return err_set(e, ERRCODE_OBJECT_IN_USE,
		    "pidfile '%s' exists, another instance running?", path);
	log_info("stale pidfile, removing");
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "could not remove pidfile '%s': %s", path, strerror(errno));
	return 0;
}

bool pidfile_names(const char *path, pid_t process)
{
	struct err e;
	pid_t pid = 0;

	return process != 0 && look(path, &pid, &e) == PIDFILE_NAMES &&
	    pid == process && is_alive(pid);
}

int pidfile_write(const char *path, struct err *e)
{
	char buf[32];
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644);

	if (fd < 0)
		return open_failed(path, strerror(errno), e);
	const int len = snprintf(buf, sizeof buf, "%ld\n", (long)getpid());
	ssize_t n;
	do
		n = write(fd, buf, (size_t)len);
	while (n < 0 && errno == EINTR);
	const int cause = errno;

	close(fd);
	if (n == len)
		return 0;
	(void)unlink(path);
	return err_set(e, ERRCODE_SYSTEM_ERROR,
	    "could not write pidfile '%s': %s", path,
	    n < 0 ? strerror(cause) : "short write");
}

int pidfile_try(const char *path, struct err *e)
{
	char trial[PATH_MAX];
	struct stat st;
	struct text t;

	if (stat(path, &st) < 0 && lstat(path, &st) == 0)
		return open_failed(path, "a link that leads nowhere", e);
	text_init(&t, trial, sizeof trial);
	text_addf(&t, "%s.%ld", path, (long)getpid());
	if (t.cut)
		return open_failed(path, strerror(ENAMETOOLONG), e);
	/* perhaps of one that was killed here, and had our number */
	(void)unlink(trial);
	if (pidfile_write(trial, e) < 0)
		return -1;
	(void)unlink(trial);
	return 0;
}
