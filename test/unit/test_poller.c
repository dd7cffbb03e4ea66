/* test_poller.c - which sockets have events, by each implementation and method.
 * SPDX-License-Identifier: ISC */
#include "io/poller.h"

#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/time.h"
#include "io/loop.h"

#define GIVE_UP (20 * USEC)
#define EVENTS (LOOP_IN | LOOP_END | LOOP_EDGE)
#define ENDED (LOOP_END | LOOP_GONE | LOOP_ERROR)
#define MANY 300	/* more than a poller fetches, or asks, at a time */

/* The environment takes methods from libevent. */
static const char *const off[] = { "EVENT_NOEPOLL", "EVENT_NOPOLL" };

struct world {
	struct loop *loop;
	unsigned turns;		/* since the last run() */
	bool (*over)(const struct world *w);
	struct end *end;	/* for over() */
	unsigned enough;
};

/* One end of a connection. */
struct end {
	struct loop_socket socket;	/* first */
	struct world *w;
	int fd, peer;
	unsigned told;
	uint32_t all;		/* events so far */
	bool reads;		/* all that there is, and awaits more */
	size_t got;
	bool closed;		/* it has read the end, or an error */
	void (*play)(struct end *e);
	struct end *other;
};

static void give_up(void *arg)
{
	(void)arg;
	fail_msg("nothing happens");
}

/* state: how many methods are off. */
static int setup(void **state)
{
	static struct world w;
	const int count = (int)(intptr_t)*state;

	for (int i = 0; i < 2; i++) {
		if (i < count)
			setenv(off[i], "1", 1);
		else
			unsetenv(off[i]);
	}
	memset(&w, 0, sizeof w);
	w.loop = loop_new();
	assert_non_null(w.loop);
	assert_int_equal(loop_every(w.loop, GIVE_UP, give_up, NULL), 0);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	loop_free(&w->loop);
	return 0;
}

static void look(void *arg)
{
	struct world *w = arg;

	w->turns++;
	if (w->over(w))
		loop_stop(w->loop);
}

static void run(struct world *w, bool (*over)(const struct world *),
    struct end *e)
{
	w->turns = 0;
	w->over = over;
	w->end = e;
	loop_run(w->loop, look, w);
}

static bool is_told(const struct world *w)
{
	return w->end->told >= w->enough;
}

/* Until e was told so many times in all. */
static void run_until_told(struct end *e, unsigned times)
{
	e->w->enough = times;
	run(e->w, is_told, e);
}

static bool has_ended(const struct world *w)
{
	return (w->end->all & ENDED) != 0;
}

static bool has_closed(const struct world *w)
{
	return w->end->closed;
}

/* As a stream does: after a hang-up the rest is read until the end. */
static void read_all(struct end *e)
{
	char bytes[64];
	const ssize_t n = recv(e->fd, bytes, sizeof bytes, MSG_DONTWAIT);

	if (n > 0)
		e->got += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN))
		e->closed = true;
	else if ((e->all & ENDED) != 0)
		read_all(e);
	else
		poller_await(loop_poller(e->w->loop), e->fd);
}

static void on_event(struct loop_socket *s, uint32_t events)
{
	struct end *e = (struct end *)s;

	e->told++;
	e->all |= events;
	if (e->reads && (events & (LOOP_IN | ENDED)) != 0 && !e->closed)
		read_all(e);
	if (e->play != NULL)
		e->play(e);
}

static void join(struct end *e, struct world *w, const int fds[2],
    uint32_t events)
{
	*e = (struct end){ .socket.on_event = on_event, .w = w,
		.fd = fds[0], .peer = fds[1] };
	assert_int_equal(loop_add(w->loop, e->fd, events, &e->socket), 0);
}

static void end_open(struct end *e, struct world *w, uint32_t events)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fds), 0);
	join(e, w, fds, events);
}

/* Over TCP, where a connection can be reset. */
static void end_open_tcp(struct end *e, struct world *w)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	const int l = socket(AF_INET, SOCK_STREAM, 0);
	int fds[2];

	assert_true(l >= 0);
	assert_int_equal(bind(l, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&a, &len), 0);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fds[1], (struct sockaddr *)&a, sizeof a), 0);
	fds[0] = accept(l, NULL, NULL);
	assert_true(fds[0] >= 0);
	close(l);
	join(e, w, fds, EVENTS);
}

