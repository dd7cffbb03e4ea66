/* test_ledger.c - workers take from one limit, and hear of each other.
 * SPDX-License-Identifier: ISC */
#include "base/ledger.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define WORKERS 3
#define MAX 7
#define ROUNDS 20000

struct worker {
	struct ledger_book *book;
	struct ledger *ledger;
	unsigned number, most;
	unsigned rings;			/* under the lock of the book */
};

static void ring(void *arg)
{
	struct worker *const w = arg;

	w->rings++;
}

static void join(struct ledger_book *b, struct worker ws[WORKERS])
{
	for (unsigned i = 0; i < WORKERS; i++) {
		ws[i] = (struct worker){ .book = b, .number = i };
		ledger_book_join(b, i, (struct ledger_bell){ ring, &ws[i] });
		ws[i].ledger = ledger_open(b, i, "app", &ws[i]);
		assert_non_null(ws[i].ledger);
	}
}

static void leave(struct ledger_book *b, struct worker ws[WORKERS])
{
	for (unsigned i = 0; i < WORKERS; i++) {
		ledger_close(&ws[i].ledger);
		ledger_book_leave(b, i);
	}
	ledger_book_free(&b);
}

/* How many ledgers it is called for; it is woken once for all. */
static unsigned calls(struct worker *w)
{
	unsigned n = 0;
	void *owner;

	assert_true(w->rings <= 1);
	w->rings = 0;
	while ((owner = ledger_take_called(w->book, w->number)) != NULL) {
		assert_ptr_equal(owner, w);
		n++;
	}
	return n;
}

static void *take_and_give(void *arg)
{
	struct worker *const w = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (!ledger_take(w->ledger, LEDGER_SERVERS, MAX))
			continue;
		const unsigned n = ledger_taken(w->ledger, LEDGER_SERVERS);

		if (n > w->most)
			w->most = n;
		ledger_want(w->ledger, (struct ledger_want){ .since = i });
		ledger_give(w->ledger, LEDGER_SERVERS);
		ledger_call_rival(w->ledger);
	}
	return NULL;
}

static void test_threads_never_take_too_many(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];
	pthread_t t[WORKERS];

	(void)state;
	join(b, ws);
	for (unsigned i = 0; i < MAX - 1; i++)
		assert_true(ledger_take(ws[0].ledger, LEDGER_SERVERS, MAX));
	for (unsigned i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, take_and_give,
		    &ws[i]), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < WORKERS; i++)
		assert_true(ws[i].most <= MAX);
	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_SERVERS), MAX - 1);
	ledger_add(ws[1].ledger, LEDGER_SERVERS);
	assert_false(ledger_take(ws[2].ledger, LEDGER_SERVERS, MAX));
	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_CLIENTS), 0);
	leave(b, ws);
}

static void test_rival_has_waited_longest(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];

	(void)state;
	join(b, ws);
	assert_int_equal(ledger_rival(ws[0].ledger).since, 0);
	ledger_want(ws[0].ledger, (struct ledger_want){ .since = 5 });
	assert_int_equal(ledger_rival(ws[0].ledger).since, 0);
	ledger_want(ws[1].ledger, (struct ledger_want){ .since = 30 });
	ledger_want(ws[2].ledger, (struct ledger_want){ .since = 20,
	    .in_need = true });
	assert_int_equal(ledger_rival(ws[0].ledger).since, 20);
	assert_true(ledger_rival(ws[0].ledger).in_need);
	assert_int_equal(ledger_rival(ws[2].ledger).since, 5);
	assert_int_equal(ledger_wants(ws[1].ledger), 30);
	ledger_call_rival(ws[0].ledger);
	ledger_call_rival(ws[0].ledger);
	assert_int_equal(calls(&ws[2]), 1);
	ledger_call_rival(ws[0].ledger);
	assert_int_equal(calls(&ws[2]), 1);
	leave(b, ws);
}

static void test_who_has_servers_is_called(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];

	(void)state;
	join(b, ws);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	ledger_add(ws[2].ledger, LEDGER_SERVERS);
	ledger_call_servers(ws[0].ledger);
	assert_int_equal(calls(&ws[2]), 1);
	/* what is closed is not called for any more */
	ledger_call_servers(ws[0].ledger);
	ledger_give(ws[2].ledger, LEDGER_SERVERS);
	ledger_close(&ws[2].ledger);
	assert_int_equal(calls(&ws[2]), 0);
	assert_int_equal(calls(&ws[1]) + calls(&ws[0]), 0);
	leave(b, ws);
}

