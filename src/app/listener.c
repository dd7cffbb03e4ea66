/* listener.c - sockets that listen: opened, accepted from, rested, closed.
 * SPDX-License-Identifier: ISC */
#include "app/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "app/notify.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/machine.h"
#include "io/socket.h"
#include "login/login.h"
#include "login/login_lobby.h"
#include "login/login_move.h"
#include "session/client.h"

/* Accept from fd. 0 or -1: it is closed. */
static int listener_add(struct app *app, int fd, const struct net_addr *addr,
    const char *path);
/* The options for l, which may have had others. */
static int listener_retune(const struct listener *l, struct err *e);

#define ACCEPT_BURST 64		/* then others get their turn */
#define ACCEPT_CALM 4		/* turns in a row; then bursts double */
#define ACCEPT_PAUSE (5 * USEC)
#define RESERVE_TIME (2 * USEC)	/* to log in with the reserve descriptor */
#define RESERVE_SILENCE (USEC * 3 / 10)	/* to say something with it */

/*
 * With TCP_DEFER_ACCEPT the handshake of a client that says nothing stands
 * still until the kernel asks again, after a second.
 */
#define SETTLE_TIME (USEC * 6 / 5)
/* Longer than a handshake takes; shorter than an unanswered SYN waits (1 s). */
#define DRAIN_TIME (USEC * 4 / 5)

char *listener_name(const struct listener *l, char *buf, size_t size)
{
	struct text t;

	if (l->path == NULL)
		return net_format(&l->addr, buf, size);
	text_init(&t, buf, size);
	text_addf(&t, "unix:%s", l->path);
	return buf;
}

/* --- resting --- */

static void pause_one(struct listener *l)
{
	if (!l->paused)
		loop_watch_pause(l->watch);
	l->paused = true;
}

static void resume_one(struct listener *l)
{
	if (l->paused)
		loop_watch_resume(l->watch);
	l->paused = false;
}

void listener_pause_all(struct app *app)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l)
		pause_one(l);
}

void listener_resume_all(struct app *app)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l)
		resume_one(l);
}

/* --- out of descriptors --- */

static bool is_exhausted(int cause)
{
	return cause == EMFILE || cause == ENFILE;
}

