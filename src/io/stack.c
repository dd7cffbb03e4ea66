/* stack.c - where a thread is that does not come: its stack, as told by itself.
 * SPDX-License-Identifier: ISC */
#include "io/stack.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os.h"
#include "io/loop.h"
#include "io/thread.h"

#define FRAMES 48
#define OURS 2		/* of these: the handler, and the return from it */

/* Goes through the pipe in one piece. */
struct report {
	unsigned who;
	int count;
	void *frames[FRAMES];
};

/* Told to a handler; never changes. */
struct asked {
	int fd;
	unsigned who;
};

struct stacks {
	struct loop_watch *watch;	/* owned */
	int pipe[2];
	stacks_fn *fn;
	void *arg;
	struct asked asked[STACKS_THREADS];
};

/* On the thread, amid anything: only what is safe in a signal handler. */
static void on_asked(int signo, siginfo_t *info, void *context)
{
	const struct asked *const a = info->si_value.sival_ptr;
	const int before = errno;
	struct report r;

	(void)signo;
	(void)context;
	/* from another process it would be anything */
	if (info->si_code != SI_QUEUE || info->si_pid != getpid())
		return;
	r.who = a->who;
	r.count = backtrace(r.frames, FRAMES);
	(void)!write(a->fd, &r, sizeof r);
	errno = before;
}

static void tell(const struct stacks *s, const struct report *r)
{
	char **const names = backtrace_symbols(r->frames, r->count);

	for (int i = OURS; names != NULL && i < r->count; i++)
		s->fn(s->arg, r->who, names[i]);
	free(names);	/* (backtrace_symbols(3)) */
}

static void on_report(void *arg)
{
	const struct stacks *const s = arg;
	struct report r;

	if (read(s->pipe[0], &r, sizeof r) == (ssize_t)sizeof r)
		tell(s, &r);
}

/* The first call of backtrace() loads a library, which no handler may do. */
static void catch_signal(void)
{
	struct sigaction act = { .sa_sigaction = on_asked,
		.sa_flags = SA_SIGINFO | SA_RESTART };
	void *frame;

	(void)backtrace(&frame, 1);
	sigfillset(&act.sa_mask);
	(void)sigaction(THREAD_SIGNAL, &act, NULL);
}

struct stacks *stacks_new(struct loop *l, stacks_fn *fn, void *arg)
{
	struct stacks *s = mem_zalloc(sizeof *s);

	if (s == NULL)
		return NULL;
	s->fn = fn;
	s->arg = arg;
	if (os_pipe(s->pipe) < 0) {
		mem_free(s);
		return NULL;
	}
	for (unsigned i = 0; i < STACKS_THREADS; i++)
		s->asked[i] = (struct asked){ s->pipe[1], i };
	s->watch = loop_watch(l, s->pipe[0], on_report, s);
	if (s->watch == NULL)
		stacks_free(&s);
	else
		catch_signal();
	return s;
}

void stacks_free(struct stacks **sp)
{
	struct stacks *const s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	loop_unwatch(&s->watch);
	close(s->pipe[0]);
	close(s->pipe[1]);
	mem_free(s);
}

void stacks_ask(struct stacks *s, const struct thread *t, unsigned who)
{
	(void)pthread_sigqueue(thread_id(t), THREAD_SIGNAL,
	    (union sigval){ .sival_ptr = &s->asked[who] });
}
