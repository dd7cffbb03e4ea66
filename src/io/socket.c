/* socket.c - make, tune and ask sockets: listen, connect, peer credentials.
 * SPDX-License-Identifier: ISC */
#include "io/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/err.h"
#include "base/num.h"
#include "base/os.h"
#include "base/text.h"

#define DRAIN_ROUNDS 64

/* An option that a system does not have is refused by setsockopt(2). */
#ifndef TCP_USER_TIMEOUT
#define TCP_USER_TIMEOUT (-1)
#endif
#ifndef TCP_KEEPIDLE
#define TCP_KEEPIDLE (-1)
#endif
#ifndef TCP_KEEPINTVL
#define TCP_KEEPINTVL (-1)
#endif
#ifndef TCP_KEEPCNT
#define TCP_KEEPCNT (-1)
#endif

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof value);
}

/* Hints for the failures that a first configuration meets. */
static const char *listen_hint(int cause)
{
	static const struct {
		int cause;
		const char *hint;
	} hints[] = {
		{ EADDRINUSE, " (another program has the port: \"ss -ltnp\" "
		    "tells which; end it, or change listen_port)" },
		{ EADDRNOTAVAIL, " (no interface here has this address: see "
		    "listen_addr)" },
		{ ENOENT, " (make the folder, or change unix_socket_dir)" },
		{ EACCES, " (the user that runs pgsluice has no right to: see "
		    "listen_port, unix_socket_dir)" },
	};

	for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
		if (hints[i].cause == cause)
			return hints[i].hint;
	}
	return "";
}

/* Close fd and say which call failed. Always -1. */
static int listen_failed(int fd, const char *addr, const char *call,
    struct err *e)
{
	const int saved = errno;

	if (fd >= 0)
		close(fd);
	return err_set(e, ERRCODE_SYSTEM_ERROR, "cannot listen on %s: %s(): %s%s",
	    addr, call, strerror(saved), listen_hint(saved));
}

int socket_listen_tcp(const struct net_addr *a, const struct socket_listen *o,
    struct err *e)
{
	struct sockaddr_storage ss;
	const socklen_t len = net_to_sockaddr(a, &ss);
	char name[NET_TEXT_MAX];

	net_format(a, name, sizeof name);
	const int fd = os_socket(ss.ss_family, SOCK_STREAM);
	if (fd < 0)
		return listen_failed(fd, name, "socket", e);
	if (set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0)
		return listen_failed(fd, name, "setsockopt", e);
	if (o->reuseport && set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		return listen_failed(fd, name, "setsockopt", e);
	if (a->family == NET_IPV6 &&
	    set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0)
		return listen_failed(fd, name, "setsockopt", e);
	if (bind(fd, (struct sockaddr *)&ss, len) < 0)
		return listen_failed(fd, name, "bind", e);
	if (o->defer_accept && socket_defer_accept(fd, true, e) < 0) {
		close(fd);
		return err_prepend(e, "cannot listen on %s: ", name);
	}
	if (listen(fd, o->backlog) < 0)
		return listen_failed(fd, name, "listen", e);
	return fd;
}

/* Fill un from path; '@' means the abstract namespace. 0 when too long. */
static socklen_t unix_addr(const char *path, struct sockaddr_un *un)
{
	const size_t len = strlen(path);

	memset(un, 0, sizeof *un);
	un->sun_family = AF_UNIX;
	if (len == 0 || len >= sizeof un->sun_path) {
		errno = ENAMETOOLONG;
		return 0;
	}
	memcpy(un->sun_path, path, len);
	if (path[0] != '@')
		return (socklen_t)sizeof *un;
	un->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static int unix_group(const char *path, const char *group)
{
	uint32_t gid;

	if (num_parse_u32(group, &gid) < 0) {
		errno = 0;
		const struct group *g = getgrnam(group);
		if (g == NULL) {
			if (errno == 0)
				errno = ENOENT;
			return -1;
		}
		gid = g->gr_gid;
	}
	return chown(path, (uid_t)-1, gid);
}

/* A socket that nobody listens at any more is removed, nothing else. */
static int clear_place(const char *path, const char *name, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 :
		    listen_failed(-1, name, "lstat", e);
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "cannot listen on %s: the file is not a socket", name);
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	const int cause = errno;

	if (socket_check_owner(path, e) < 0)
		return err_prepend(e, "cannot listen on %s: ", name);
	errno = cause;
	return listen_failed(-1, name, "unlink", e);
}

int socket_listen_unix(const char *path, const struct socket_listen *o,
    struct err *e)
{
	struct sockaddr_un un;
	char name[sizeof un.sun_path + 8];
	const socklen_t len = unix_addr(path, &un);