static void keep_reserve(struct app *app)
{
	if (app->reserve_fd <= 0 && app->reserve_user == NULL)
		app->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * One descriptor is held back for the console: if there are no others, it is
 * lent to the client that connects next, and a client that turns out not to
 * want the console has to leave. After a client by TCP those by Unix sockets
 * have a tick for themselves, because strangers can't get there.
 */
static void lend_reserve(struct app *app, bool tcp)
{
	struct listener *l;

	keep_reserve(app);
	if (app->reserve_fd <= 0 || app->ss.suspended)
		return;
	LL_FOREACH(app->listeners, l) {
		if (tcp || l->path != NULL)
			resume_one(l);
	}
}

void listener_return_reserve(struct app *app)
{
	const bool by_unix = app->reserve_user->addr.family == NET_UNIX;

	app->reserve_user = NULL;
	lend_reserve(app, by_unix);
}

/* Say what to raise, not over and over. */
static void note_failure(struct app *app, int cause)
{
	struct rlimit limit;

	app->accept_exhausted = is_exhausted(cause);
	if (is_exhausted(cause))
		app->ss.tally.limits_hit[TALLY_open_files][0]++;
	if (app->accept_pause != 0)
		return;
	app->accept_pause = time_now() + ACCEPT_PAUSE;
	log_error("accept() failed: %s", strerror(cause));
	if (cause == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		log_warning("all %lld file descriptors are in use: raise the "
		    "hard limit (LimitNOFILE= of the service, ulimit -Hn), or "
		    "lower max_client_conn", (long long)limit.rlim_cur);
	if (cause == ENFILE)
		log_warning("the system is out of file descriptors: raise "
		    "fs.file-max (sysctl)");
}

/* --- accepting --- */

/* These concern one connection, or nobody; the next may be fine. */
static bool listener_is_harmless(int cause)
{
	static const int causes[] = { EAGAIN, ECONNABORTED, EINTR };

	for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
		if (cause == causes[i])
			return true;
	}
	return false;
}

/* As accept(2); *reserve: with the descriptor that is held back. */
static int accept_one(struct listener *l, struct net_addr *peer, bool *reserve)
{
	struct app *const app = l->app;
	int fd = socket_accept(l->fd, peer);

	*reserve = false;
	if (fd >= 0 || !is_exhausted(errno))
		return fd;
	note_failure(app, errno);
	if (errno == EMFILE && login_expel_oldest(&app->ss, TALLY_open_files))
		return socket_accept(l->fd, peer);
	if (app->reserve_fd <= 0)
		return fd;
	listener_pause_all(app);
	close(app->reserve_fd);
	app->reserve_fd = 0;
	fd = socket_accept(l->fd, peer);
	*reserve = fd >= 0;
	if (fd >= 0)
		return fd;
	const int cause = errno;

	lend_reserve(app, true);
	errno = cause;
	return -1;
}

/* Returns false when there is nothing more to accept now. */
static bool accept_next(struct listener *l, bool begin)
{
	struct net_addr peer;
	bool reserve;
	const int fd = accept_one(l, &peer, &reserve);

	if (fd < 0) {
		if (listener_is_harmless(errno))
			return false;
		const int cause = errno;

		note_failure(l->app, cause);
		listener_pause_all(l->app);
		return false;
	}
	if (l->closing != 0)
		socket_hear_new(fd);
	if (l->path != NULL)
		peer = l->addr;
	struct client *const c = login_accept(&l->app->ss, fd, &peer);

	if (c != NULL && reserve) {
		c->has_reserve_fd = true;
		l->app->reserve_user = c;
	} else if (reserve) {
		lend_reserve(l->app, true);
	}
	if (c != NULL && login_deal(c))
		return true;
	if (begin && c != NULL)
		stream_begin(&c->stream);
	return true;
}

/*
 * How many to accept at most. Mostly there is one, and the call that finds no
 * other can be saved: if there is, the next turn comes at once. Only when turn
 * after turn does, many wait.
 */
static int burst_size(struct listener *l)
{
	const unsigned turn = loop_turn(l->app->loop);

	if (turn != l->turn + 1)
		l->streak = 0;
	l->turn = turn;
	if (l->streak < ACCEPT_CALM)
		return 1;
	const unsigned doubled = l->streak - ACCEPT_CALM + 1;

	return doubled < 6 ? 1 << doubled : ACCEPT_BURST;
}

static void on_acceptable(void *arg)
{
	struct listener *const l = arg;
	const int burst = burst_size(l);
	/* the kernel has waited for the start-up packet */
	const bool begin = l->path == NULL &&
	    l->app->config->set.tcp_defer_accept != 0;

	for (int i = 0; i < burst && !l->paused; i++) {
		if (!accept_next(l, begin)) {
			l->streak = 0;
			return;
		}
	}
	l->streak++;
}

/* --- one of them --- */

static void listener_free(struct listener *l)
{
	loop_unwatch(&l->watch);
	if (l->fd >= 0)
		close(l->fd);
	mem_free(l->path);
	mem_free(l);
}

static int listener_add(struct app *app, int fd, const struct net_addr *addr,
    const char *path)
{
	struct listener *l = mem_zalloc(sizeof *l);

	if (l == NULL) {
		close(fd);
		return -1;
	}
	l->app = app;
	l->fd = fd;
	l->addr = *addr;
	l->path = path != NULL ? mem_strdup(path) : NULL;
	l->watch = loop_watch(app->loop, fd, on_acceptable, l);
	if (l->watch == NULL || (path != NULL && l->path == NULL)) {
		listener_free(l);
		return -1;
	}
	LL_APPEND(app->listeners, l);
	keep_reserve(app);
	return 0;
}

void listener_drop(struct listener *l)
{
	LL_DELETE(l->app->listeners, l);
	listener_free(l);
}

/* --- the end --- */

static void unlink_file(const struct listener *l)
{
	if (l->path != NULL && l->path[0] != '@' && !l->passed)
		(void)unlink(l->path);
}

void listener_unlink_all(const struct app *app)
{
	const struct listener *l;

	/* suspended, the files belong to a successor already */
	if (app->ss.suspended)
		return;
	LL_FOREACH(app->listeners, l)
		unlink_file(l);
}

void listener_claim_all(const struct app *app)
{
	const struct listener *l;

	LL_FOREACH(app->listeners, l) {
		/* the kernel notes who listens at each call, anew */
		if (l->path != NULL &&
		    listen(l->fd, app->config->set.listen_backlog) < 0)
			log_warning("cannot listen on unix:%s: %s", l->path,
			    strerror(errno));
	}
}

void listener_close_all(struct app *app)
{
	struct listener *l, *next;

	listener_unlink_all(app);
	LL_FOREACH_SAFE(app->listeners, l, next)
		listener_drop(l);
	if (app->reserve_fd > 0)
		close(app->reserve_fd);
	app->reserve_fd = 0;
}

static bool listener_drains(const struct listener *l)
{
	return l->deaf != 0 || l->closing != 0;
}

static void accept_rest(struct listener *l)
{
	resume_one(l);
	while (!l->paused && accept_next(l, false))
		;
}

/*
 * The kernel gives a new connection to one of the sockets at an address, and
 * resets what waits at one that is closed, also the handshakes that it has
 * deferred, for as long as the client has not said anything. So these go on
 * first, however busy their clients are.
 */
static void begin_to_drain(struct listener *l, usec_t now)
{
	struct err e;

	(void)socket_defer_accept(l->fd, false, &e);
	l->deaf = now + SETTLE_TIME;
}

/*
 * Then the listener is kept from getting more: a client that connects is not
 * answered, and has another listener next time.
 */
static void begin_to_ignore(struct listener *l, usec_t now)
{
	l->deaf = 0;
	if (socket_ignore_new(l->fd) < 0)
		log_warning("new connections can't be kept away, some may "
		    "be reset: %s",
		    strerror(errno));
	l->closing = now + DRAIN_TIME;
}

void listener_accept_rest(struct app *app)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l)
		accept_rest(l);
}

