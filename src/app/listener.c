/* listener.c - what listening sockets accept, and when they rest or end.
 * SPDX-License-Identifier: ISC */
#include "app/listener_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/socket.h"
#include "login/login.h"
#include "login/login_lobby.h"
#include "login/login_move.h"
#include "session/client.h"

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
static bool is_harmless(int cause)
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
		if (is_harmless(errno))
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

int listener_add(struct app *app, int fd, const struct net_addr *addr,
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

static bool drains(const struct listener *l)
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
		if (l->path != NULL || drains(l))
			continue;
		if (!all && !shared && !l->passed)
			continue;
		if (shared && !l->passed)
			begin_to_drain(l, time_now());
		accept_rest(l);
		if (!drains(l))
			listener_drop(l);
	}
}

bool listener_is_draining(const struct app *app)
{
	const struct listener *l;

	LL_FOREACH(app->listeners, l) {
		if (drains(l))
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
