/* turn_clock.c - how long a turn of an event loop is, from inside.
 *
 * Preloaded into a program: between two calls of epoll_wait(2) of its first
 * thread lies a turn. The longest of them and their number are in the file that
 * $TURN_CLOCK names, mapped, as struct turns; whoever reads it may set it to
 * zero. What counts is CPU time: who else wants the processor does not.
 * SPDX-License-Identifier: ISC */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct turns {
	uint64_t longest;	/* nanoseconds */
	uint64_t count;
	uint64_t sum;
};

static struct turns *turns;
static uint64_t begun;		/* 0: no turn has begun */

static int (*real_wait)(int, struct epoll_event *, int, int);
static int (*real_pwait2)(int, struct epoll_event *, int,
    const struct timespec *, const sigset_t *);

__attribute__((constructor)) static void begin(void)
{
	const char *const path = getenv("TURN_CLOCK");
	const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *const at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *turns,
	    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (at != MAP_FAILED)
		turns = at;
	real_wait = (int (*)(int, struct epoll_event *, int, int))
	    dlsym(RTLD_NEXT, "epoll_wait");
	real_pwait2 = (int (*)(int, struct epoll_event *, int,
	    const struct timespec *, const sigset_t *))
	    dlsym(RTLD_NEXT, "epoll_pwait2");
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void end_turn(void)
{
	if (turns == NULL || begun == 0 || gettid() != getpid())
		return;
	const uint64_t length = cpu_time() - begun;

	if (length > turns->longest)
		turns->longest = length;
	turns->count++;
	turns->sum += length;
}

static void begin_turn(void)
{
	if (gettid() == getpid())
		begun = cpu_time();
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	end_turn();
	const int n = real_wait(fd, events, max, timeout);

	begin_turn();
	return n;
}

int epoll_pwait2(int fd, struct epoll_event *events, int max,
    const struct timespec *timeout, const sigset_t *mask)
{
	end_turn();
	const int n = real_pwait2(fd, events, max, timeout, mask);

	begin_turn();
	return n;
}