	snprintf(name, sizeof name, "unix:%s", path);
	if (len == 0)
		return listen_failed(-1, name, "bind", e);
	const int fd = os_socket(AF_UNIX, SOCK_STREAM);
	if (fd < 0)
		return listen_failed(fd, name, "socket", e);
	const bool file = path[0] != '@';
	if (file && clear_place(path, name, e) < 0) {
		close(fd);
		return -1;
	}
	if (bind(fd, (struct sockaddr *)&un, len) < 0)
		return listen_failed(fd, name, "bind", e);
	if (file && chmod(path, (mode_t)o->mode) < 0)
		return listen_failed(fd, name, "chmod", e);
	if (file && o->group != NULL && o->group[0] != '\0' &&
	    unix_group(path, o->group) < 0)
		return listen_failed(fd, name, "chown", e);
	if (listen(fd, o->backlog) < 0)
		return listen_failed(fd, name, "listen", e);
	return fd;
}

int socket_accept(int fd, struct net_addr *peer)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;
	const int c = os_accept(fd, (struct sockaddr *)&ss, &len);

	if (c < 0)
		return -1;
	net_from_sockaddr(peer, (struct sockaddr *)&ss);
	return c;
}

int socket_connect_tcp(const struct net_addr *a, const struct socket_opts *o,
    struct err *e)
{
	struct sockaddr_storage ss;
	const socklen_t len = net_to_sockaddr(a, &ss);
	const int fd = os_socket(ss.ss_family, SOCK_STREAM);

