/* daemon.c - the process and its surroundings: user, pid file, background,
 * signals, the service manager.
 * SPDX-License-Identifier: ISC */
#include "app/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/app.h"
#include "app/notify.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "base/text.h"
#include "console/driver_query.h"
#include "io/loop.h"
#include "io/machine.h"
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
	long long sum = (long long)set->max_client_conn + 10 +
	    set->max_console_conn;

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
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "could not find user '%s' to switch to: %s", name,
		    errno != 0 ? strerror(errno) : "no such user");
	if (pw->pw_uid == geteuid() && pw->pw_uid == getuid())
		return 0;
	if (getuid() == 0 && setgroups(1, &pw->pw_gid) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "setgroups(): %s",
		    strerror(errno));
	if (setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "could not switch to user '%s': %s", name, strerror(errno));
	return 0;
}

/* --- background --- */

/* Go on in a child; the parent ends, and leaves all clean-up to the child. */
static int fork_on(struct err *e)
{
	const pid_t pid = fork();

	if (pid < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "fork(): %s",
		    strerror(errno));
	if (pid > 0)
		_exit(0);
	return 0;
}

/* Where the process in the background writes its log: it has no terminal. */
static void add_log(struct text *t, const struct settings *set)
{
	char here[PATH_MAX];

	if (set->logfile[0] != '\0' && set->logfile[0] != '/' &&
	    getcwd(here, sizeof here) != NULL)
		text_addf(t, "%s/", strcmp(here, "/") == 0 ? "" : here);
	if (set->logfile[0] != '\0')
		text_add(t, set->logfile);
	else if (set->syslog != 0)
		text_addf(t, "syslog as %s", set->syslog_ident);
	else
		text_add(t, "nowhere (set logfile or syslog)");
}

static void say_end(const struct settings *set, pid_t pid)
{
	char line[PATH_MAX + 128];
	struct text t;

	text_init(&t, line, sizeof line);
	if (pid > 0)
		text_addf(&t, "process %ld runs in the background, its log: ",
		    (long)pid);
	else
		text_add(&t, "the process in the background has ended, its "
		    "log says why: ");
	add_log(&t, set);
	text_add(&t, "\n");
	(void)!write(STDERR_FILENO, line, t.len);
}

/*
 * The process in the background tells its number once it is up; an end without
 * a word is a failed start. We must hold nothing that others wait for the end
 * of.
 */
static _Noreturn void await_word(int word, const struct app *app)
{
	const bool quiet = app->args.quiet;
	pid_t pid = 0;
	ssize_t n;

	sigmask_forget();
	if (dup2(word, STDIN_FILENO) >= 0)
		os_close_from(STDERR_FILENO + 1);
	do
		n = read(STDIN_FILENO, &pid, sizeof pid);
	while (n < 0 && errno == EINTR);
	if (!quiet)
		say_end(&app->config->set, n > 0 ? pid : 0);
	_exit(n > 0 ? 0 : 1);
}

/* As fork_on(), but the parent stays until daemon_tell_up(). */
static int fork_watched(struct app *app, struct err *e)
{
	int word[2];

	if (os_pipe(word) < 0 || fcntl(word[0], F_SETFL, 0) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "pipe(): %s",
		    strerror(errno));
	const pid_t pid = fork();

	if (pid < 0) {
		err_set(e, ERRCODE_SYSTEM_ERROR, "fork(): %s", strerror(errno));
		close(word[0]);
		close(word[1]);
		return -1;
	}
	if (pid > 0) {
		close(word[1]);
		await_word(word[0], app);
	}
	close(word[0]);
	app->starter = word[1];
	return 0;
}

void daemon_tell_up(struct app *app)
{
	const pid_t pid = getpid();

	if (app->starter == 0)
		return;
	/* whoever does not wait any more need not know */
	(void)!write(app->starter, &pid, sizeof pid);
	close(app->starter);
	app->starter = 0;
}

int daemon_detach(struct app *app, struct err *e)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "could not open /dev/null: %s", strerror(errno));
	if (fork_watched(app, e) < 0)
		goto fail;
	if (setsid() < 0) {
		err_set(e, ERRCODE_SYSTEM_ERROR, "setsid(): %s",
		    strerror(errno));
		goto fail;
	}
	/* not the leader of its session, it can't get a terminal again */
	if (fork_on(e) < 0)
		goto fail;
	secmem_lock_again();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	return 0;
fail:
	close(null);
	return -1;
}

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
static enum pidfile daemon_look(const char *path, pid_t *pid, struct err *e)
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
	const enum pidfile what = daemon_look(path, &pid, e);

	if (what == PIDFILE_FAILED)
		return -1;
	if (what == PIDFILE_NONE || (pid != 0 && pid == ending))
		return 0;
	if (what == PIDFILE_BROKEN)
		log_error("pidfile '%s' contains no process id: remove it if no "
		    "instance is running", path);
	else if (is_alive(pid))
		log_error("pidfile '%s' belongs to process %ld, which is running: "
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

	return process != 0 && daemon_look(path, &pid, &e) == PIDFILE_NAMES &&
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

void ready_take_pidfile(struct app *app)
{
	const char *const path = app->config->set.pidfile;
	struct err e;

	if (path[0] == '\0')
		return;
	if (pidfile_check(path, 0, &e) == 0 && pidfile_write(path, &e) == 0)
		app->pidfile_written = true;
	else
		log_error("%s: going on without it", e.text);
}

/* With Type=notify the start would seem to hang. */
static void warn_of_notify(void)
{
	if (getenv("NOTIFY_SOCKET") != NULL && !notify_is_built())
		log_warning("NOTIFY_SOCKET is set, but the service manager "
		    "will not be notified");
}

void ready_tell(struct app *app)
{
	warn_of_notify();
	log_info("process up: %s, libevent %s (%s), adns: %s, tls: %s",
	    version_of(app->config->set.console_version)->text,
	    library_libevent(), loop_method(app->loop),
	    library_dns(), library_tls());
	notify_ready();
	daemon_tell_up(app);
}

/* The signals that the loop is to hear. (spec/config-files.md section 19) */
static const int endings[] = { SIGTERM, SIGINT, SIGQUIT };
static const int others[] = { SIGHUP, SIGUSR1, SIGUSR2 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* how: SIG_BLOCK or SIG_UNBLOCK. */
static void set_mask(int how, bool all)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < COUNT(others); i++)
		sigaddset(&set, others[i]);
	for (size_t i = 0; all && i < COUNT(endings); i++)
		sigaddset(&set, endings[i]);
	sigprocmask(how, &set, NULL);
}

/* A buildpack starts the pooler with SIGTERM ignored, and sends it to all. */
bool sigmask_is_ignored(int signo)
{
	struct sigaction now;

	return signo == SIGTERM && sigaction(signo, NULL, &now) == 0 &&
	    now.sa_handler == SIG_IGN;
}

static void set_endings(void (*handler)(int))
{
	for (size_t i = 0; i < COUNT(endings); i++) {
		if (!sigmask_is_ignored(endings[i]))
			(void)signal(endings[i], handler);
	}
}

static void on_early(int signo)
{
	(void)signo;
	_exit(0);
}

void sigmask_early(void)
{
	set_endings(on_early);
	set_mask(SIG_BLOCK, false);
}

void sigmask_open(void)
{
	set_mask(SIG_UNBLOCK, true);
}

void sigmask_late(void)
{
	set_mask(SIG_BLOCK, true);
}

void sigmask_forget(void)
{
	set_endings(SIG_DFL);
	set_mask(SIG_UNBLOCK, true);
}
