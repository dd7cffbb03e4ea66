/* test_history.c - the last ten minutes: samples, the ring, their JSON.
 * SPDX-License-Identifier: ISC */
#include "http/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "console/admin.h"
#include "pool/catalog.h"
#include "proto/writer.h"

static struct history *h;
static struct catalog c, c2;
static struct sessions ss = { .catalog = &c }, ss2 = { .catalog = &c2 };
static struct admin second = { .ss = &ss2 }, a = { .ss = &ss };
static struct database db, console = { .console = true };

static int start(void **state)
{
	(void)state;
	memset(&c, 0, sizeof c);
	memset(&c2, 0, sizeof c2);
	a.next = NULL;
	time_set_fake(100 * USEC);
	recent_note(&c.recent, RECENT_ALONE, 1000);	/* before it began */
	h = history_new(&a, 100 * USEC);
	return h == NULL ? -1 : 0;
}

static int stop(void **state)
{
	(void)state;
	history_free(&h);
	return 0;
}

static void test_newest_samples_are_kept(void **state)
{
	(void)state;
	assert_int_equal(history_count(h), 0);
	for (uint64_t i = 1; i <= HISTORY_SAMPLES + 5; i++)
		history_add(h, &(struct history_sample){ .queries = i });
	assert_int_equal(history_count(h), HISTORY_SAMPLES);
	assert_int_equal(history_at(h, 0)->queries, 6);
	assert_int_equal(history_at(h, 0)->number, 6);
	assert_int_equal(history_at(h, HISTORY_SAMPLES - 1)->number,
	    HISTORY_SAMPLES + 5);
}

static void test_sample_has_what_happened_since_the_last(void **state)
{
	(void)state;
	recent_note(&c.recent, RECENT_ALONE, 1000);
	recent_note(&c.recent, RECENT_QUERY, 1000);
	recent_note(&c.recent, RECENT_XACT, 1000);
	recent_note(&c.recent, RECENT_WAIT, 7);
	history_tick(h, &a, 101 * USEC);
	assert_int_equal(history_count(h), 0);
	history_tick(h, &a, 102 * USEC);
	assert_int_equal(history_count(h), 1);
	const struct history_sample *const s = history_at(h, 0);

	assert_int_equal(s->length, 2 * USEC);
	assert_int_equal(s->queries, 2);
	assert_int_equal(s->transactions, 2);
	assert_int_equal(s->waits, 1);
	assert_int_equal(s->wait_p99, 7);
	assert_in_range(s->query_p50, 970, 1030);
	history_tick(h, &a, 104 * USEC);
	assert_int_equal(history_at(h, 1)->queries, 0);
}

static void test_clients_and_servers_are_summed_but_consoles(void **state)
{
	struct pool pools[] = {
		{ .key.db = &db, .client_count = { [CLIENT_ACTIVE] = 3,
		    [CLIENT_WAITING] = 2 },
		    .server_count = { [SERVER_ACTIVE] = 1, [SERVER_USED] = 1 } },
		{ .key.db = &db, .client_count = { [CLIENT_ACTIVE] = 1 },
		    .server_count = { [SERVER_IDLE] = 4 } },
		{ .key.db = &console, .client_count = { [CLIENT_ACTIVE] = 9 } },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		cursor_list_add(&c.all_pools, &pools[i].node);
	history_tick(h, &a, 100 * USEC);
	history_tick(h, &a, 103 * USEC);
	const struct history_sample *const s = history_at(h, 0);

	assert_int_equal(s->clients_active, 4);
	assert_int_equal(s->clients_waiting, 2);
	assert_int_equal(s->servers_active, 1);
	assert_int_equal(s->servers_idle, 5);
	assert_int_equal(s->length, 3 * USEC);
}

static void test_what_other_workers_have_is_added(void **state)
{
	struct pool pools[] = {
		{ .key.db = &db, .client_count = { [CLIENT_ACTIVE] = 3 } },
		{ .key.db = &db, .client_count = { [CLIENT_ACTIVE] = 1 } },
	};

	(void)state;
	a.next = &second;
	cursor_list_add(&c.all_pools, &pools[0].node);
	cursor_list_add(&c2.all_pools, &pools[1].node);
	recent_note(&c.recent, RECENT_ALONE, 10);
	recent_note(&c2.recent, RECENT_ALONE, 10);
	history_tick(h, &a, 103 * USEC);
	assert_int_equal(history_at(h, 0)->clients_active, 4);
	assert_int_equal(history_at(h, 0)->queries, 2);
	history_tick(h, &a, 106 * USEC);
	assert_int_equal(history_at(h, 1)->clients_active, 4);
	assert_int_equal(history_at(h, 1)->queries, 0);
}

static void test_json_has_those_asked_for(void **state)
{
	static const char tail[] = "\"rows\":["
	    "[2,0,0,0,5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\n"
	    "[3,0,0,0,6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]]}\n";
	struct writer w;

	(void)state;
	for (uint64_t i = 4; i < 7; i++)
		history_add(h, &(struct history_sample){ .queries = i });
	writer_init(&w, 1 << 20);
	history_write(h, 1, &w);
	writer_u8(&w, '\0');
	const char *const text = (const char *)w.at;

	assert_ptr_equal(strstr(text, "{\"interval\":2000000,"), text);
	assert_non_null(strstr(text, "\"columns\":[\"number\",\"at\","));
	assert_string_equal(strstr(text, "\"rows\""), tail);
	writer_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_newest_samples_are_kept,
		    start, stop),
		cmocka_unit_test_setup_teardown(
		    test_sample_has_what_happened_since_the_last, start, stop),
		cmocka_unit_test_setup_teardown(
		    test_clients_and_servers_are_summed_but_consoles, start,
		    stop),
		cmocka_unit_test_setup_teardown(
		    test_what_other_workers_have_is_added, start, stop),
		cmocka_unit_test_setup_teardown(test_json_has_those_asked_for,
		    start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