void listener_drain(struct app *app, bool all)
{
	const bool shared = app->config->set.so_reuseport != 0;
	struct listener *l, *next;

	LL_FOREACH_SAFE(app->listeners, l, next) {
		if (l->path != NULL || listener_drains(l))
			continue;
		if (!all && !shared && !l->passed)
			continue;
		if (shared && !l->passed)
			begin_to_drain(l, time_now());
		accept_rest(l);
		if (!listener_drains(l))
			listener_drop(l);
	}
}

bool listener_is_draining(const struct app *app)
{
	const struct listener *l;

	LL_FOREACH(app->listeners, l) {
		if (listener_drains(l))
			return true;
	}
	return false;
}

/* The client with the reserve descriptor must be quick: others wait for it. */
static void hurry_reserve(struct app *app, usec_t now)
{
	struct client *const c = app->reserve_user;

	if (c != NULL && client_logs_in(c) && now - c->born >
	    (c->has_spoken ? RESERVE_TIME : RESERVE_SILENCE))
		client_fail(c, CLOSE_CLIENT_LOGIN_TIMEOUT);
}

void listener_tick(struct app *app, usec_t now)
{
	struct listener *l, *next;

	LL_FOREACH_SAFE(app->listeners, l, next) {
		if (l->deaf != 0 && now >= l->deaf)
			begin_to_ignore(l, now);
		if (l->closing == 0 || now < l->closing)
			continue;
		accept_rest(l);
		listener_drop(l);
	}
	hurry_reserve(app, now);
	if (app->accept_pause == 0)
		return;
	if (now >= app->accept_pause) {
		app->accept_pause = 0;
		keep_reserve(app);
		if (!app->ss.suspended)
			listener_resume_all(app);
	} else if (app->accept_exhausted) {
		lend_reserve(app, true);
	}
}

