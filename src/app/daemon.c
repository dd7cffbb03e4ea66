/* daemon.c - the process and its surroundings: user, pid file, background.
 * SPDX-License-Identifier: ISC */
#include "app/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "app/app.h"
#include "app/sigmask.h"
#include "base/err.h"
#include "base/errcodes.h"
#include "base/log.h"
#include "base/os.h"
#include "base/text.h"
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
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
	return 0;
fail:
	close(null);
	return -1;
}
