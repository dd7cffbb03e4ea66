/* main.c - from the command line to the loop, and out again.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/app.h"
#include "app/check.h"
#include "app/daemon.h"
#include "app/listener.h"
#include "app/notify.h"
#include "app/reload.h"
#include "app/signals.h"
#include "app/takeover.h"
#include "app/workers.h"
#include "app/workers_crew.h"
#include "base/crypto.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "conf/config.h"
#include "console/driver_query.h"
#include "http/http.h"
#include "io/log_thread.h"
#include "io/loop.h"
#include "io/machine.h"
#include "io/poller.h"
#include "io/runner.h"
#include "io/socket.h"
#include "upstream/tls_setup.h"

enum args_verdict {
	ARGS_RUN,
	ARGS_CHECK,	/* --check: look at the configuration only */
	ARGS_DONE,	/* -h, -V: answered */
	ARGS_WRONG,	/* told on stderr */
};

#define ARG_CHECK 256		/* no short form */

static const struct option options[] = {
	{ "check", no_argument, NULL, ARG_CHECK },
	{ "daemon", no_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "reboot", no_argument, NULL, 'R' },
	{ "user", required_argument, NULL, 'u' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static void usage(const char *argv0)
{
	printf("Usage: %s [OPTION]... FILE\n"
	    "Pools PostgreSQL connections as FILE says.\n\n"
	    "  -d, --daemon         run in the background\n"
	    "  -q, --quiet          write no log to stderr\n"
	    "  -R, --reboot         take over from the process that runs\n"
	    "  -u, --user=NAME      run as this user of the system\n"
	    "  -v, --verbose        log more; may be repeated\n"
	    "      --check          check FILE, print every problem, and exit\n"
	    "  -V, --version        print the version, and exit\n"
	    "  -h, --help           print this, and exit\n", argv0);
}

static void args_on_problem(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

/* Which release is announced where path is used; NULL: nobody knows. */
static enum console_version announced(const char *path)
{
	struct err e;
	struct config *seed = config_seed(0);
	struct config *c = path == NULL || seed == NULL ? NULL :
	    config_load(path, seed, args_on_problem, NULL, &e);
	const struct config *const from = c != NULL ? c : seed;
	const enum console_version v = from == NULL ? CONSOLE_1_25 :
	    (enum console_version)from->set.console_version;

	config_unref(&c);
	config_unref(&seed);
	return v;
}

static void print_version(const char *path)
{
	printf("%s\nlibevent %s\nadns: %s\ntls: %s\n",
	    version_of(announced(path))->text, library_libevent(),
	    library_dns(), library_tls());
	if (notify_is_built())
		printf("systemd: yes\n");
	printf("poller: %s\n", poller_name());
}

static enum args_verdict wrong(const char *argv0, const char *why)
{
	if (why != NULL)
		fprintf(stderr, "%s: %s\n", argv0, why);
	fprintf(stderr, "Try \"%s --help\" for more information.\n", argv0);
	return ARGS_WRONG;
}

static enum args_verdict args_parse(int argc, char **argv, struct app_args *out)
{
	enum args_verdict verdict = ARGS_RUN;
	bool version = false;
	int c;

	*out = (struct app_args){ .path = NULL };
	while ((c = getopt_long(argc, argv, "dhqRu:vV", options,
	    NULL)) != -1) {
		switch (c) {
		case ARG_CHECK: verdict = ARGS_CHECK; break;
		case 'd': out->daemon = true; break;
		case 'q': out->quiet = true; break;
		case 'R': out->reboot = true; break;
		case 'u': out->user = optarg; break;
		case 'v': out->verbose++; break;
		case 'h': usage(argv[0]); return ARGS_DONE;
		case 'V': version = true; break;
		default: return wrong(argv[0], NULL);
		}
	}
	if (version) {
		print_version(argv[optind]);
		return ARGS_DONE;
	}
	if (optind != argc - 1)
		return wrong(argv[0], "no configuration file specified "
		    "(as in \"pgsluice pgsluice.ini\"; one, and last)");
	out->path = argv[optind];
	return verdict;
}

#define PATH_BYTES 128

static void on_problem(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	log_at(level, NULL, "%s", text);
}

static void load_config(struct app *app)
{
	struct err e;
	struct config *seed = config_seed(app->args.verbose);

	if (seed != NULL)
		app->config = config_load(app->args.path, seed, on_problem,
		    NULL, &e);
	config_unref(&seed);
	if (app->config == NULL)
		log_fatal("cannot load config file (\"pgsluice --check %s\" "
		    "prints every problem, pgsluice.ini(5) has an example)",
		    app->args.path);
	app->loaded = config_ref(app->config);
}

/* Before the user changes: a key may be for root's eyes only. */
static void load_tls(struct app *app)
{
	struct err e;

	app->ss.tls = tls_setup_new(app->config, &e);
	if (app->ss.tls != NULL)
		return;
	log_error("%s", e.text);
	log_fatal("TLS setup failed: %s", e.text);
}

static void become_user(const struct app *app)
{
	const char *const set = app->config->set.user;
	const char *const name = app->args.user != NULL ? app->args.user : set;
	struct err e;

	if (name != NULL && name[0] != '\0' &&
	    daemon_switch_user(name, &e) < 0)
		log_fatal("%s", e.text);
	if (geteuid() == 0)
		log_fatal("PgBouncer should not run as root: start pgsluice as "
		    "another user, or with -u NAME");
}

/* (spec/config-files.md section 21) There must be a socket file to meet at. */
static void check_reboot(const struct app *app, const char *path)
{
	if (app->passed > 0)
		log_fatal("cannot reboot under service manager");
	log_warning("Online restart is deprecated, use so_reuseport instead");
	if (path == NULL)
		log_fatal("online restart needs unix_socket_dir");
	if (path[0] == '@')
		log_fatal("online restart can't be done with an abstract "
		    "Unix socket");
}

static void need_daemon_pidfile(const struct app *app)
{
	if (app->args.daemon && app->config->set.pidfile[0] == '\0')
		log_fatal("daemon needs pidfile configured");
}

/* ending: the process that we take over from; 0: none. */
static void check_pidfile(const struct app *app, pid_t ending)
{
	const char *const path = app->config->set.pidfile;
	struct err e;

	if (path[0] != '\0' && pidfile_check(path, ending, &e) < 0)
		log_fatal("%s", e.text);
}

/* What can fail here must not fail when the other is gone. */
static void try_pidfile(const struct app *app, pid_t ending)
{
	const char *const path = app->config->set.pidfile;
	struct err e;

	check_pidfile(app, ending);
	if (path[0] != '\0' && pidfile_try(path, &e) < 0)
		log_fatal("%s", e.text);
}

static struct takeover *take_over(const struct app *app, const char *path)
{
	struct err e;
	struct takeover *const t = takeover_begin(path, &e);

	if (t == NULL)
		log_fatal("cannot take over: %s", e.text);
	/* nobody stands still until here */
	need_daemon_pidfile(app);
	try_pidfile(app, takeover_pid(t));
	if (takeover_get(t, app, &e) < 0)
		log_fatal("cannot take over: %s", e.text);
	return t;
}

/* Is the place free that we want to take, or do we get it? NULL: it is free. */
static struct takeover *check_others(const struct app *app)
{
	const struct settings *const set = &app->config->set;
	char buf[PATH_BYTES];
	const char *path = listener_unix_path(set, buf, sizeof buf);
	struct err e;

	if (app->args.reboot)
		check_reboot(app, path);
	if (app->passed > 0)
		path = NULL;
	const bool alive = path != NULL && socket_unix_alive(path);
	if (alive && app->args.reboot)
		return take_over(app, path);
	/* listener_open_all() warns, and goes on if TCP is served */
	if (alive && set->listen_addr[0] != '\0' &&
	    listener_unix_is_foreign(path)) {
		check_pidfile(app, 0);
		return NULL;
	}
	if (alive && path[0] != '@' && socket_check_owner(path, &e) < 0)
		log_fatal("unix socket is in use, cannot continue: %s",
		    e.text);
	if (alive)
		log_fatal("unix socket is in use, cannot continue: another "
		    "process answers at %s (end it, or change listen_port or "
		    "unix_socket_dir)",
		    path);
	if (app->args.reboot)
		log_info("old process not found, try to continue normally");
	check_pidfile(app, 0);
	return NULL;
}

static void go_to_background(struct app *app)
{
	struct err e;

	need_daemon_pidfile(app);
	if (daemon_detach(app, &e) < 0)
		log_fatal("%s", e.text);
	app->args.quiet = true;
	apply_log(app);
}

/* Whose files remove_files() removes. */
static struct app *of_exit;

/* Every exit, also one by log_fatal(), leaves no files behind. */
static void remove_files(void)
{
	struct app *const app = of_exit;

	listener_unlink_all(app);
	if (app->pidfile_written)
		(void)unlink(app->config->set.pidfile);
}

static void write_pidfile(struct app *app)
{
	const char *const path = app->config->set.pidfile;
	struct err e;

	if (path[0] == '\0')
		return;
	if (pidfile_write(path, &e) < 0)
		log_fatal("%s", e.text);
	app->pidfile_written = true;
}

/* Before any fork: they are passed to this process alone. */
static void take_sockets(struct app *app)
{
	app->passed = notify_take_sockets();
	if (app->passed < 0)
		log_fatal("cannot take the sockets of the service manager: "
		    "%s", strerror(errno));
}

static void on_watchdog(void *arg)
{
	struct app *const app = arg;

	if (workers_turn(app))
		notify_alive();
}

/* Each loop answers for itself as long as it turns. */
static void start_watchdog(struct app *app)
{
	const usec_t interval = notify_watchdog();

	if (interval > 0 && loop_every(app->loop, interval / 2, on_watchdog,
	    app) < 0)
		log_fatal("out of memory");
}

/* (spec/config-files.md sections 15, 18) */
static void start(struct app *app)
{
	struct err e;

	load_config(app);
	load_tls(app);
	become_user(app);
	if (runner_become(app->ss.runner) < 0)
		log_fatal("the process that runs commands does not answer");
	/* not before: nobody may have root write to where a link leads */
	apply_log(app);
	if (app_init(app) < 0)
		log_fatal("out of memory");
	take_sockets(app);
	struct takeover *t = check_others(app);

	if (app->args.daemon)
		go_to_background(app);
	daemon_log_fd_limit(app);
	if (app_start(app, &e) < 0 || crew_make(app, &e) < 0)
		log_fatal("%s", e.text);
	start_watchdog(app);
	of_exit = app;
	if (signals_start(app) < 0 || atexit(remove_files) != 0)
		log_fatal("out of memory");
	if (t != NULL && takeover_restore(t, app, &e) < 0)
		log_fatal("%s", e.text);
	if (listener_adopt_passed(app, app->passed, &e) < 0 ||
	    listener_open_all(app, &e) < 0)
		log_fatal("%s", e.text);
	http_apply(app->http);
	if (crew_start(app, &e) < 0)
		log_fatal("%s", e.text);
	if (t != NULL && takeover_finish(&t, app, &e) < 0)
		log_fatal("%s", e.text);
	/*
	 * from here on nothing must end us: clients served there have us alone
	 */
	if (app->takeover == NULL) {
		write_pidfile(app);
		ready_tell(app);
	}
	log_thread_start();
	crew_go(app);
}

static int run(struct app *app)
{
	/* -q counts once it is known where else to write to */
	log_setup(&(struct log_opts){ .verbose = app->args.verbose,
	    .early = true });
	sigmask_early();
	daemon_keep_streams();
	/* nothing was read yet, and no socket is open */
	app->ss.runner = runner_fork();
	if (app->ss.runner < 0)
		log_fatal("cannot fork the process that runs commands: %s",
		    strerror(errno));
	daemon_raise_fd_limit();
	start(app);
	app_run(app);
	sigmask_late();
	log_flush();
	remove_files();
	app->pidfile_written = false;
	/* one that does not stop may use anything */
	if (!crew_end(app))
		_exit(app->exit_code);
	app_fini(app);
	/* what a stuck thread uses must not be taken down under it */
	if (app->stuck)
		_exit(app->exit_code);
	return app->exit_code;
}

int main(int argc, char **argv)
{
	struct app app = { .listeners = NULL };

	crypto_seclude_keys();
	hash_seed();
	switch (args_parse(argc, argv, &app.args)) {
	case ARGS_DONE: return 0;
	case ARGS_WRONG: return 1;
	case ARGS_CHECK: return check_run(app.args.path);
	case ARGS_RUN: break;
	}
	/* not by return: what atexit() calls needs app */
	exit(run(&app));
}
