/* listener_open.c - which sockets to listen at: named, passed, inherited.
 * SPDX-License-Identifier: ISC */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "app/app.h"
#include "app/listener_parts.h"
#include "app/notify.h"
#include "base/err.h"
#include "base/errcodes.h"
#include "base/log.h"
#include "base/text.h"
#include "io/resolve.h"
#include "io/socket.h"

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

int listener_retune(const struct listener *l, struct err *e)
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
static int check_lock(const char *path, int port, struct err *e)
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

	if (check_lock(path, set->listen_port, e) < 0)
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