static void hang_up(struct end *e)
{
	if (e->peer >= 0)
		close(e->peer);
	e->peer = -1;
}

static void reset(struct end *e)
{
	const struct linger at_once = { .l_onoff = 1 };

	assert_int_equal(setsockopt(e->peer, SOL_SOCKET, SO_LINGER, &at_once,
	    sizeof at_once), 0);
	hang_up(e);
}

static void end_close(struct end *e)
{
	loop_remove(e->w->loop, e->fd, &e->socket);
	close(e->fd);
	hang_up(e);
}

static void poke(const struct end *e)
{
	assert_int_equal(write(e->peer, "x", 1), 1);
}

static void poke_it(void *arg)
{
	poke(arg);
}

/* So many turns in which another socket has events. */
static void let_turns_pass(struct world *w, unsigned n)
{
	struct end e;

	end_open(&e, w, EVENTS);
	e.reads = true;
	for (unsigned i = 1; i <= n; i++) {
		poke(&e);
		run_until_told(&e, i);
	}
	end_close(&e);
}

/* --- input --- */

static void test_input_that_is_read_is_told_once(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	e.reads = true;
	poke(&e);
	run_until_told(&e, 1);
	assert_int_equal(e.all, LOOP_IN);
	let_turns_pass(w, 5);
	assert_int_equal(e.told, 1);
	poke(&e);
	run_until_told(&e, 2);
	assert_int_equal(e.got, 2);
	end_close(&e);
}

static void test_input_that_is_left_does_not_keep_the_loop_awake(void **state)
{
	struct world *w = *state;
	struct end e, end_of_wait;

	end_open(&e, w, EVENTS);
	poke(&e);
	let_turns_pass(w, 5);
	assert_int_equal(e.told, 1);
	/* now nothing comes until a timer of 1/20 s */
	end_open(&end_of_wait, w, EVENTS);
	assert_int_equal(loop_every(w->loop, USEC / 20, poke_it, &end_of_wait), 0);
	run_until_told(&end_of_wait, 1);
	assert_in_range(w->turns, 1, 3);
	end_close(&end_of_wait);
	end_close(&e);
}

static void test_input_after_what_was_left_is_told_when_that_is_read(
    void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	poke(&e);
	let_turns_pass(w, 5);
	poke(&e);
	let_turns_pass(w, 5);
	e.reads = true;
	read_all(&e);
	assert_int_equal(e.got, 2);
	const unsigned before = e.told;

	let_turns_pass(w, 5);
	assert_int_equal(e.told, before);
	poke(&e);
	run_until_told(&e, before + 1);
	assert_int_equal(e.got, 3);
	end_close(&e);
}

static void test_input_that_comes_before_the_await_is_told(void **state)
{
	struct world *w = *state;
	struct end e;
	char c;

	end_open(&e, w, EVENTS);
	poke(&e);
	run_until_told(&e, 1);
	let_turns_pass(w, 3);
	const unsigned before = e.told;

	assert_int_equal(read(e.fd, &c, 1), 1);
	poke(&e);
	poller_await(loop_poller(w->loop), e.fd);
	run_until_told(&e, before + 1);
	end_close(&e);
}

static void test_level_is_told_while_it_holds(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, LOOP_IN);
	poke(&e);
	run_until_told(&e, 3);
	loop_change(w->loop, e.fd, 0, &e.socket);
	let_turns_pass(w, 3);
	assert_int_equal(e.told, 3);
	loop_change(w->loop, e.fd, LOOP_IN, &e.socket);
	run_until_told(&e, 4);
	end_close(&e);
}

/* --- ends --- */

static void test_end_is_told_though_input_before_it_is_left(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	poke(&e);
	let_turns_pass(w, 5);
	assert_int_equal(e.all & ENDED, 0);
	hang_up(&e);
	run(w, has_ended, &e);
	const unsigned before = e.told;

	let_turns_pass(w, 5);
	assert_int_equal(e.told, before);
	end_close(&e);
}

