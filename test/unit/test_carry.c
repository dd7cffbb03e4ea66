/* test_carry.c - what a burst leaves behind, and reading on behind it.
 * SPDX-License-Identifier: ISC */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/loop.h"
#include "io/stream.h"
#include "session/carry.h"

struct fixture {
	struct loop *loop;
	struct stream s;
	int peer;
	struct carry c;
};

static void ignore(struct stream *s)
{
	(void)s;
}

static const struct stream_ops ops = { .readable = ignore,
    .drained = ignore, .hangup = ignore };

static int setup(void **state)
{
	static struct fixture f;
	int fd[2], big = 1 << 20;

	memset(&f, 0, sizeof f);
	f.loop = loop_new();
	if (f.loop == NULL ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) < 0)
		return -1;
	setsockopt(fd[1], SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
	f.peer = fd[1];
	*state = &f;
	return stream_open(&f.s, f.loop, fd[0], &ops);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	carry_fini(&f->c);
	stream_close(&f->s);
	close(f->peer);
	loop_finish(f->loop);
	loop_free(&f->loop);
	assert_int_equal(mem_stat(MEM_CARRY)->used, 0);
	assert_int_equal(mem_stat(MEM_CARRY)->bytes, 0);
	return 0;
}

/* n bytes that tell their place, from offset on. */
static void give(struct fixture *f, size_t offset, size_t n)
{
	static uint8_t buf[1 << 18];

	assert_true(n <= sizeof buf);
	for (size_t i = 0; i < n; i++)
		buf[i] = (uint8_t)((offset + i) * 31 / 7);
	assert_int_equal(write(f->peer, buf, n), n);
	stream_reread(&f->s);
}

static void assert_bytes(const uint8_t *at, size_t offset, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(at[i], (uint8_t)((offset + i) * 31 / 7));
}

static void test_nothing_carried_costs_nothing(void **state)
{
	struct fixture *f = *state;
	struct burst b;

	give(f, 0, 100);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 1 << 20), 100);
	assert_int_equal(b.len, 100);
	assert_bytes(b.at, 0, 100);
	assert_int_equal(carry_rest(&f->c, &b, 100), 0);
	assert_null(f->c.at);
	assert_false(carry_again(&f->c, &b));
}

static void test_rest_comes_before_the_next(void **state)
{
	struct fixture *f = *state;
	struct burst b;

	give(f, 0, 100);
	carry_read(&f->c, &f->s, &b, 1 << 20);
	assert_int_equal(carry_rest(&f->c, &b, 90), 0);
	assert_true(carry_again(&f->c, &b));
	assert_int_equal(b.len, 10);
	assert_bytes(b.at, 90, 10);
	assert_int_equal(carry_rest(&f->c, &b, 3), 0);	/* inside itself */
	give(f, 100, 50);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 1 << 20), 50);
	assert_int_equal(b.len, 57);
	assert_bytes(b.at, 93, 57);
	assert_int_equal(carry_rest(&f->c, &b, 57), 0);
	assert_null(f->c.at);
}

static void test_nothing_read_keeps_what_is_carried(void **state)
{
	struct fixture *f = *state;
	struct burst b;

	carry_keep(&f->c, "abc", 3);
	stream_reread(&f->s);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 100), STREAM_NONE);
	shutdown(f->peer, SHUT_WR);
	stream_reread(&f->s);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 100), STREAM_EOF);
	assert_true(carry_again(&f->c, &b));
	assert_memory_equal(b.at, "abc", 3);
}

/* What may be a password is wiped with the rest, however little is left. */
static void test_all_that_was_carried_is_known(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(carry_keep(&f->c, "0123456789", 10), 0);
	assert_int_equal(carry_keep(&f->c, f->c.at + 8, 2), 0);
	assert_int_equal(f->c.len, 2);
	assert_int_equal(f->c.used, 10);
	const size_t n = f->c.size + 1;
	uint8_t *long_one = calloc(1, n);

	/* grown: the old block is wiped, the new one has what was kept */
	assert_int_equal(carry_keep(&f->c, long_one, n), 0);
	assert_int_equal(f->c.used, n);
	free(long_one);
	carry_fini(&f->c);
	assert_int_equal(f->c.used, 0);
}

