/* listener.c - listening sockets, TCP and Unix, and what they accept.
 * SPDX-License-Identifier: ISC */
#include "app/listener.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/loop.h"
#include "io/resolve.h"
#include "io/socket.h"
#include "session/client.h"

#define ACCEPT_BURST 64		/* then others get their turn */
#define ACCEPT_PAUSE (5 * USEC)
#define PATH_BYTES 128		/* more than a sockaddr_un takes */
#define NAME_BYTES 256
#define NAME_ADDRS 64		/* addresses of one name */

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

static void on_acceptable(void *arg)
{
	struct listener *const l = arg;
	struct app *const app = l->app;

	for (int i = 0; i < ACCEPT_BURST; i++) {
		struct net_addr peer;
		const int fd = socket_accept(l->fd, &peer);

		if (fd < 0 && is_harmless(errno))
			return;
		if (fd < 0) {
			log_error("accept() failed: %s", strerror(errno));
			app->accept_pause = time_now() + ACCEPT_PAUSE;
			listener_pause_all(app);
			return;
		}
		if (l->path != NULL)
			peer = l->addr;
		(void)client_accept(&app->ss, fd, &peer);
	}
}

/* --- opening --- */

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

static void listener_free(struct listener *l)
{
	loop_unwatch(&l->watch);
	if (l->fd >= 0)
		close(l->fd);
	mem_free(l->path);
	mem_free(l);
}

/* Take over fd, which listens. 0, or -1 without memory: fd is closed. */
static int add(struct app *app, int fd, const struct net_addr *addr,
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
	return 0;
}

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
	const int fd = listen_tcp(&app->config->set, addr, &why);

	if (fd < 0) {
		log_warning("%s", why.text);
		return 0;
	}
	if (add(app, fd, addr, NULL) < 0)
		return err_set(e, "53200", "out of memory");
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
			return err_set(e, "22023", "listen_addr: an item is "
			    "too long");
		memcpy(word, at, len);
		word[len] = '\0';
		at += item;
		if (len == 0)
			continue;
		any = true;
		if (open_word(app, word, e) < 0)
			return -1;
	}
	if (any && app->listeners == NULL)
		return err_set(e, "58000", "failed to listen on any address "
		    "in listen_addr list: %s", list);
	return 0;
}

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

static bool is_locked(const char *path)
{
	char lock[PATH_BYTES + sizeof ".lock"];
	struct text t;

	if (path[0] == '@')
		return false;
	text_init(&t, lock, sizeof lock);
	text_addf(&t, "%s.lock", path);
	return access(lock, F_OK) == 0;
}

static int open_unix(struct app *app, struct err *e)
{
	const struct settings *const set = &app->config->set;
	const struct socket_listen how = listen_opts(set);
	const struct net_addr addr = {
		.family = NET_UNIX,
		.port = (uint16_t)set->listen_port,
	};
	char path[PATH_BYTES];

	if (set->unix_socket_dir == NULL || set->unix_socket_dir[0] == '\0')
		return 0;
	if (listener_unix_path(set, path, sizeof path) == NULL)
		return err_set(e, "22023", "unix_socket_dir is too long");
	if (is_locked(path))
		return err_set(e, "55006", "unix port %d is in use",
		    set->listen_port);
	const int fd = socket_listen_unix(path, &how, e);
	if (fd < 0)
		return -1;
	if (add(app, fd, &addr, path) < 0)
		return err_set(e, "53200", "out of memory");
	log_info("listening on unix:%s", path);
	return 0;
}

int listener_open_all(struct app *app, struct err *e)
{
	if (open_tcp_all(app, e) < 0 || open_unix(app, e) < 0)
		return -1;
	if (app->listeners == NULL)
		return err_set(e, "22023", "nowhere to listen on");
	return 0;
}

/* --- all of them --- */

static void unlink_file(const struct listener *l)
{
	if (l->path != NULL && l->path[0] != '@')
		(void)unlink(l->path);
}

void listener_unlink_all(const struct app *app)
{
	const struct listener *l;

	/* suspended, the files belong to a successor already */
	if (app->suspended)
		return;
	LL_FOREACH(app->listeners, l)
		unlink_file(l);
}

void listener_close_all(struct app *app, bool tcp_only)
{
	struct listener *l, *next;

	if (!tcp_only)
		listener_unlink_all(app);
	LL_FOREACH_SAFE(app->listeners, l, next) {
		if (tcp_only && l->path != NULL)
			continue;
		LL_DELETE(app->listeners, l);
		listener_free(l);
	}
}

void listener_pause_all(struct app *app)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l)
		loop_watch_pause(l->watch);
}

void listener_resume_all(struct app *app)
{
	struct listener *l;

	LL_FOREACH(app->listeners, l)
		loop_watch_resume(l->watch);
}

void listener_retune_all(struct app *app)
{
	const struct settings *const set = &app->config->set;
	const struct socket_opts opts = tcp_opts(set);
	struct listener *l;

	LL_FOREACH(app->listeners, l) {
		struct err e;

		if (l->path != NULL)
			continue;
		if (socket_retune(l->fd, &opts, &e) < 0 ||
		    socket_defer_accept(l->fd, set->tcp_defer_accept != 0,
		    &e) < 0)
			log_warning("%s", e.text);
	}
}