void listener_retune_all(struct app *app)
{
	const struct listener *l;
	struct err e;

	LL_FOREACH(app->listeners, l) {
		if (listener_retune(l, &e) < 0)
			log_warning("%s", e.text);
	}
}

#define NAME_BYTES 256
#define LOCK_PATH_MAX (SOCKET_PATH_MAX + sizeof ".lock")
#define NAME_ADDRS 64		/* addresses of one name */

/* --- options --- */

static struct socket_opts tcp_opts(const struct settings *set)
{
	return (struct socket_opts){
		.buffer_bytes = set->tcp_socket_buffer,
		.keepalive = set->tcp_keepalive != 0,
		.keepcnt = set->tcp_keepcnt,
		.keepidle = set->tcp_keepidle,
		.keepintvl = set->tcp_keepintvl,
		.user_timeout = set->tcp_user_timeout,
	};
}

static struct socket_listen listen_opts(const struct settings *set)
{
	return (struct socket_listen){
		.backlog = set->listen_backlog,
		.reuseport = set->so_reuseport != 0,
		.defer_accept = set->tcp_defer_accept != 0,
		.mode = set->unix_socket_mode,
		.group = set->unix_socket_group,
	};
}

static int listener_retune(const struct listener *l, struct err *e)
{
	const struct settings *const set = &l->app->config->set;
	const struct socket_opts opts = tcp_opts(set);

	if (l->path != NULL || l->deaf != 0 || l->closing != 0)
		return 0;
	if (socket_retune(l->fd, &opts, e) < 0)
		return -1;
	return socket_defer_accept(l->fd, set->tcp_defer_accept != 0, e);
}

/* --- sockets that others have opened --- */

static struct listener *last_of(struct app *app)
{
	struct listener *l = app->listeners;

	while (l->next != NULL)
		l = l->next;
	return l;
}

int listener_adopt(struct app *app, int fd, struct err *e)
{
	char path[SOCKET_PATH_MAX];
	struct net_addr addr;

	if (socket_adopt(fd, &addr, path, e) < 0) {
		close(fd);
		return -1;
	}
	if (addr.family == NET_UNIX)
		addr.port = (uint16_t)app->config->set.listen_port;
	if (listener_add(app, fd, &addr,
	    addr.family == NET_UNIX ? path : NULL) < 0)
		return err_nomem(e);
	last_of(app)->adopted = true;
	return 0;
}

int listener_adopt_passed(struct app *app, int count, struct err *e)
{
	for (int fd = NOTIFY_FIRST_FD; fd < NOTIFY_FIRST_FD + count; fd++) {
		if (listener_adopt(app, fd, e) < 0)
			return -1;
		last_of(app)->passed = true;
		log_info("socket passed from service manager (fd %d)", fd);
	}
	return 0;
}

/* The adopted one at this address, or path; it counts as opened. */
static struct listener *find_adopted(struct app *app,
    const struct net_addr *addr, const char *path)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l) {
		if (!l->adopted)
			continue;
		if (path != NULL ? l->path != NULL &&
		    strcmp(l->path, path) == 0 : net_equal(&l->addr, addr))
			break;
	}
	return l;
}

/* Was the listener adopted? Then it is used with our options from now on. */
static bool use_adopted(struct app *app, const struct net_addr *addr,
    const char *path)
{
	struct listener *const l = find_adopted(app, addr, path);
	struct err e;

	if (l == NULL)
		return false;
	l->adopted = false;
	if (listener_retune(l, &e) < 0)
		log_warning("%s", e.text);
	return true;
}

