/* turn_clock.c - how long a turn of an event loop is, from inside.
 *
 * Preloaded into a program: between two calls of epoll_wait(2) of its first
 * thread lies a turn. How long they are by CPU time and by the wall clock is in
 * the file that $TURN_CLOCK names, mapped, as two of struct lengths; whoever
 * reads it may set it to zero. What CPU time says counts: who else wants the
 * processor is in the wall clock's only.
 * SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STEP 10000	/* nanoseconds, of counts */
#define STEPS 10000	/* the last has what is longer, too */

struct lengths {
	uint64_t longest;	/* nanoseconds */
	uint64_t sum;
	uint64_t count;
	uint64_t counts[STEPS];
};

static struct {
	struct lengths cpu, wall;
} *turns;

static struct {
	uint64_t cpu, wall;	/* 0: no turn has begun */
} begun;

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

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note(struct lengths *l, uint64_t length)
{
	const uint64_t step = length / STEP;

	if (length > l->longest)
		l->longest = length;
	l->sum += length;
	l->count++;
	l->counts[step < STEPS ? step : STEPS - 1]++;
}

static void end_turn(void)
{
	if (turns == NULL || begun.wall == 0 || gettid() != getpid())
		return;
	note(&turns->cpu, now(CLOCK_THREAD_CPUTIME_ID) - begun.cpu);
	note(&turns->wall, now(CLOCK_MONOTONIC) - begun.wall);
}

static void begin_turn(void)
{
	if (gettid() != getpid())
		return;
	begun.wall = now(CLOCK_MONOTONIC);
	begun.cpu = now(CLOCK_THREAD_CPUTIME_ID);
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