/* Read a message of total bytes, as it comes. */
static void read_long(struct fixture *f, size_t total, size_t max)
{
	size_t given = 0, got = 0;
	struct burst b = { NULL, 0 };

	while (got < total) {
		const size_t more = total - given < 50000 ? total - given :
		    50000;

		if (given - got < 10000 && more > 0) {
			give(f, given, more);
			given += more;
		}
		stream_reread(&f->s);
		assert_true(carry_read(&f->c, &f->s, &b, max) > 0);
		assert_true(b.len <= max && b.len > got);
		got = b.len;
		assert_int_equal(carry_rest(&f->c, &b, 0), 0);
	}
	assert_bytes(b.at, 0, total);
	assert_true(f->c.size <= max);
}

static void test_long_message_grows_in_place(void **state)
{
	struct fixture *f = *state;

	read_long(f, 500000, 600000);
	assert_true(f->c.len == 500000);
	assert_int_equal(mem_stat(MEM_CARRY)->used, 1);
	assert_int_equal(mem_stat(MEM_CARRY)->bytes, f->c.size);
}

/* From a block of the heap to a mapping, which gets longer and has all of it. */
static void test_very_long_message_is_mapped(void **state)
{
	struct fixture *f = *state;

	read_long(f, 5000000, 6000000);
	assert_true(f->c.len == 5000000);
	assert_int_equal(mem_stat(MEM_CARRY)->used, 1);
	assert_int_equal(mem_stat(MEM_CARRY)->bytes, f->c.size);
	/* the rest of it is not where the head was */
	assert_int_equal(carry_keep(&f->c, f->c.at + 4000000, 1000000), 0);
	assert_bytes(f->c.at, 4000000, 1000000);
	/* and it may get longer once more, or not */
	const size_t more = f->c.size + 1;
	uint8_t *const text = calloc(1, more);

	assert_non_null(text);
	mem_fail_at(1);
	assert_int_equal(carry_keep(&f->c, text, more), -1);
	mem_fail_at(0);
	assert_bytes(f->c.at, 4000000, 1000000);
	assert_int_equal(carry_keep(&f->c, text, more), 0);
	assert_memory_equal(f->c.at, text, more);
	free(text);
}

static void test_burst_never_exceeds_max(void **state)
{
	struct fixture *f = *state;
	struct burst b;

	read_long(f, 100000, 100000);
	give(f, 0, 10);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 100000), STREAM_ERROR);
	assert_int_equal(errno, EMSGSIZE);
	carry_fini(&f->c);
	carry_keep(&f->c, "0123456789", 10);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 10), STREAM_ERROR);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 13), 3);
	assert_int_equal(b.len, 13);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;
	struct burst b;
	const size_t much = LOOP_BUFFER / 2 + 1000;	/* too much for it */

	mem_fail_at(1);
	assert_int_equal(carry_keep(&f->c, "abc", 3), -1);
	mem_fail_at(0);
	assert_null(f->c.at);
	read_long(f, much, much);
	give(f, much, 10);
	mem_fail_at(1);
	assert_int_equal(carry_read(&f->c, &f->s, &b, 2 * much), STREAM_ERROR);
	mem_fail_at(0);
	assert_int_equal(errno, ENOMEM);
	assert_true(carry_again(&f->c, &b));
	assert_int_equal(b.len, much);
	assert_bytes(b.at, 0, much);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_carried_costs_nothing),
		CASE(test_rest_comes_before_the_next),
		CASE(test_nothing_read_keeps_what_is_carried),
		CASE(test_all_that_was_carried_is_known),
		CASE(test_long_message_grows_in_place),
		CASE(test_very_long_message_is_mapped),
		CASE(test_burst_never_exceeds_max),
		CASE(test_no_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