static void drop_adopted(struct app *app)
{
	struct listener *l, *next;

	LL_FOREACH_SAFE(app->listeners, l, next) {
		if (l->adopted)
			listener_drop(l);
	}
}

/* No other sockets are opened. (spec/config-files.md section 18) */
static void use_passed(struct app *app)
{
	const struct settings *const set = &app->config->set;
	const struct option_row *const dir = option_find("unix_socket_dir");
	char name[SOCKET_PATH_MAX + sizeof "unix:"];
	struct listener *l;
	struct err e;

	if (set->listen_addr[0] != '\0')
		log_warning("sockets passed from service manager, "
		    "cf_listen_addr ignored");
	if (strcmp(set->unix_socket_dir, dir->def) != 0)
		log_warning("sockets passed from service manager, "
		    "cf_unix_socket_dir ignored");
	LL_FOREACH(app->listeners, l) {
		l->adopted = false;
		if (listener_retune(l, &e) < 0)
			log_warning("%s", e.text);
		log_info("listening on %s", listener_name(l, name,
		    sizeof name));
	}
}

/* --- TCP --- */

/*
 * The options of accepted connections are set here: on Linux they inherit
 * them, which saves half a dozen system calls a login.
 */
static int listen_tcp(const struct settings *set, const struct net_addr *a,
    struct err *e)
{
	const struct socket_listen how = listen_opts(set);
	const struct socket_opts opts = tcp_opts(set);
	char name[NET_TEXT_MAX];
	const int fd = socket_listen_tcp(a, &how, e);

	if (fd < 0 || socket_tune(fd, &opts, e) == 0)
		return fd;
	close(fd);
	return err_prepend(e, "cannot listen on %s: ",
	    net_format(a, name, sizeof name));
}

/* An address that can't be had is told, and the others count. 0 or -1. */
static int open_tcp(struct app *app, const struct net_addr *addr,
    struct err *e)
{
	char name[NET_TEXT_MAX];
	struct err why;

	if (!use_adopted(app, addr, NULL)) {
		const int fd = listen_tcp(&app->config->set, addr, &why);

		if (fd < 0) {
			log_warning("%s", why.text);
			return 0;
		}
		if (listener_add(app, fd, addr, NULL) < 0)
			return err_nomem(e);
	}
	log_info("listening on %s", net_format(addr, name, sizeof name));
	return 0;
}

/* word is one item of listen_addr. */
static int open_word(struct app *app, const char *word, struct err *e)
{
	static const struct net_addr any[] = {
		{ .family = NET_IPV4 },
		{ .family = NET_IPV6 },
	};
	struct net_addr addrs[NAME_ADDRS];
	int n = (int)(sizeof any / sizeof any[0]);

	if (strcmp(word, "*") == 0)
		memcpy(addrs, any, sizeof any);
	else
		n = resolve_name(word, addrs, NAME_ADDRS, e);
	if (n < 0)
		return err_prepend(e, "cannot resolve listen_addr ");
	for (int i = 0; i < n; i++) {
		addrs[i].port = (uint16_t)app->config->set.listen_port;
		if (open_tcp(app, &addrs[i], e) < 0)
			return -1;
	}
	return 0;
}

static bool has_tcp(const struct app *app)
{
	const struct listener *l;

	LL_FOREACH(app->listeners, l) {
		if (l->path == NULL && !l->adopted)
			return true;
	}
	return false;
}