	if (fd < 0)
		return err_set(e, ERRCODE_CANNOT_CONNECT, "%s",
		    strerror(errno));
	if (socket_tune(fd, o, e) < 0) {
		close(fd);
		return -1;
	}
	if (connect(fd, (struct sockaddr *)&ss, len) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	err_set(e, ERRCODE_CANNOT_CONNECT, "%s", strerror(errno));
	close(fd);
	return -1;
}

int socket_connect_unix(const char *path, struct err *e)
{
	struct sockaddr_un un;
	const socklen_t len = unix_addr(path, &un);
	const int fd = len == 0 ? -1 : os_socket(AF_UNIX, SOCK_STREAM);

	if (fd >= 0 && (connect(fd, (struct sockaddr *)&un, len) == 0 ||
	    errno == EINPROGRESS))
		return fd;
	err_set(e, ERRCODE_CANNOT_CONNECT, "%s", strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool socket_has_route(const struct net_addr *a)
{
	struct net_addr to = *a;
	struct sockaddr_storage ss;

	to.port = 9;	/* any: connect() of a datagram socket routes only */
	const socklen_t len = net_to_sockaddr(&to, &ss);
	const int fd = os_socket(ss.ss_family, SOCK_DGRAM);

	if (fd < 0)
		return false;
	const bool ok = connect(fd, (struct sockaddr *)&ss, len) == 0;
	close(fd);
	return ok;
}

int socket_error(int fd)
{
	int value = 0;
	socklen_t len = sizeof value;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &len) < 0)
		return errno;
	return value;
}

int socket_set_rcvlowat(int fd, int bytes)
{
	return set_int(fd, SOL_SOCKET, SO_RCVLOWAT, bytes);
}

void socket_shut_input(int fd)
{
	(void)shutdown(fd, SHUT_RD);
}

bool socket_has_input(int fd)
{
	uint8_t byte;

	return recv(fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

bool socket_has_ended(int fd)
{
	uint8_t byte;
	const ssize_t n = recv(fd, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void socket_drain(int fd)
{
	uint8_t bytes[16384];

	for (int i = 0; i < DRAIN_ROUNDS; i++)
		if (os_discard(fd, bytes, sizeof bytes) <= 0)
			break;
	secret_wipe(bytes, sizeof bytes);
}

struct tuning {
	int level, name;
	int value;		/* 0 = leave what the system has */
	const char *what;
};

int socket_tune(int fd, const struct socket_opts *o, struct err *e)
{
	const int keep = o->keepalive;
	const struct tuning rows[] = {
		{ SOL_SOCKET, SO_SNDBUF, o->buffer_bytes, "SO_SNDBUF" },
		{ SOL_SOCKET, SO_RCVBUF, o->buffer_bytes, "SO_RCVBUF" },
		{ IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY" },
		{ SOL_SOCKET, SO_KEEPALIVE, keep, "SO_KEEPALIVE" },
		{ IPPROTO_TCP, TCP_KEEPCNT, keep ? o->keepcnt : 0,
		    "TCP_KEEPCNT" },
		{ IPPROTO_TCP, TCP_KEEPIDLE, keep ? o->keepidle : 0,
		    "TCP_KEEPIDLE" },
		{ IPPROTO_TCP, TCP_KEEPINTVL, keep ? o->keepintvl : 0,
		    "TCP_KEEPINTVL" },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, o->user_timeout,
		    "TCP_USER_TIMEOUT" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct tuning *t = &rows[i];

		if (t->value != 0 &&
		    set_int(fd, t->level, t->name, t->value) < 0)
			return err_set(e, ERRCODE_SYSTEM_ERROR,
			    "setsockopt(%s): %s", t->what, strerror(errno));
	}
	return 0;
}

/* Options whose 0 can be set, or which a fresh socket tells. */
static const struct {
	int level, name;
	bool ask;	/* a fresh socket */
} untuned[] = {
	{ SOL_SOCKET, SO_KEEPALIVE, false },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, false },
	{ IPPROTO_TCP, TCP_KEEPCNT, true },
	{ IPPROTO_TCP, TCP_KEEPIDLE, true },
	{ IPPROTO_TCP, TCP_KEEPINTVL, true },
};

int socket_retune(int fd, const struct socket_opts *o, struct err *e)
{
	const int fresh = os_socket(AF_INET, SOCK_STREAM);

	if (fresh < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "socket(): %s",
		    strerror(errno));
	for (size_t i = 0; i < sizeof untuned / sizeof untuned[0]; i++) {
		int value = 0;
		socklen_t len = sizeof value;

		if (untuned[i].ask && getsockopt(fresh, untuned[i].level,
		    untuned[i].name, &value, &len) < 0)
			continue;
		/* an option that fails here is set, and told, again below */
		(void)set_int(fd, untuned[i].level, untuned[i].name, value);
	}
	close(fresh);
	return socket_tune(fd, o, e);
}

/* The path of a Unix address of len bytes; '@' stands for the first NUL. */
static void unix_path(const struct sockaddr_un *un, socklen_t len, char *path)
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	const size_t n = len > head ? len - head : 0;

	memcpy(path, un->sun_path, n);
	path[n] = '\0';
	if (n > 0 && path[0] == '\0')
		path[0] = '@';
}

static int get_int(int fd, int name)
{
	int value = -1;
	socklen_t len = sizeof value;

	return getsockopt(fd, SOL_SOCKET, name, &value, &len) < 0 ? -1 : value;
}

int socket_adopt(int fd, struct net_addr *addr, char *path, struct err *e)
{
	union {
		struct sockaddr_storage ss;
		struct sockaddr_un un;
	} name;
	socklen_t len = sizeof name;

	memset(&name, 0, sizeof name);
	path[0] = '\0';
	if (get_int(fd, SO_TYPE) != SOCK_STREAM ||
	    get_int(fd, SO_ACCEPTCONN) != 1)
		return err_set(e, ERRCODE_SYSTEM_ERROR,
		    "descriptor %d is not a listening stream socket", fd);
	if (getsockname(fd, (struct sockaddr *)&name.ss, &len) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "descriptor %d: %s", fd,
		    strerror(errno));
	net_from_sockaddr(addr, (struct sockaddr *)&name.ss);
	if (name.ss.ss_family == AF_UNIX)
		unix_path(&name.un, len, path);
	return 0;
}

int socket_peer_addr(int fd, struct net_addr *out)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;

	if (getpeername(fd, (struct sockaddr *)&ss, &len) < 0)
		return -1;
	net_from_sockaddr(out, (struct sockaddr *)&ss);
	return 0;
}

int socket_local_addr(int fd, struct net_addr *out)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &len) < 0)
		return -1;
	net_from_sockaddr(out, (struct sockaddr *)&ss);
	return 0;
}

