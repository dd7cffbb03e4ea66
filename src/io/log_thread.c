/* log_thread.c - the log is written by threads, so that the loop never waits.
 * SPDX-License-Identifier: ISC */
#include "io/log_thread.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log_line.h"
#include "base/log_out.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/ring.h"
#include "base/time.h"
#include "io/thread.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

#define QUEUE_SIZE (256 * 1024)	/* two thousand lines, of each destination */
#define CRASH_MS 1000		/* time that a crash waits for its lines */
#define PATIENCE (USEC / 10)	/* of each second, the loop waits for lines */

/* Bytes that a pipe takes as a whole, so that lines of processes don't mix. */
#define BATCH_SIZE PIPE_BUF

/* A destination and its thread. */
struct lane {
	enum log_dest to;
	bool started, failed;	/* the loop's */
	struct ring ring;
	atomic_ulong dropped;	/* lines lost behind those in ring */
	atomic_bool asleep;	/* all lines in ring are written */
	sem_t work;		/* posted once for each sleep */
	atomic_bool awaited;	/* the loop waits for the next sleep */
	sem_t done;		/* posted for it */
	usec_t since, left;	/* the loop's: a second of it, and patience */
	bool hangs;		/* the loop's: not waited for until it is idle */
};

static struct lane lanes[LOG_DESTS];
static struct os_cpus cpus;	/* for threads */

/* --- on the threads --- */

/* Lines that stand in a row go out as one write. Returns the last tag. */
static int write_next(struct lane *l, int tag, size_t n)
{
	char buf[LOG_LINE_SIZE];
	struct log_record r = { .tag = tag, .text = buf };

	do {
		ring_take(&l->ring, buf + r.len, n);
		r.len += n;
	} while (r.tag == LOG_PLAIN && ring_peek(&l->ring, &tag, &n) &&
	    tag == LOG_PLAIN && r.len + n <= BATCH_SIZE);
	log_out_write(l->to, &r);
	return r.tag;
}

static void write_queued(struct lane *l)
{
	unsigned long dropped;
	size_t n;
	int tag, last = LOG_PLAIN;

	while (ring_peek(&l->ring, &tag, &n))
		last = write_next(l, tag, n);
	/* no line was queued since the first lost one: see put() */
	dropped = atomic_exchange(&l->dropped, 0);
	if (dropped > 0)
		log_out_lose(l->to, last, dropped);
}

static void sleep_on(struct lane *l)
{
	atomic_store(&l->asleep, true);
	/* lines that came, or were lost, before that did not wake us */
	if ((!ring_is_empty(&l->ring) || atomic_load(&l->dropped) > 0) &&
	    atomic_exchange(&l->asleep, false))
		return;
	if (atomic_exchange(&l->awaited, false))
		sem_post(&l->done);
	while (sem_wait(&l->work) < 0 && errno == EINTR)
		;
}

static void *run(void *arg)
{
	struct lane *const l = arg;

	thread_unpin(&cpus);
	for (;;) {
		write_queued(l);
		sleep_on(l);
	}
	return NULL;
}

/* --- on the loop --- */

/* Signals are the loop's. */
static int start_thread(struct lane *l)
{
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int rc = pthread_create(&thread, NULL, run, l);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc != 0)
		return -1;
	(void)pthread_setname_np(thread, "log");
	(void)pthread_detach(thread);
	return 0;
}

static int start(struct lane *l, enum log_dest to)
{
	l->to = to;
	if (sem_init(&l->work, 0, 0) < 0 || sem_init(&l->done, 0, 0) < 0 ||
	    ring_init(&l->ring, QUEUE_SIZE) < 0)
		return -1;
	if (start_thread(l) == 0) {
		mem_note(MEM_LOG, 1, (long)l->ring.size);
		return 0;
	}
	ring_fini(&l->ring);
	return -1;
}

/*
 * Once a line is lost, so are the lines after it until the thread has written
 * all queued lines: so the thread's note stands in the place of the lost lines.
 */
static void put(enum log_dest to, const struct log_record *r)
{
	struct lane *const l = &lanes[to];

	if (!l->started && !l->failed) {
		l->started = start(l, to) == 0;
		l->failed = !l->started;
	}
	if (l->failed) {
		log_out_write(to, r);
		return;
	}
	if (atomic_load(&l->dropped) > 0 ||
	    !ring_put(&l->ring, r->tag, r->text, r->len))
		atomic_fetch_add(&l->dropped, 1);
	/* also for a lost one: the ring may be empty, and the thread asleep */
	if (atomic_exchange(&l->asleep, false))
		sem_post(&l->work);
}

static bool is_settled(struct lane *l)
{
	return !l->started || (atomic_load(&l->asleep) &&
	    atomic_load(&l->dropped) == 0 && ring_is_empty(&l->ring));
}

static bool is_idle(void)
{
	for (size_t i = 0; i < COUNT(lanes); i++) {
		if (!is_settled(&lanes[i]))
			return false;
	}
	return true;
}

/* false: it is late. */
static bool wait_done(struct lane *l, usec_t end)
{
	return os_sem_wait(&l->done, end) == 0 || errno == EINTR;
}

/*
 * A line takes some microseconds. A disk may be slow: most of each second is
 * there for all else. Where lines did not come to their end in that time it
 * hangs, and nobody waits for it until it has written all.
 */
static void settle(enum log_dest to)
{
	struct lane *const l = &lanes[to];
	usec_t now;

	l->hangs = l->hangs && !is_settled(l);
	if (l->hangs || is_settled(l))
		return;
	now = time_precise();
	if (now - l->since >= USEC) {
		l->since = now;
		l->left = PATIENCE;
	}
	const usec_t end = now + l->left;

	do
		atomic_store(&l->awaited, true);
	while (!is_settled(l) && wait_done(l, end));
	now = time_precise();
	l->left = now < end ? end - now : 0;
	l->hangs = l->left == 0;
}

/* Safe in a signal handler. */
static void flush(int ms)
{
	const usec_t end = time_precise() + (usec_t)ms * USEC / 1000;

	while (!is_idle() && time_precise() < end)
		(void)poll(NULL, 0, 1);
}

/* --- crashes --- */

static struct sigaction before[NSIG];

/* The threads live on while the one that has crashed waits for them. */
static void on_crash(int signo, siginfo_t *info, void *context)
{
	(void)context;
	sigaction(signo, &before[signo], NULL);
	flush(CRASH_MS);
	/* a fault happens again by itself, and in the same place */
	if (info->si_code <= 0)
		raise(signo);
}

static void catch_crashes(void)
{
	static const int signals[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL,
		SIGSEGV };
	struct sigaction act = { .sa_sigaction = on_crash,
		.sa_flags = SA_SIGINFO };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < COUNT(signals); i++)
		(void)sigaction(signals[i], &act, &before[signals[i]]);
}

void log_thread_start(void)
{
	static const struct log_queue queue = { .put = put, .flush = flush,
		.settle = settle };

	os_cpus_get(&cpus);
	catch_crashes();
	log_out_set_queue(&queue);
}