static int open_tcp_all(struct app *app, struct err *e)
{
	const char *const list = app->config->set.listen_addr;
	bool any = false;

	for (const char *at = list; *at != '\0';) {
		char word[NAME_BYTES];

		at += strspn(at, ", \t");
		const size_t item = strcspn(at, ",");
		size_t len = item;

		while (len > 0 && strchr(" \t", at[len - 1]) != NULL)
			len--;
		if (len >= sizeof word)
			return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
			    "listen_addr: an item is too long");
		memcpy(word, at, len);
		word[len] = '\0';
		at += item;
		if (len == 0)
			continue;
		any = true;
		if (open_word(app, word, e) < 0)
			return -1;
	}
	if (any && !has_tcp(app))
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "failed to listen on any address in listen_addr list: %s",
		    list);
	return 0;
}

/* --- Unix --- */

char *listener_unix_path(const struct settings *set, char *buf, size_t size)
{
	struct text t;

	if (set->unix_socket_dir == NULL || set->unix_socket_dir[0] == '\0')
		return NULL;
	text_init(&t, buf, size);
	text_addf(&t, "%s/.s.PGSQL.%d", set->unix_socket_dir,
	    set->listen_port);
	return t.cut ? NULL : buf;
}

static void lock_path(const char *path, char *lock, size_t size)
{
	struct text t;

	text_init(&t, lock, size);
	text_addf(&t, "%s.lock", path);
}

/* PostgreSQL, and others, keep one beside their sockets. 0, or -1 with e. */
static int listener_check_lock(const char *path, int port, struct err *e)
{
	char lock[LOCK_PATH_MAX];

	if (path[0] == '@')
		return 0;
	lock_path(path, lock, sizeof lock);
	if (faccessat(AT_FDCWD, lock, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (socket_check_owner(lock, e) < 0)
		return err_prepend(e, "unix port %d is in use: ", port);
	return err_set(e, ERRCODE_OBJECT_IN_USE,
	    "unix port %d is in use: there is a lock file '%s'", port, lock);
}

bool listener_unix_is_foreign(const char *path)
{
	char lock[LOCK_PATH_MAX];

	if (path[0] == '@')
		return false;
	lock_path(path, lock, sizeof lock);
	return socket_is_foreign(path) || socket_is_foreign(lock);
}

static int listen_unix(struct app *app, const struct net_addr *addr,
    const char *path, struct err *e)
{
	const struct settings *const set = &app->config->set;
	const struct socket_listen how = listen_opts(set);

	if (listener_check_lock(path, set->listen_port, e) < 0)
		return -1;
	if (path[0] != '@' && socket_is_foreign(path) &&
	    socket_unix_alive(path) && socket_check_owner(path, e) < 0)
		return err_prepend(e, "unix port %d is in use: ",
		    set->listen_port);
	const int fd = socket_listen_unix(path, &how, e);

	if (fd < 0)
		return -1;
	return listener_add(app, fd, addr, path) < 0 ? err_nomem(e) : 0;
}

static int open_unix(struct app *app, struct err *e)
{
	const struct settings *const set = &app->config->set;
	const struct net_addr addr = {
		.family = NET_UNIX,
		.port = (uint16_t)set->listen_port,
	};
	char path[SOCKET_PATH_MAX];

	if (set->unix_socket_dir == NULL || set->unix_socket_dir[0] == '\0')
		return 0;
	if (listener_unix_path(set, path, sizeof path) == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "unix_socket_dir is too long");
	if (!use_adopted(app, &addr, path) &&
	    listen_unix(app, &addr, path, e) < 0) {
		/* no local user keeps us from serving the others */
		if (!has_tcp(app) || !listener_unix_is_foreign(path))
			return -1;
		log_warning("%s: only TCP is served", e->text);
		return 0;
	}
	log_info("listening on unix:%s", path);
	return 0;
}

int listener_open_all(struct app *app, struct err *e)
{
	if (app->passed > 0) {
		use_passed(app);
		return 0;
	}
	if (open_tcp_all(app, e) < 0 || open_unix(app, e) < 0)
		return -1;
	drop_adopted(app);
	if (app->listeners == NULL)
		return err_set(e, ERRCODE_INVALID_PARAMETER_VALUE,
		    "nowhere to listen on");
	return 0;
}