static void test_end_that_comes_with_input_is_told_though_it_is_left(
    void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	poke(&e);
	hang_up(&e);
	run(w, has_ended, &e);
	end_close(&e);
}

static void test_reset_is_told_though_input_before_it_is_left(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open_tcp(&e, w);
	poke(&e);
	let_turns_pass(w, 5);
	assert_int_equal(e.all & ENDED, 0);
	reset(&e);
	run(w, has_ended, &e);
	const unsigned before = e.told;

	let_turns_pass(w, 5);
	assert_int_equal(e.told, before);
	end_close(&e);
}

static void test_reset_of_an_idle_socket_is_told_and_left(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open_tcp(&e, w);
	reset(&e);
	run(w, has_ended, &e);
	end_close(&e);
}

static void test_end_that_comes_with_input_is_read(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	e.reads = true;
	poke(&e);
	hang_up(&e);
	run(w, has_closed, &e);
	assert_int_equal(e.got, 1);
	end_close(&e);
}

static void test_reset_that_comes_with_input_is_read(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open_tcp(&e, w);
	e.reads = true;
	poke(&e);
	reset(&e);
	run(w, has_closed, &e);
	end_close(&e);
}

static bool have_all_ended(const struct world *w)
{
	for (int i = 0; i < MANY; i++) {
		if ((w->end[i].all & ENDED) == 0)
			return false;
	}
	return true;
}

static bool are_all_told(const struct world *w)
{
	for (int i = 0; i < MANY; i++) {
		if (w->end[i].told == 0)
			return false;
	}
	return true;
}

static void test_ends_of_many_whose_input_is_left_are_told(void **state)
{
	struct world *w = *state;
	struct end *const all = mem_zalloc(MANY * sizeof *all);

	assert_non_null(all);
	for (int i = 0; i < MANY; i++) {
		end_open(&all[i], w, EVENTS);
		poke(&all[i]);
	}
	run(w, are_all_told, all);
	let_turns_pass(w, 5);
	for (int i = 0; i < MANY; i++)
		hang_up(&all[i]);
	run(w, have_all_ended, all);
	for (int i = 0; i < MANY; i++)
		end_close(&all[i]);
	mem_free(all);
}

/* --- room --- */

static void fill(const struct end *e)
{
	static const char bytes[65536];

	while (write(e->fd, bytes, sizeof bytes) > 0)
		continue;
}

static void drain(const struct end *e)
{
	static char bytes[65536];

	while (read(e->peer, bytes, sizeof bytes) > 0)
		continue;
}

static void test_room_is_told_when_there_is_some(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	fill(&e);
	loop_change(w->loop, e.fd, EVENTS | LOOP_OUT, &e.socket);
	let_turns_pass(w, 3);
	assert_int_equal(e.told, 0);
	drain(&e);
	run_until_told(&e, 1);
	assert_int_equal(e.all, LOOP_OUT);
	loop_change(w->loop, e.fd, EVENTS, &e.socket);
	const unsigned before = e.told;

	let_turns_pass(w, 3);
	assert_int_equal(e.told, before);
	end_close(&e);
}

static bool has_room(const struct world *w)
{
	return (w->end->all & LOOP_OUT) != 0;
}

static void test_room_is_told_while_input_is_left(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	poke(&e);
	let_turns_pass(w, 5);
	fill(&e);
	loop_change(w->loop, e.fd, EVENTS | LOOP_OUT, &e.socket);
	let_turns_pass(w, 5);
	assert_int_equal(e.all, LOOP_IN);
	drain(&e);
	run(w, has_room, &e);
	end_close(&e);
}

