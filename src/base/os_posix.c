/* os_posix.c - what systems do in different ways: what all of them have.
 * SPDX-License-Identifier: ISC */
#include "base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/num.h"

#define LOOK_MS 10	/* from look to look whether a process is there */

const char *os_name(void)
{
	return "posix";
}

/* A child that is forked between two calls may have fd; nothing here forks then. */
static int set_flags(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Returns fd, or -1 and errno of the failure. */
static int flagged(int fd)
{
	if (fd < 0 || set_flags(fd) == 0)
		return fd;
	const int saved = errno;

	close(fd);
	errno = saved;
	return -1;
}

int os_pipe(int ends[2])
{
	if (pipe(ends) < 0)
		return -1;
	if (set_flags(ends[0]) == 0 && set_flags(ends[1]) == 0)
		return 0;
	const int saved = errno;

	close(ends[0]);
	close(ends[1]);
	errno = saved;
	return -1;
}

int os_socket(int domain, int type)
{
	return flagged(socket(domain, type, 0));
}

int os_accept(int fd, struct sockaddr *from, socklen_t *len)
{
	return flagged(accept(fd, from, len));
}

/* Descriptors in m get the flag. */
ssize_t os_recvmsg(int fd, struct msghdr *m)
{
	const ssize_t n = recvmsg(fd, m, 0);

	if (n < 0)
		return n;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL;
	    h = CMSG_NXTHDR(m, h)) {
		int got;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = CMSG_LEN(0); at + sizeof got <= h->cmsg_len;
		    at += sizeof got) {
			memcpy(&got, (const char *)h + at, sizeof got);
			(void)fcntl(got, F_SETFD, FD_CLOEXEC);
		}
	}
	return n;
}

#ifdef HAVE_CLOSEFROM
void os_close_from(int fd)
{
	closefrom(fd);
}
#else
/* The limit of descriptors may be millions, so ask which of them are open. */
void os_close_from(int fd)
{
	DIR *const open_ones = opendir("/dev/fd");
	const struct dirent *e;
	int last = open_ones == NULL ? (int)sysconf(_SC_OPEN_MAX) : fd;

	while (open_ones != NULL && (e = readdir(open_ones)) != NULL) {
		uint32_t n;

		if (num_parse_u32(e->d_name, &n) == 0 && (int)n > last)
			last = (int)n;
	}
	if (open_ones != NULL)
		(void)closedir(open_ones);
	for (; fd <= last; fd++)
		close(fd);
}
#endif

void *os_map_longer(void *p, size_t n, size_t more)
{
	void *const longer = mmap(NULL, more, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (longer == MAP_FAILED)
		return NULL;
	memcpy(longer, p, n);
	(void)munmap(p, n);
	return longer;
}

ssize_t os_discard(int fd, void *buf, size_t n)
{
	return recv(fd, buf, n, 0);
}

int os_wake_open(struct os_wake *w)
{
	int ends[2];

	w->fd = w->to = -1;
	if (os_pipe(ends) < 0)
		return -1;
	w->fd = ends[0];
	w->to = ends[1];
	return 0;
}

void os_wake_close(struct os_wake *w)
{
	if (w->fd >= 0) {
		close(w->fd);
		close(w->to);
	}
	w->fd = w->to = -1;
}

/* A full pipe wakes as well as one byte more. */
void os_wake_call(const struct os_wake *w)
{
	(void)!write(w->to, "", 1);
}

void os_wake_take(const struct os_wake *w)
{
	char bytes[512];

	while (read(w->fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
		continue;
}

/* The handler writes to the second one. */
static int signal_pipe[2] = { -1, -1 };

static void on_signal(int signo)
{
	const int saved = errno;
	const unsigned char byte = (unsigned char)signo;

	(void)!write(signal_pipe[1], &byte, 1);
	errno = saved;
}

int os_signals_open(const sigset_t *set)
{
	struct sigaction act = { .sa_handler = on_signal,
		.sa_flags = SA_RESTART };

	if (signal_pipe[0] < 0 && os_pipe(signal_pipe) < 0)
		return -1;
	sigfillset(&act.sa_mask);
	for (int signo = 1; signo < NSIG; signo++) {
		if (sigismember(set, signo) == 1)
			(void)sigaction(signo, &act, NULL);
	}
	return fcntl(signal_pipe[0], F_DUPFD_CLOEXEC, 0);
}

int os_signals_take(int fd)
{
	unsigned char signo;

	return read(fd, &signo, 1) == 1 ? signo : 0;
}

int os_process_open(pid_t pid)
{
	(void)pid;
	return -1;
}

bool os_process_await(int fd, pid_t pid, int ms)
{
	(void)fd;
	for (; pid > 0; ms -= LOOK_MS) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return true;
		if (ms <= 0)
			return false;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return false;
}

void os_process_seclude(const char *name)
{
	(void)name;
}

void os_process_adopt(void)
{
}

void os_lock_pages(const void *p, size_t n)
{
	(void)p;
	(void)n;
}

int os_splice_pipe(int ends[2])
{
	ends[0] = ends[1] = -1;
	errno = ENOSYS;
	return -1;
}

ssize_t os_splice(int from, int to, size_t n)
{
	(void)from;
	(void)to;
	(void)n;
	errno = ENOSYS;
	return -1;
}

void os_cpus_get(struct os_cpus *c)
{
	memset(c, 0, sizeof *c);
}

int os_cpus_set(const struct os_cpus *c)
{
	(void)c;
	return ENOSYS;
}

int os_cpus_pin(int cpu)
{
	(void)cpu;
	return ENOSYS;
}

int os_cpus_count(const struct os_cpus *c)
{
	(void)c;
	return 0;
}
