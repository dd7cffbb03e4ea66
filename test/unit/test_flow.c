/* test_flow.c - full flow: the windows, and streams that are held.
 * SPDX-License-Identifier: ISC */
#include "io/flow.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/loop.h"
#include "io/stream.h"

#define MSEC (USEC / 1000)
#define DAYS49 (((usec_t)1 << 32) * MSEC)	/* when milliseconds wrap */
#define GIVE_UP (60 * USEC)

/* --- windows --- */

static void test_a_window_that_was_filled_is_full_flow(void **state)
{
	(void)state;
	for (usec_t t = DAYS49 - 8 * MSEC; t <= DAYS49; t += 4 * MSEC) {
		struct flow f = { 0 };

		assert_int_equal(flow_note(&f, 1 << 20, t), FLOW_OPEN);
		for (int ms = 1; ms < FLOW_WINDOW; ms++)
			assert_int_equal(flow_note(&f, FLOW_RATE, t +
			    ms * MSEC), FLOW_OPEN);
		assert_int_equal(flow_note(&f, FLOW_RATE, t +
		    FLOW_WINDOW * MSEC), FLOW_FULL);
		assert_true(f.runs);
	}
}

static void test_a_byte_too_few_is_none(void **state)
{
	struct flow f = { 0 };

	(void)state;
	(void)flow_note(&f, 1 << 20, 0);
	assert_int_equal(flow_note(&f, FLOW_WINDOW * FLOW_RATE - 1,
	    FLOW_WINDOW * MSEC), FLOW_EBB);
	assert_false(f.runs);
}

static void test_silence_counts(void **state)
{
	struct flow f = { 0 };

	(void)state;
	(void)flow_note(&f, 0, 0);
	(void)flow_note(&f, FLOW_WINDOW * FLOW_RATE, MSEC);
	assert_int_equal(flow_note(&f, FLOW_RATE, USEC), FLOW_EBB);
}

static void test_full_flow_ebbs_when_a_window_stays_empty(void **state)
{
	struct flow f = { 0 };

	(void)state;
	(void)flow_note(&f, 0, 0);
	assert_int_equal(flow_note(&f, FLOW_WINDOW * FLOW_RATE,
	    FLOW_WINDOW * MSEC), FLOW_FULL);
	for (int ms = 1; ms < FLOW_WINDOW; ms++)
		assert_int_equal(flow_note(&f, 0, (FLOW_WINDOW + ms) * MSEC),
		    FLOW_OPEN);
	assert_int_equal(flow_note(&f, 0, 2 * FLOW_WINDOW * MSEC), FLOW_EBB);
}

/* --- streams --- */

/* Both ends of a connection; we read one. */
struct world {
	struct stream stream;	/* first */
	struct loop *loop;
	int peer;
	size_t got;		/* bytes */
	unsigned calls;		/* of readable */
	bool ended;
	size_t enough;		/* bytes after which the loop stops */
	usec_t give_up;
};

static void on_readable(struct stream *s)
{
	struct world *const w = (struct world *)s;

	w->calls++;
	while (!s->paused && stream_is_ready(s)) {
		const ssize_t n = stream_read(s, loop_buffer(w->loop),
		    LOOP_BUFFER);

		if (n == STREAM_NONE)
			continue;
		w->ended = n < 0;
		if (n < 0)
			return;
		w->got += (size_t)n;
		stream_flow_note(s, (size_t)n);
	}
}

static void on_nothing(struct stream *s)
{
	(void)s;
}

static const struct stream_ops ops = {
	.readable = on_readable,
	.drained = on_nothing,
	.hangup = on_nothing,
};

static int heap_of(int fd)
{
	int value = 0;
	socklen_t len = sizeof value;

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, &len),
	    0);
	return value;
}

static void connect_tcp(int fd[2])
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *const at = (struct sockaddr *)&in;
	const int on = 1;
	socklen_t len = sizeof in;
	const int listener = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, at, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, at, &len), 0);
	fd[1] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd[1], at, len), 0);
	/* or Nagle waits for an acknowledgement that is late, and none flows */
	assert_int_equal(setsockopt(fd[1], IPPROTO_TCP, TCP_NODELAY, &on,
	    sizeof on), 0);
	fd[0] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	assert_true(fd[0] >= 0);
	close(listener);
}

static void connect_unix(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    fd), 0);
}

static struct world *open_world(void (*connect_both)(int fd[2]))
{
	static struct world w;
	int fd[2];

