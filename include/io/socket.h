/* socket.h - make, tune and ask sockets: listen, connect, peer credentials.
 * SPDX-License-Identifier: ISC */
#ifndef IO_SOCKET_H
#define IO_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/net.h"

struct err;

/* spec/settings.md section 10. */
struct socket_opts {
	int buffer_bytes;	/* SO_SNDBUF and SO_RCVBUF; 0 = system */
	bool keepalive;
	int keepcnt, keepidle, keepintvl;	/* 0 = system; seconds */
	int user_timeout;	/* milliseconds; 0 = system */
};

struct socket_listen {
	int backlog;
	bool reuseport;
	bool defer_accept;
	int mode;		/* Unix: permission bits */
	const char *group;	/* Unix: name or gid; NULL or "" = unchanged */
};

/* All fds are non-blocking and close-on-exec. Each returns an fd, or -1 with
 * e set: "cannot listen on <addr>: <call>(): <errno text>". */
int socket_listen_tcp(const struct net_addr *a, const struct socket_listen *o,
    struct err *e);
int socket_listen_unix(const char *path, const struct socket_listen *o,
    struct err *e);

/* One connection, or -1 and errno. peer is filled. */
int socket_accept(int fd, struct net_addr *peer);

/* Start to connect: an fd (perhaps still connecting), or -1 with e. */
int socket_connect_tcp(const struct net_addr *a, const struct socket_opts *o,
    struct err *e);
/* path may begin with '@' (Linux abstract namespace). */
int socket_connect_unix(const char *path, struct err *e);

/* Would a packet to a leave this machine? None is sent; no port is needed. */
bool socket_has_route(const struct net_addr *a);

/* 0, or the errno of a connect that has ended. */
int socket_error(int fd);

bool socket_is_tcp(int fd);
/*
 * TCP: fd is readable (poll, epoll) when so many bytes wait, or its buffer is
 * full, or no more will come; 1 = the default. 0 or -1.
 */
int socket_set_rcvlowat(int fd, int bytes);

/*
 * Read away what has come, within limits: a close with bytes unread resets the
 * connection, and the peer may lose what it was told last (RFC 2525, 2.17).
 */
void socket_drain(int fd);
/* Is there anything to read, or the end? */
bool socket_has_input(int fd);
/* Is there nothing more to read than the end, or an error? */
bool socket_has_ended(int fd);
/*
 * Of a Unix socket: the peer can send no more from now on; what it has sent is
 * still read, and the end behind it.
 */
void socket_shut_input(int fd);

/* TCP_NODELAY and the options; 0, or -1 with e. Nothing on Unix sockets. */
int socket_tune(int fd, const struct socket_opts *o, struct err *e);

/*
 * The same for a socket that was tuned before: options that are 0 or off now
 * get the system's value back (but for the buffers: Linux can't).
 */
int socket_retune(int fd, const struct socket_opts *o, struct err *e);

/*
 * Listening TCP sockets: accept when data has come, if the system can. 0, or -1 with
 * e.
 */
int socket_defer_accept(int fd, bool on, struct err *e);

/*
 * Listening TCP sockets: from now on SYNs are not answered, so that whoever
 * connects tries again, while handshakes that have begun go on. Accepted
 * sockets inherit it until socket_hear_new(). 0 or -1.
 */
int socket_ignore_new(int fd);
void socket_hear_new(int fd);

/*
 * fd was opened by another process: is fd a listening stream socket? Its
 * address goes to addr, and to path (SOCKET_PATH_MAX bytes) the path of a Unix
 * socket, "" for others. fd becomes non-blocking and close-on-exec. 0, or -1
 * with e.
 */
#define SOCKET_PATH_MAX 128	/* more than a sockaddr_un takes */
int socket_adopt(int fd, struct net_addr *addr, char *path, struct err *e);

int socket_local_addr(int fd, struct net_addr *out);
int socket_peer_addr(int fd, struct net_addr *out);

/* Unix: user and process of the peer. 0 or -1. */
int socket_peer_cred(int fd, uid_t *uid, pid_t *pid);
/* The name of user uid: may block. 0 or -1: not known, or too long. */
int socket_user_name(uid_t uid, char *name, size_t size);

/* Has the peer of fd hung up? It may have sent bytes before that. */
bool socket_is_left(int fd);

/* Does a file at path, or what else is there, belong to another user? */
bool socket_is_foreign(const char *path);

/*
 * In a folder that all may write others may have been faster. "Ours" is what
 * belongs to our user, or to root. All: 0, or -1 with e, which says whose.
 */
/* Does the file at path, if there is one, belong to us? */
int socket_check_owner(const char *path, struct err *e);
/* Is there a socket of ours? */
int socket_unix_is_ours(const char *path, struct err *e);
/* fd is connected to path: has one of us called listen()? */
int socket_peer_is_ours(int fd, const char *path, struct err *e);

/* Does somebody accept connections at this Unix path? Or can't we know? */
bool socket_unix_alive(const char *path);

#endif
