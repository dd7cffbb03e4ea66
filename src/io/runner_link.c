/* runner_link.c - the way of one loop to the process that runs commands.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "io/fdpass.h"
#include "io/loop.h"
#include "io/runner_parts.h"

#define AT_ONCE 64		/* answers in one turn */

struct runner_link {
	struct loop *loop;		/* borrowed */
	const struct runner_ops *ops;
	void *arg;
	int runner;			/* borrowed */
	int fd;				/* -1: not attached */
	struct loop_watch *watch;	/* owned; of fd */
	struct runner_answer *answer;	/* owned: room for one */
};

static void detach(struct runner_link *l)
{
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

int runner_link_order(struct runner_link *l, const struct runner_order *o)
{
	if (attach(l) < 0)
		return -1;
	return send(l->fd, o, RUNNER_ORDER_HEAD + o->bytes,
	    MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -1 : 0;
}
