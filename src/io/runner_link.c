/* runner_link.c - the way of one loop to the process that runs commands.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "base/container.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "io/fdpass.h"
#include "io/loop.h"
#include "io/runner_parts.h"

#define AT_ONCE 64		/* answers in one turn */

/* An order that the socket had no room for. */
struct unsent {
	struct unsent *prev, *next;
	struct runner_order *order;	/* owned; cut behind its words */
};

struct runner_link {
	struct loop_task task;		/* scheduled while orders are unsent */
	struct loop *loop;		/* borrowed */
	struct unsent *unsent;		/* DL list, the oldest first */
	const struct runner_ops *ops;
	void *arg;
	int runner;			/* borrowed */
	int fd;				/* -1: not attached */
	struct loop_watch *watch;	/* owned; of fd */
	struct runner_answer *answer;	/* owned: room for one */
};

static void drop_unsent(struct runner_link *l, struct unsent *u)
{
	DL_DELETE(l->unsent, u);
	mem_free(u->order);
	mem_free(u);
}

static void detach(struct runner_link *l)
{
	while (l->unsent != NULL)
		drop_unsent(l, l->unsent);
	loop_cancel(&l->task);
	loop_unwatch(&l->watch);
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* Is it as long as it says it is? */
static bool is_whole(const struct runner_answer *a, size_t n)
{
	return n >= RUNNER_ANSWER_HEAD && n == RUNNER_ANSWER_HEAD + a->len &&
	    (a->ok || (a->len > 0 && a->text[a->len - 1] == '\0'));
}

static void on_readable(void *arg)
{
	struct runner_link *const l = arg;
	struct runner_answer *const a = l->answer;

	for (int i = 0; i < AT_ONCE; i++) {
		const ssize_t n = recv(l->fd, a, sizeof *a, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			detach(l);
			l->ops->gone(l->arg);
			return;
		}
		if (is_whole(a, (size_t)n))
			l->ops->answer(l->arg, a);
		secret_wipe(a, (size_t)n);
	}
}

static size_t order_bytes(const struct runner_order *o)
{
	return RUNNER_ORDER_HEAD + o->bytes;
}

/* 1: sent; 0: there is no room; -1: the runner is gone. */
static int try_send(const struct runner_link *l, const struct runner_order *o)
{
	const ssize_t n = send(l->fd, o, order_bytes(o),
	    MSG_DONTWAIT | MSG_NOSIGNAL);

	return n >= 0 ? 1 : errno == EAGAIN || errno == ENOBUFS ||
	    errno == EINTR ? 0 : -1;
}

/* If the runner is gone, the end of the socket tells that, and drops the rest. */
static void send_unsent(struct loop_task *t)
{
	struct runner_link *const l = container_of(t, struct runner_link, task);

	while (l->unsent != NULL && try_send(l, l->unsent->order) > 0)
		drop_unsent(l, l->unsent);
	if (l->unsent == NULL)
		loop_cancel(t);
}

static int attach(struct runner_link *l)
{
	const struct runner_word w = { .kind = RUNNER_ATTACH };
	const struct fdpass_way way = { .sock = l->runner };
	int ends[2];

	if (l->fd >= 0)
		return 0;
	if (l->runner < 0 || runner_pair(ends) < 0)
		return -1;
	l->fd = ends[0];
	l->watch = loop_watch(l->loop, l->fd, on_readable, l);
	const int rc = l->watch == NULL ? -1 :
	    fdpass_send(&way, &w, sizeof w, ends[1]);

	close(ends[1]);
	if (rc < 0)
		detach(l);
	return rc;
}

struct runner_link *runner_link_new(struct loop *loop, int runner,
    const struct runner_ops *ops, void *arg)
{
	struct runner_link *l = mem_zalloc(sizeof *l);

	if (l == NULL)
		return NULL;
	l->loop = loop;
	l->runner = runner;
	l->ops = ops;
	l->arg = arg;
	l->fd = -1;
	l->task.run = send_unsent;
	l->answer = secmem_zalloc(sizeof *l->answer);
	if (l->answer == NULL)
		runner_link_free(&l);
	return l;
}

void runner_link_free(struct runner_link **lp)
{
	struct runner_link *const l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	detach(l);
	secmem_free(l->answer);
	mem_free(l);
}

static int keep_unsent(struct runner_link *l, const struct runner_order *o)
{
	struct unsent *const u = mem_zalloc(sizeof *u);

	if (u == NULL)
		return -1;
	u->order = mem_dup(o, order_bytes(o));
	if (u->order == NULL) {
		mem_free(u);
		return -1;
	}
	DL_APPEND(l->unsent, u);
	loop_fast_tick_on(l->loop, &l->task);
	return 0;
}

int runner_link_order(struct runner_link *l, const struct runner_order *o)
{
	if (attach(l) < 0)
		return -1;
	const int rc = l->unsent != NULL ? 0 : try_send(l, o);

	return rc == 0 ? keep_unsent(l, o) : rc < 0 ? -1 : 0;
}
