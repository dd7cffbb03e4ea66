/* test_history.c - the last ten minutes: samples, the ring, their JSON.
 * SPDX-License-Identifier: ISC */
#include "http/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log_line.h"
#include "console/admin.h"
#include "pool/catalog.h"
#include "proto/msg.h"

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

static struct log_ring *r;
static struct writer w;

static int log_ring_start(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	r = log_ring_new(3);
	writer_init(&w, 1 << 20);
	return r == NULL ? -1 : 0;
}

static int log_ring_stop(void **state)
{
	(void)state;
	log_ring_free(&r);
	writer_fini(&w);
	return 0;
}

static void put(enum log_level level, const char *text)
{
	log_ring_put(r, &(struct log_line){ .level = level, .raw = "",
	    .cooked = text, .when = { .tv_sec = 60 } });
}

static const char *written(uint64_t since)
{
	writer_fini(&w);
	log_ring_write(r, since, &w);
	writer_u8(&w, '\0');
	assert_false(w.failed);
	return (const char *)w.at;
}

#define LINE(n, level, text) "{\"number\":" n \
	",\"time\":\"1970-01-01T00:01:00.000+00:00\",\"level\":\"" level \
	"\",\"text\":\"" text "\"}"

static void test_newest_lines_are_kept_in_order(void **state)
{
	(void)state;
	assert_string_equal(written(0), "[]\n");
	put(LEVEL_INFO, "one");
	put(LEVEL_WARNING, "two");
	assert_string_equal(written(0), "[\n" LINE("1", "LOG", "one") ",\n"
	    LINE("2", "WARNING", "two") "\n]\n");
	put(LEVEL_ERROR, "three");
	put(LEVEL_INFO, "four");
	assert_string_equal(written(0), "[\n" LINE("2", "WARNING", "two")
	    ",\n" LINE("3", "ERROR", "three") ",\n" LINE("4", "LOG", "four")
	    "\n]\n");
}

static void test_only_newer_lines_are_told(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		put(LEVEL_INFO, "x");
	assert_string_equal(written(9), "[\n" LINE("10", "LOG", "x") "\n]\n");
	assert_string_equal(written(10), "[]\n");
	assert_string_equal(written(UINT64_MAX), "[]\n");
}

static void test_debug_lines_are_not_kept(void **state)
{
	(void)state;
	put(LEVEL_DEBUG, "x");
	put(LEVEL_NOISE, "x");
	assert_string_equal(written(0), "[]\n");
}

static void test_no_control_byte_is_told(void **state)
{
	(void)state;
	put(LEVEL_INFO, "a\n\tb\xff\"</script>");
	assert_string_equal(written(0), "[\n" LINE("1", "LOG",
	    "a\\u000a\\u0009b\\ufffd\\\"</script>") "\n]\n");
}

static void test_long_line_is_cut_between_characters(void **state)
{
	char text[2048] = "", expected[sizeof text + 8];

	(void)state;
	/* 511 bytes, and one character of two */
	memset(text, 'x', LOG_RING_TEXT - 1);
	memcpy(text + LOG_RING_TEXT - 1, "\xc3\xa4", 3);
	put(LEVEL_INFO, text);
	text[LOG_RING_TEXT - 1] = '\0';
	snprintf(expected, sizeof expected, "\"%s...\"}", text);
	assert_non_null(strstr(written(0), expected));
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
		cmocka_unit_test_setup_teardown(
		    test_newest_lines_are_kept_in_order, log_ring_start, log_ring_stop),
		cmocka_unit_test_setup_teardown(test_only_newer_lines_are_told,
		    log_ring_start, log_ring_stop),
		cmocka_unit_test_setup_teardown(test_debug_lines_are_not_kept,
		    log_ring_start, log_ring_stop),
		cmocka_unit_test_setup_teardown(test_no_control_byte_is_told,
		    log_ring_start, log_ring_stop),
		cmocka_unit_test_setup_teardown(
		    test_long_line_is_cut_between_characters, log_ring_start, log_ring_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
