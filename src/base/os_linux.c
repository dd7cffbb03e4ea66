/* os_linux.c - what systems do in different ways: Linux.
 * SPDX-License-Identifier: ISC */
#include "base/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)	/* limit of the kernel for ordinary users */

static_assert(sizeof(struct os_cpus) == sizeof(cpu_set_t), "CPU_SETSIZE");

const char *os_name(void)
{
	return "linux";
}

int os_pipe(int pipe[2])
{
	return pipe2(pipe, O_CLOEXEC | O_NONBLOCK);
}

int os_socket(int domain, int type)
{
	return socket(domain, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int os_accept(int fd, struct sockaddr *from, socklen_t *len)
{
	return accept4(fd, from, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

ssize_t os_recvmsg(int fd, struct msghdr *m)
{
	return recvmsg(fd, m, MSG_CMSG_CLOEXEC);
}

void os_close_from(int fd)
{
	(void)syscall(SYS_close_range, (unsigned)fd, UINT_MAX, 0);
}

void *os_map_longer(void *p, size_t n, size_t more)
{
	void *const longer = mremap(p, n, more, MREMAP_MAYMOVE);

	return longer == MAP_FAILED ? NULL : longer;
}

/* TCP drops the bytes, Unix sockets give them once more. */
ssize_t os_discard(int fd, void *buf, size_t n)
{
	return recv(fd, buf, n, MSG_TRUNC);
}

int os_wake_open(struct os_wake *w)
{
	w->fd = w->to = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return w->fd < 0 ? -1 : 0;
}

void os_wake_close(struct os_wake *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = w->to = -1;
}

void os_wake_call(const struct os_wake *w)
{
	const uint64_t one = 1;

	(void)!write(w->to, &one, sizeof one);
}

void os_wake_take(const struct os_wake *w)
{
	uint64_t count;

	(void)!read(w->fd, &count, sizeof count);
}

int os_signals_open(const sigset_t *set)
{
	if (sigprocmask(SIG_BLOCK, set, NULL) != 0)
		return -1;
	return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int os_signals_take(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof info) != (ssize_t)sizeof info)
		return 0;
	return (int)info.ssi_signo;
}

int os_process_open(pid_t pid)
{
	return pid <= 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
}

bool os_process_await(int fd, pid_t pid, int ms)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };

	(void)pid;
	return poll(&end, 1, ms) == 1;
}

/* The command line becomes name: scripts look for the pooler by its own. */
static void retitle(const char *name)
{
	char had[1024];
	const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, had, sizeof had);

	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return;
	/* the arguments stand behind each other, the first one ahead */
	memset(program_invocation_name, 0, (size_t)n);
	memcpy(program_invocation_name, name, strnlen(name, (size_t)n - 1));
}

void os_process_seclude(const char *name)
{
	retitle(name);
	(void)prctl(PR_SET_NAME, name);
	(void)prctl(PR_SET_DUMPABLE, 0);
}

void os_process_adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void os_lock_pages(const void *p, size_t n)
{
	(void)mlock2(p, n, MLOCK_ONFAULT);
}

int os_splice_pipe(int pipe[2])
{
	if (os_pipe(pipe) < 0)
		return -1;
	(void)fcntl(pipe[0], F_SETPIPE_SZ, PIPE_BYTES);
	return 0;
}

ssize_t os_splice(int from, int to, size_t n)
{
	return splice(from, NULL, to, NULL, n,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
}

void os_cpus_get(struct os_cpus *c)
{
	cpu_set_t set;

	memset(c, 0, sizeof *c);
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		memcpy(c, &set, sizeof set);
}

int os_cpus_set(const struct os_cpus *c)
{
	cpu_set_t set;

	memcpy(&set, c, sizeof set);
	return sched_setaffinity(0, sizeof set, &set) < 0 ? errno : 0;
}

int os_cpus_pin(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	return sched_setaffinity(0, sizeof one, &one) < 0 ? errno : 0;
}

int os_cpus_count(const struct os_cpus *c)
{
	cpu_set_t set;

	memcpy(&set, c, sizeof set);
	return CPU_COUNT(&set);
}