static void test_each_name_has_its_own(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];

	(void)state;
	join(b, ws);
	struct ledger *other = ledger_open(b, 0, "other", &ws[0]);

	ledger_add(other, LEDGER_CLIENTS);
	assert_int_equal(ledger_taken(other, LEDGER_CLIENTS), 1);
	assert_int_equal(ledger_taken(ws[0].ledger, LEDGER_CLIENTS), 0);
	ledger_close(&other);
	other = ledger_open(b, 0, "other", &ws[0]);
	assert_int_equal(ledger_taken(other, LEDGER_CLIENTS), 0);
	ledger_close(&other);
	leave(b, ws);
}

/* Neither who sent it nor who gets it has the ledger open all the while. */
static void test_server_in_the_mail_is_counted(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];

	(void)state;
	join(b, ws);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	struct ledger_trip sent = ledger_send(ws[0].ledger,
	    LEDGER_SERVERS, 1);

	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_SERVERS), 1);
	/* nobody has it to spare */
	ledger_call_servers(ws[2].ledger);
	assert_int_equal(calls(&ws[0]), 0);
	for (unsigned i = 0; i < WORKERS; i++)
		ledger_close(&ws[i].ledger);
	ws[1].ledger = ledger_open(b, 1, "app", &ws[1]);
	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_SERVERS), 1);
	ledger_receive(ws[1].ledger, &sent);
	assert_null(sent.of);
	ledger_give(ws[1].ledger, LEDGER_SERVERS);
	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_SERVERS), 0);
	leave(b, ws);
}

static void test_server_lost_in_the_mail_makes_room(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];

	(void)state;
	join(b, ws);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	struct ledger_trip sent = ledger_send(ws[0].ledger,
	    LEDGER_SERVERS, 1);

	ledger_want(ws[0].ledger, (struct ledger_want){ .since = 5 });
	ledger_lose(&sent);
	assert_null(sent.of);
	assert_int_equal(calls(&ws[0]), 1);
	assert_int_equal(ledger_taken(ws[1].ledger, LEDGER_SERVERS), 0);
	ledger_lose(&sent);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	sent = ledger_send(ws[0].ledger, LEDGER_SERVERS, 1);
	/* the last one that knows the name */
	for (unsigned i = 0; i < WORKERS; i++)
		ledger_close(&ws[i].ledger);
	ledger_lose(&sent);
	leave(b, ws);
}

static void test_nobody_is_sent_more_than_it_wants(void **state)
{
	struct ledger_book *const b = ledger_book_new(WORKERS);
	struct worker ws[WORKERS];
	struct ledger_trip sent[2];

	(void)state;
	join(b, ws);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	ledger_add(ws[0].ledger, LEDGER_SERVERS);
	ledger_want(ws[2].ledger, (struct ledger_want){ .since = 5,
	    .count = 1 });
	ledger_want(ws[1].ledger, (struct ledger_want){ .since = 9,
	    .count = 1 });
	assert_int_equal(ledger_recipient(ws[0].ledger).worker, 2);
	sent[0] = ledger_send(ws[0].ledger, LEDGER_SERVERS, 2);
	assert_int_equal(ledger_recipient(ws[0].ledger).worker, 1);
	sent[1] = ledger_send(ws[0].ledger, LEDGER_SERVERS, 1);
	assert_int_equal(ledger_recipient(ws[0].ledger).since, 0);
	assert_int_equal(ledger_rival(ws[0].ledger).worker, 2);
	ledger_receive(ws[2].ledger, &sent[0]);
	assert_int_equal(ledger_recipient(ws[0].ledger).since, 5);
	ledger_lose(&sent[1]);
	ledger_give(ws[2].ledger, LEDGER_SERVERS);
	assert_int_equal(ledger_taken(ws[0].ledger, LEDGER_SERVERS), 0);
	leave(b, ws);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_never_take_too_many),
		cmocka_unit_test(test_rival_has_waited_longest),
		cmocka_unit_test(test_who_has_servers_is_called),
		cmocka_unit_test(test_each_name_has_its_own),
		cmocka_unit_test(test_server_in_the_mail_is_counted),
		cmocka_unit_test(test_server_lost_in_the_mail_makes_room),
		cmocka_unit_test(test_nobody_is_sent_more_than_it_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
