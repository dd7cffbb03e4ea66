/* os.h - what systems do in different ways; configure chooses the file.
 *
 * os_linux.c has calls that Linux alone has, or few others. os_posix.c does without
 * them. os_gnu.c and os_no_gnu.c do so for what glibc alone has. All descriptors that
 * these functions make are close-on-exec.
 * SPDX-License-Identifier: ISC */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/time.h"

/* "linux" or "posix". */
const char *os_name(void);

/* Non-blocking: 0, or -1 and errno; a descriptor, or -1 and errno. */
int os_pipe(int pipe[2]);
int os_socket(int domain, int type);
int os_accept(int fd, struct sockaddr *from, socklen_t *len);

/* Close all descriptors from fd on. */
void os_close_from(int fd);

/*
 * The private mapping p of n bytes, made longer; it may move. NULL: there is no
 * memory, and p is as before.
 */
void *os_map_longer(void *p, size_t n, size_t more);

/* As recvmsg(2) and recv(2). Bytes that are discarded need not be in buf then. */
ssize_t os_recvmsg(int fd, struct msghdr *m);
ssize_t os_discard(int fd, void *buf, size_t n);

/*
 * By this any thread wakes one that polls fd for input. Until the one that was
 * woken calls os_wake_take(), further calls add nothing.
 */
struct os_wake {
	int fd;		/* -1: it is not open */
	int to;		/* private */
};
int os_wake_open(struct os_wake *w);	/* 0 or -1 */
void os_wake_close(struct os_wake *w);
void os_wake_call(const struct os_wake *w);
void os_wake_take(const struct os_wake *w);

/*
 * Signals of the set come as input of a descriptor from now on; for programs of
 * one thread, once in a process. -1: that cannot be. os_signals_take() returns
 * the next one, or 0.
 */
int os_signals_open(const sigset_t *set);
int os_signals_take(int fd);

/* A descriptor that has input when that process has ended; -1: nothing tells. */
int os_process_open(pid_t pid);
/* The same process: has it ended, at most so many milliseconds from now? */
bool os_process_await(int fd, pid_t pid, int ms);

/*
 * This process has that name (15 letters), no core file, and no debugger of its own
 * user, if the system knows such.
 */
void os_process_seclude(const char *name);
/*
 * From now on this process is the parent of what its descendants leave behind, if
 * the system knows such; it must wait for them.
 */
void os_process_adopt(void);
/* Pages that are written are not swapped, as far as a limit allows that. */
void os_lock_pages(const void *p, size_t n);

/* The user and the process at the other end of a Unix socket: 0 or -1. */
struct os_peer {
	uid_t uid;
	pid_t pid;	/* 0: not known */
};
int os_peer_get(int fd, struct os_peer *p);
/*
 * From now on each message that os_recvmsg() receives names its sender, if the
 * system knows senders; else the peer counts as the sender. 0 or -1.
 */
int os_sender_ask(int fd);
#define OS_SENDER_SPACE 64	/* of msg_control */
int os_sender_get(int fd, struct msghdr *m, struct os_peer *p);

/*
 * A pipe by which os_splice() moves bytes from socket to socket unseen. -1: the
 * system has none, so bytes are copied.
 */
int os_splice_pipe(int pipe[2]);
/* As splice(2), without blocking. */
ssize_t os_splice(int from, int to, size_t n);

/* Give memory that is free back to the system, if the heap can. */
void os_trim(void);

/* As sem_wait(3), at most until end on the clock of time_precise(). */
int os_sem_wait(sem_t *s, usec_t end);

/* CPUs on which a thread may run. */
struct os_cpus {
	unsigned long bits[1024 / (8 * sizeof(unsigned long))];
};
/* This thread's; none where that is not known. */
void os_cpus_get(struct os_cpus *c);
int os_cpus_set(const struct os_cpus *c);	/* 0 or an error */
int os_cpus_pin(int cpu);			/* the same */
int os_cpus_count(const struct os_cpus *c);

#endif