int socket_peer_cred(int fd, uid_t *uid, pid_t *pid)
{
	struct os_peer p;

	if (os_peer_get(fd, &p) < 0)
		return -1;
	*uid = p.uid;
	*pid = p.pid;
	return 0;
}

int socket_user_name(uid_t uid, char *name, size_t size)
{
	char buf[4096];
	struct passwd pw, *found = NULL;

	if (getpwuid_r(uid, &pw, buf, sizeof buf, &found) != 0 ||
	    found == NULL)
		return -1;
	return text_copy(name, size, pw.pw_name) ? 0 : -1;
}

/* Root counts as us: root has made the socket of a .socket unit. */
static bool is_us(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

/* "user 'x'", or its number where it has no name. */
static const char *whose(uid_t uid, char *buf, size_t size)
{
	char name[64];

	if (socket_user_name(uid, name, sizeof name) == 0)
		snprintf(buf, size, "user '%s'", name);
	else
		snprintf(buf, size, "user %lu", (unsigned long)uid);
	return buf;
}

int socket_check_owner(const char *path, struct err *e)
{
	char owner[96];
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 :
		    err_set(e, ERRCODE_SYSTEM_ERROR, "'%s': %s", path,
		    strerror(errno));
	if (is_us(st.st_uid))
		return 0;
	return err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE, "'%s' belongs to %s",
	    path, whose(st.st_uid, owner, sizeof owner));
}

bool socket_is_foreign(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid != geteuid();
}

int socket_unix_is_ours(const char *path, struct err *e)
{
	struct stat st;

	if (socket_check_owner(path, e) < 0)
		return -1;
	if (lstat(path, &st) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "'%s': %s", path,
		    strerror(errno));
	return S_ISSOCK(st.st_mode) ? 0 :
	    err_set(e, ERRCODE_SYSTEM_ERROR, "'%s' is no socket", path);
}

int socket_peer_is_ours(int fd, const char *path, struct err *e)
{
	char owner[96];
	uid_t uid;
	pid_t pid;

	if (socket_peer_cred(fd, &uid, &pid) < 0)
		return err_set(e, ERRCODE_SYSTEM_ERROR, "'%s': %s", path,
		    strerror(errno));
	return is_us(uid) ? 0 : err_set(e, ERRCODE_INSUFFICIENT_PRIVILEGE,
	    "at '%s' a process of %s listens", path, whose(uid, owner,
	    sizeof owner));
}

bool socket_unix_alive(const char *path)
{
	struct sockaddr_un un;
	const socklen_t len = unix_addr(path, &un);
	const int fd = len == 0 ? -1 : os_socket(AF_UNIX, SOCK_STREAM);

	if (fd < 0)
		return false;
	/* a process that keeps us out may well be there */
	const bool alive = connect(fd, (struct sockaddr *)&un, len) == 0 ||
	    (errno != ECONNREFUSED && errno != ENOENT && errno != ENOTDIR);

	close(fd);
	return alive;
}
