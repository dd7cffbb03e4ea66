/* daemon.c - the process and its surroundings: user, pid file, background.
 * SPDX-License-Identifier: ISC */
#include "app/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/app.h"
#include "base/log.h"
#include "base/num.h"
#include "pool/users.h"

/* --- descriptors --- */

void daemon_keep_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void daemon_raise_fd_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	/* if not, the log line tells what there is */
	(void)setrlimit(RLIMIT_NOFILE, &l);
}

/* What the configuration may come to use; 10 for listeners, log and such. */
static long long expected_fds(const struct app *app)
{
	const struct settings *const set = &app->config->set;
	const long long users = (long long)users_count(app->catalog);
	long long sum = (long long)set->max_client_conn + 10;

	for (const struct config_db *db = app->config->dbs; db != NULL;
	    db = db->next) {
		const int size = db->pool_size >= 0 ? db->pool_size :
		    set->default_pool_size;

		if (size > 0)
			sum += size * (db->user != NULL ? 1 : users);
	}
	return sum;
}

void daemon_log_fd_limit(const struct app *app)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0) {
		log_error("getrlimit(RLIMIT_NOFILE): %s", strerror(errno));
		return;
	}
	log_info("kernel file descriptor limit: %lld (hard: %lld); "
	    "max_client_conn: %d, max expected fd use: %lld",
	    (long long)l.rlim_cur, (long long)l.rlim_max,
	    app->config->set.max_client_conn, expected_fds(app));
	if (l.rlim_cur != RLIM_INFINITY &&
	    expected_fds(app) > (long long)l.rlim_cur)
		log_warning("max_client_conn and the pools may need %lld file "
		    "descriptors, the limit is %lld: raise LimitNOFILE= of "
		    "the service or ulimit -Hn, or lower max_client_conn",
		    expected_fds(app), (long long)l.rlim_cur);
}

/* --- user --- */

int daemon_switch_user(const char *name, struct err *e)
{
	errno = 0;
	const struct passwd *const pw = getpwnam(name);

	if (pw == NULL)
		return err_set(e, "58000", "could not find user '%s' to "
		    "switch to: %s", name,
		    errno != 0 ? strerror(errno) : "no such user");
	if (pw->pw_uid == geteuid() && pw->pw_uid == getuid())
		return 0;
	if (getuid() == 0 && setgroups(1, &pw->pw_gid) < 0)
		return err_set(e, "58000", "setgroups(): %s",
		    strerror(errno));
	if (setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		return err_set(e, "58000", "could not switch to user '%s': "
		    "%s", name, strerror(errno));
	return 0;
}

/* --- pid file --- */

/* The pid in the file of fd, or 0: empty, unreadable, no number. */
static pid_t read_pid(int fd)
{
	char buf[32];
	uint32_t pid;
	ssize_t n;

	do
		n = read(fd, buf, sizeof buf - 1);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	buf[strcspn(buf, " \t\r\n")] = '\0';
	return num_parse_u32(buf, &pid) < 0 || pid > INT32_MAX ? 0 :
	    (pid_t)pid;
}

static bool is_alive(pid_t pid)
{
	/* in a container the pid of the last run may be ours now */
	if (pid == getpid())
		return false;
	return kill(pid, 0) == 0 || errno != ESRCH;
}

int daemon_check_pidfile(const char *path, struct err *e)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(e, "58000", "could not open pidfile '%s': %s",
		    path, strerror(errno));
	const pid_t pid = read_pid(fd);

	close(fd);
	if (pid == 0)
		log_error("pidfile '%s' holds no process id: remove it if no "
		    "instance is running", path);
	else if (is_alive(pid))
		log_error("pidfile '%s' is of process %ld, which is running: "
		    "if that is another program, remove the file", path,
		    (long)pid);
	if (pid == 0 || is_alive(pid))
		return err_set(e, "55006", "pidfile '%s' exists, another "
		    "instance running?", path);
	log_info("stale pidfile, removing");
	if (unlink(path) < 0 && errno != ENOENT)
		return err_set(e, "58000", "could not remove pidfile '%s': "
		    "%s", path, strerror(errno));
	return 0;
}

int daemon_write_pidfile(const char *path, struct err *e)
{
	char buf[32];
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644);

	if (fd < 0)
		return err_set(e, "58000", "could not open pidfile '%s': %s",
		    path, strerror(errno));
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
	return err_set(e, "58000", "could not write pidfile '%s': %s", path,
	    n < 0 ? strerror(cause) : "short write");
}

/* --- background --- */

/* Go on in a child; the parent ends, and leaves all clean-up to the child. */
static int fork_on(struct err *e)
{
	const pid_t pid = fork();

	if (pid < 0)
		return err_set(e, "58000", "fork(): %s", strerror(errno));
	if (pid > 0)
		_exit(0);
	return 0;
}

int daemon_detach(struct err *e)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_set(e, "58000", "could not open /dev/null: %s",
		    strerror(errno));
	if (fork_on(e) < 0)
		goto fail;
	if (setsid() < 0) {
		err_set(e, "58000", "setsid(): %s", strerror(errno));
		goto fail;
	}
	/* not the leader of its session, it can't get a terminal again */
	if (fork_on(e) < 0)
		goto fail;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	return 0;
fail:
	close(null);
	return -1;
}
