/* test_mailbox.c - objects arrive at the other thread, all of them, in order.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/loop.h"
#include "io/mailbox.h"
#include "io/thread.h"

#define MANY 20000

struct letter {
	unsigned number;
};

struct reader {
	struct loop *loop;
	struct mailbox *m;	/* borrowed, where fn delivers */
	unsigned expected, wrong;
};

static void on_letter(void *arg, void *object)
{
	struct reader *const r = arg;
	struct letter *const l = object;

	/* whose it is now: the sanitizer sees whether the other one lets go */
	r->wrong += l->number++ != r->expected++;
	mem_free(l);
	if (r->expected == MANY)
		loop_stop(r->loop);
}

static void run(void *arg)
{
	struct reader *const r = arg;

	loop_run(r->loop, NULL, NULL);
}

static void put_as(struct mailbox *m, unsigned sender, unsigned number)
{
	struct letter *const l = mem_alloc(sizeof *l);

	assert_non_null(l);
	l->number = number;
	mailbox_put(m, sender, l);
}

static void put(struct mailbox *m, unsigned number)
{
	put_as(m, 0, number);
}

static void test_all_arrive_in_order(void **state)
{
	struct reader r = { .loop = loop_new() };
	struct mailbox *m = mailbox_new(r.loop, 1, on_letter, &r);
	struct thread *t = thread_start("reader", run, &r);

	(void)state;
	assert_non_null(m);
	assert_non_null(t);
	thread_go(t);
	for (unsigned n = 0; n < MANY;) {
		if (mailbox_has_room(m, 0))
			put(m, n++);
	}
	thread_join(&t);
	assert_int_equal(r.expected, MANY);
	assert_int_equal(r.wrong, 0);
	mailbox_free(&m);
	loop_free(&r.loop);
}

static void test_one_that_is_full_has_no_room(void **state)
{
	struct reader r = { .loop = loop_new() };
	struct mailbox *m = mailbox_new(r.loop, 1, on_letter, &r);
	unsigned n = 0;

	(void)state;
	for (; mailbox_has_room(m, 0); n++)
		put(m, n);
	assert_true(n >= 1000);
	/* they are not lost, even if nobody reads any more */
	mailbox_free(&m);
	assert_int_equal(r.expected, n);
	assert_int_equal(r.wrong, 0);
	loop_free(&r.loop);
}

/* Who gets them may have some of them delivered while it is at it. */
static void on_letter_amid(void *arg, void *object)
{
	struct reader *const r = arg;

	on_letter(r, object);
	if (r->expected == 2)
		assert_true(mailbox_deliver(r->m));
}

static void test_what_is_delivered_comes_once(void **state)
{
	struct reader r = { .loop = loop_new() };
	struct mailbox *m = mailbox_new(r.loop, 1, on_letter_amid, &r);

	(void)state;
	r.m = m;
	for (unsigned n = 0; n < 5; n++)
		put(m, n);
	assert_true(mailbox_deliver(m));
	assert_false(mailbox_deliver(m));
	assert_int_equal(r.expected, 5);
	assert_int_equal(r.wrong, 0);
	mailbox_free(&m);
	assert_int_equal(r.expected, 5);
	loop_free(&r.loop);
}

struct writer {
	struct mailbox *m;
	unsigned number;
};

static void write_all(void *arg)
{
	const struct writer *const w = arg;

	for (unsigned n = 0; n < MANY / 2;) {
		if (mailbox_has_room(w->m, w->number))
			put_as(w->m, w->number, n++);
	}
}

static void count_letter(void *arg, void *object)
{
	struct reader *const r = arg;

	mem_free(object);
	if (++r->expected == MANY)
		loop_stop(r->loop);
}

static void test_all_of_several_senders_arrive(void **state)
{
	struct reader r = { .loop = loop_new() };
	struct mailbox *m = mailbox_new(r.loop, 2, count_letter, &r);
	struct writer w[2] = { { m, 0 }, { m, 1 } };
	struct thread *t[2];

	(void)state;
	assert_non_null(m);
	for (int i = 0; i < 2; i++) {
		t[i] = thread_start("writer", write_all, &w[i]);
		assert_non_null(t[i]);
		thread_go(t[i]);
	}
	run(&r);
	for (int i = 0; i < 2; i++)
		thread_join(&t[i]);
	assert_int_equal(r.expected, MANY);
	mailbox_free(&m);
	loop_free(&r.loop);
}

static void test_full_of_one_has_room_for_the_other(void **state)
{
	struct reader r = { .loop = loop_new() };
	struct mailbox *m = mailbox_new(r.loop, 2, count_letter, &r);

	(void)state;
	while (mailbox_has_room(m, 1))
		put_as(m, 1, 0);
	assert_true(mailbox_has_room(m, 0));
	mailbox_free(&m);
	loop_free(&r.loop);
}

static void test_no_memory_is_told(void **state)
{
	struct loop *l = loop_new();

	(void)state;
	for (unsigned long n = 1; n <= 2; n++) {
		mem_fail_at(n);
		assert_null(mailbox_new(l, 1, on_letter, NULL));
	}
	mem_fail_at(0);
	loop_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_arrive_in_order),
		cmocka_unit_test(test_one_that_is_full_has_no_room),
		cmocka_unit_test(test_what_is_delivered_comes_once),
		cmocka_unit_test(test_all_of_several_senders_arrive),
		cmocka_unit_test(test_full_of_one_has_room_for_the_other),
		cmocka_unit_test(test_no_memory_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