	memset(&w, 0, sizeof w);
	w.loop = loop_new();
	connect_both(fd);
	w.peer = fd[1];
	assert_int_equal(stream_open(&w.stream, w.loop, fd[0], &ops), 0);
	w.give_up = time_precise() + GIVE_UP;
	return &w;
}

static void close_world(struct world *w)
{
	stream_close(&w->stream);
	close(w->peer);
	loop_free(&w->loop);
}

static void stop_when_enough(void *arg)
{
	struct world *const w = arg;

	if (w->got >= w->enough || w->ended)
		loop_stop(w->loop);
	assert_true(time_precise() < w->give_up);
}

/* The peer sends n bytes, and they are read. */
static void send_and_run(struct world *w, size_t n)
{
	static const uint8_t bytes[8192];

	w->enough = w->got + n;
	for (; n > 0; n -= n < sizeof bytes ? n : sizeof bytes)
		assert_true(send(w->peer, bytes, n < sizeof bytes ? n :
		    sizeof bytes, MSG_NOSIGNAL) > 0);
	loop_run(w->loop, stop_when_enough, w);
}

static void flow_until_held(struct world *w)
{
	while (w->stream.hold == NULL)
		send_and_run(w, 65536);
}

static void test_full_flow_is_held_until_it_ebbs(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	flow_until_held(w);
	assert_true(heap_of(w->stream.fd) > 8192);
	/* no socket tells of these few bytes: the fast_tick does */
	send_and_run(w, 1);
	while (w->stream.hold != NULL)
		send_and_run(w, 1);
	assert_int_equal(heap_of(w->stream.fd), 1);
	send_and_run(w, 1);
	close_world(w);
}

static void test_what_is_held_is_read_when_a_heap_is_there(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	flow_until_held(w);
	const unsigned calls = w->calls;

	for (int i = 0; i < 256; i++)
		send_and_run(w, 65536);
	/* by bursts of the sender, it would be 2048 */
	assert_true(w->calls - calls < 1024);
	close_world(w);
}

static void test_the_end_is_told_of_what_is_held(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	flow_until_held(w);
	shutdown(w->peer, SHUT_WR);
	w->enough = SIZE_MAX;
	loop_run(w->loop, stop_when_enough, w);
	assert_true(w->ended);
	close_world(w);
}

static void test_a_pause_lets_go_and_loses_nothing(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	flow_until_held(w);
	assert_int_equal(send(w->peer, "x", 1, MSG_NOSIGNAL), 1);
	stream_pause(&w->stream);
	assert_null(w->stream.hold);
	assert_int_equal(heap_of(w->stream.fd), 1);
	w->enough = w->got + 1;
	stream_resume(&w->stream);
	loop_run(w->loop, stop_when_enough, w);
	close_world(w);
}

static void test_what_is_over_is_told_at_once(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	flow_until_held(w);
	assert_int_equal(send(w->peer, "x", 1, MSG_NOSIGNAL), 1);
	w->enough = w->got + 1;
	stream_flow_over(&w->stream);
	assert_null(w->stream.hold);
	assert_int_equal(heap_of(w->stream.fd), 1);
	loop_run(w->loop, stop_when_enough, w);
	close_world(w);
}

static void test_unix_sockets_are_never_held(void **state)
{
	struct world *const w = open_world(connect_unix);
	const usec_t end = time_precise() + 4 * FLOW_WINDOW * MSEC;

	(void)state;
	while (time_precise() < end) {
		send_and_run(w, 65536);
		assert_null(w->stream.hold);
	}
	close_world(w);
}

static void test_without_memory_it_goes_on_and_is_held_later(void **state)
{
	struct world *const w = open_world(connect_tcp);

	(void)state;
	(void)mem_fail_at(1);
	flow_until_held(w);
	assert_true(mem_fail_at(0) >= 2);	/* it was tried again */
	close_world(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_that_was_filled_is_full_flow),
		cmocka_unit_test(test_a_byte_too_few_is_none),
		cmocka_unit_test(test_silence_counts),
		cmocka_unit_test(
		    test_full_flow_ebbs_when_a_window_stays_empty),
		cmocka_unit_test(test_full_flow_is_held_until_it_ebbs),
		cmocka_unit_test(
		    test_what_is_held_is_read_when_a_heap_is_there),
		cmocka_unit_test(test_the_end_is_told_of_what_is_held),
		cmocka_unit_test(test_a_pause_lets_go_and_loses_nothing),
		cmocka_unit_test(test_what_is_over_is_told_at_once),
		cmocka_unit_test(test_unix_sockets_are_never_held),
		cmocka_unit_test(
		    test_without_memory_it_goes_on_and_is_held_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