static void test_failed_connect_is_told_as_room(void **state)
{
	struct world *w = *state;
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	const int bound = socket(AF_INET, SOCK_STREAM, 0);
	const int fds[2] = { socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
		-1 };
	struct end e;

	/* nobody listens there */
	assert_int_equal(bind(bound, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(getsockname(bound, (struct sockaddr *)&a, &len), 0);
	(void)connect(fds[0], (struct sockaddr *)&a, sizeof a);
	join(&e, w, fds, LOOP_OUT);
	run_until_told(&e, 1);
	assert_int_not_equal(e.all & LOOP_OUT, 0);
	end_close(&e);
	close(bound);
}

/* --- sockets that go while they are told --- */

static void close_myself(struct end *e)
{
	end_close(e);
}

static void test_socket_may_go_while_it_is_told(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	e.play = close_myself;
	poke(&e);
	run_until_told(&e, 1);
	let_turns_pass(w, 3);
	assert_int_equal(e.told, 1);
}

static void open_again(struct end *e)
{
	struct world *const w = e->w;

	end_close(e);
	end_open(e, w, EVENTS);
}

static void test_socket_may_be_replaced_while_it_is_told(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	e.play = open_again;
	poke(&e);
	let_turns_pass(w, 5);
	assert_int_equal(e.told, 0);	/* the new one */
	poke(&e);
	run_until_told(&e, 1);
	end_close(&e);
}

static void close_other(struct end *e)
{
	if (e->other != NULL)
		end_close(e->other);
	e->other = NULL;
}

static void test_socket_that_goes_is_not_told_any_more(void **state)
{
	struct world *w = *state;
	struct end a, b;

	end_open(&a, w, EVENTS);
	end_open(&b, w, EVENTS);
	a.play = b.play = close_other;
	a.other = &b;
	b.other = &a;
	poke(&a);
	poke(&b);
	let_turns_pass(w, 5);
	assert_int_equal(a.told + b.told, 1);
	end_close(a.told > 0 ? &a : &b);
}

static void test_socket_may_go_while_its_input_is_left(void **state)
{
	struct world *w = *state;
	struct end a, b;

	end_open(&a, w, EVENTS);
	end_open(&b, w, EVENTS);
	poke(&a);
	poke(&b);
	let_turns_pass(w, 5);
	end_close(&a);
	hang_up(&b);
	run(w, has_ended, &b);
	end_close(&b);
}

static void test_failing_allocation_adds_nothing(void **state)
{
	struct world *w = *state;
	struct end e;

	end_open(&e, w, EVENTS);
	loop_remove(w->loop, e.fd, &e.socket);
	for (int n = 1; ; n++) {
		mem_fail_at(n);
		const int rc = loop_add(w->loop, e.fd, EVENTS, &e.socket);
		mem_fail_at(0);
		if (rc == 0)
			break;
	}
	poke(&e);
	run_until_told(&e, 1);
	end_close(&e);
}

/* Each with all methods of libevent, with poll and select, and with select. */
#define EACH(test) \
	{ #test, test, setup, teardown, (void *)0 }, \
	{ #test ", without epoll", test, setup, teardown, (void *)1 }, \
	{ #test ", without epoll and poll", test, setup, teardown, (void *)2 }

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_input_that_is_read_is_told_once),
		EACH(test_input_that_is_left_does_not_keep_the_loop_awake),
		EACH(test_input_after_what_was_left_is_told_when_that_is_read),
		EACH(test_input_that_comes_before_the_await_is_told),
		EACH(test_level_is_told_while_it_holds),
		EACH(test_end_is_told_though_input_before_it_is_left),
		EACH(test_end_that_comes_with_input_is_told_though_it_is_left),
		EACH(test_reset_is_told_though_input_before_it_is_left),
		EACH(test_reset_of_an_idle_socket_is_told_and_left),
		EACH(test_end_that_comes_with_input_is_read),
		EACH(test_reset_that_comes_with_input_is_read),
		EACH(test_ends_of_many_whose_input_is_left_are_told),
		EACH(test_room_is_told_when_there_is_some),
		EACH(test_room_is_told_while_input_is_left),
		EACH(test_failed_connect_is_told_as_room),
		EACH(test_socket_may_go_while_it_is_told),
		EACH(test_socket_may_be_replaced_while_it_is_told),
		EACH(test_socket_that_goes_is_not_told_any_more),
		EACH(test_socket_may_go_while_its_input_is_left),
		EACH(test_failing_allocation_adds_nothing),
	};

	return cmocka_run_group_tests_name(poller_name(), tests, NULL, NULL);
}
