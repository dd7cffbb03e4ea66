/* test_tally.c - counters of the process, and what they are called.
 * SPDX-License-Identifier: ISC */
#include "pool/tally.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "conf/options.h"

static struct tally t;
static char said[4096];
static struct text out;

static int setup(void **state)
{
	(void)state;
	t = (struct tally){ .errors = { { 0 } } };
	text_init(&out, said, sizeof said);
	return 0;
}

static int put(void *arg, const struct tally_count *n)
{
	(void)arg;
	for (size_t i = 0; i < n->label_count; i++)
		text_addf(&out, "%s=%s ", n->labels[i].name,
		    n->labels[i].value);
	text_addf(&out, "%d;", (int)n->value);
	return 0;
}

static const char *told(enum tally_table table)
{
	text_init(&out, said, sizeof said);
	assert_int_equal(tally_each(&t, table, put, NULL), 0);
	return said;
}

static void test_errors_are_counted_by_class(void **state)
{
	(void)state;
	tally_error(&t, TALLY_OF_SERVER, "42601");
	tally_error(&t, TALLY_OF_SERVER, "42P01");
	tally_error(&t, TALLY_OF_SERVER, "XX000");
	tally_error(&t, TALLY_OF_POOLER, "08P01");
	assert_string_equal(told(TALLY_TABLE_errors),
	    "source=server sqlstate_class=42 2;"
	    "source=server sqlstate_class=XX 1;"
	    "source=pooler sqlstate_class=08 1;");
}

static void test_what_is_no_code_is_other(void **state)
{
	static const char *const codes[] = { "", "4", "a1000", "\xff\xff",
	    "4\"" };

	(void)state;
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		tally_error(&t, TALLY_OF_SERVER, codes[i]);
	tally_error(&t, TALLY_OF_SERVER, "ZZ999");
	assert_string_equal(told(TALLY_TABLE_errors),
	    "source=server sqlstate_class=ZZ 1;"
	    "source=server sqlstate_class=other 5;");
}

static void test_labels_are_words_of_log_and_settings(void **state)
{
	(void)state;
	assert_string_equal(told(TALLY_TABLE_disconnects), "");
	t.disconnects[TALLY_CLIENT][CLOSE_QUERY_TIMEOUT] = 3;
	t.disconnects[TALLY_SERVER][CLOSE_SERVER_CRASHED] = 4;
	assert_string_equal(told(TALLY_TABLE_disconnects),
	    "side=client reason=query timeout 3;"
	    "side=server reason=server conn crashed? 4;");
	t.client_logins[AUTH_SCRAM_SHA_256][TALLY_FAILED]++;
	assert_string_equal(told(TALLY_TABLE_client_logins),
	    "method=scram-sha-256 result=failed 1;");
	for (int i = 0; i < TALLY_LIMITS; i++) {
		const char *const name = tally_limit_name(i);

		if (i != TALLY_open_files)
			assert_non_null(option_find(name));
	}
}

static void test_each_method_of_a_rule_has_a_label(void **state)
{
	(void)state;
	t.client_logins[AUTH_PEER][TALLY_OK] = 1;
	t.client_logins[AUTH_REJECT][TALLY_FAILED] = 2;
	t.client_logins[AUTH_OAUTH][TALLY_OK] = 3;
	assert_string_equal(told(TALLY_TABLE_client_logins),
	    "method=peer result=ok 1;method=reject result=failed 2;"
	    "method=oauth result=ok 3;");
}

static void test_what_is_small_is_told_when_it_is_0_too(void **state)
{
	(void)state;
	t.tls_handshakes[TALLY_SERVER][TALLY_OK] = 2;
	assert_string_equal(told(TALLY_TABLE_tls_handshakes),
	    "side=client result=ok 0;side=client result=failed 0;"
	    "side=server result=ok 2;side=server result=failed 0;");
	assert_string_equal(told(TALLY_TABLE_server_logins),
	    "result=ok 0;result=failed 0;");
	assert_string_equal(tally_name(TALLY_TABLE_limits_hit), "limits_hit");
}

static void test_sum_has_what_each_has_counted(void **state)
{
	struct tally sum = t;

	(void)state;
	t.server_logins[TALLY_FAILED][0] = 3;
	sum.server_logins[TALLY_FAILED][0] = 4;
	sum.errors[TALLY_SOURCES - 1][TALLY_CLASSES - 1] = 1;
	tally_add(&sum, &t);
	assert_int_equal(sum.server_logins[TALLY_FAILED][0], 7);
	assert_int_equal(sum.errors[TALLY_SOURCES - 1][TALLY_CLASSES - 1], 1);
}

static int stop(void *arg, const struct tally_count *n)
{
	(void)n;
	++*(int *)arg;
	return -1;
}

static void test_who_has_enough_is_told_no_more(void **state)
{
	int calls = 0;

	(void)state;
	assert_int_equal(tally_each(&t, TALLY_TABLE_limits_hit, stop, &calls),
	    -1);
	assert_int_equal(calls, 1);
}

static void test_minute_forgets_what_is_older(void **state)
{
	struct tally_minute m = { .at = 0 };

	(void)state;
	assert_int_equal(tally_minute_count(&m, 1000 * USEC), 0);
	tally_minute_note(&m, 1000 * USEC);
	tally_minute_note(&m, 1001 * USEC);
	tally_minute_note(&m, 1035 * USEC);
	assert_int_equal(tally_minute_count(&m, 1035 * USEC), 3);
	assert_int_equal(tally_minute_count(&m, 1059 * USEC), 3);
	assert_int_equal(tally_minute_count(&m, 1060 * USEC), 1);
	tally_minute_note(&m, 1061 * USEC);
	assert_int_equal(tally_minute_count(&m, 1061 * USEC), 2);
	assert_int_equal(tally_minute_count(&m, 1095 * USEC), 1);
	assert_int_equal(tally_minute_count(&m, 9000 * USEC), 0);
	tally_minute_note(&m, 9000 * USEC);
	assert_int_equal(tally_minute_count(&m, 9000 * USEC), 1);
}

static void test_add_sums_every_counter(void **state)
{
	uint64_t one[COUNTERS];
	struct counters c, sum = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNTERS; i++)
		one[i] = i + 1;
	static_assert(sizeof one == sizeof c, "nothing but counters");
	memcpy(&c, one, sizeof c);
	counters_add(&sum, &c);
	counters_add(&sum, &c);
	for (size_t i = 0; i < COUNTERS; i++)
		assert_int_equal(((uint64_t *)(void *)&sum)[i], 2 * (i + 1));
}

static void test_snapshots_shift(void **state)
{
	struct counted c = { .now = { .xact_count = 1 } };

	(void)state;
	counted_snapshot(&c);
	c.now.xact_count = 5;
	counted_snapshot(&c);
	c.now.xact_count = 9;
	assert_int_equal(c.before.xact_count, 1);
	assert_int_equal(c.last.xact_count, 5);
}

static void test_averages_per_second_and_per_event(void **state)
{
	const struct counters before = { .xact_count = 10, .query_count = 5,
		.received = 100, .xact_time = 1000, .server_parse_count = 1 };
	const struct counters now = { .xact_count = 31, .query_count = 5,
		.received = 1999, .sent = 7, .xact_time = 43021,
		.query_time = 9, .wait_time = 10, .server_parse_count = 4,
		.server_assignment_count = 4, .client_login_count = 2 };
	struct counters avg;

	(void)state;
	counters_average(&avg, &now, &before, 2 * USEC);
	assert_int_equal(avg.xact_count, 10);
	assert_int_equal(avg.query_count, 0);
	assert_int_equal(avg.received, 949);
	assert_int_equal(avg.sent, 3);
	assert_int_equal(avg.xact_time, 42021 / 21);
	assert_int_equal(avg.query_time, 0);	/* no query: no division */
	assert_int_equal(avg.wait_time, 2);
	assert_int_equal(avg.server_parse_count, 1);
	assert_int_equal(avg.client_login_count, 1);
	assert_int_equal(avg.server_assignment_count, 2);
}

static void test_means_count_as_often_as_their_events(void **state)
{
	struct counters sum = { .xact_count = 3, .xact_time = 100, .sent = 5 };
	const struct counters other = { .xact_count = 1, .xact_time = 500,
		.query_count = 2, .query_time = 7, .sent = 6 };

	(void)state;
	counters_add_average(&sum, &other);
	assert_int_equal(sum.xact_count, 4);
	assert_int_equal(sum.xact_time, 200);
	assert_int_equal(sum.query_time, 7);
	assert_int_equal(sum.wait_time, 0);	/* no wait: no division */
	assert_int_equal(sum.sent, 11);
}

static void test_averages_of_extremes(void **state)
{
	const struct counters zero = { 0 };
	const struct counters huge = { .received = UINT64_MAX / 2,
		.xact_count = 1 };
	struct counters avg;

	(void)state;
	counters_average(&avg, &huge, &zero, USEC);
	assert_true(avg.received == UINT64_MAX / 2);
	counters_average(&avg, &zero, &zero, 0);
	assert_int_equal(avg.xact_count, 0);
	counters_average(&avg, &huge, &zero, 3 * USEC);
	assert_int_equal(avg.xact_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minute_forgets_what_is_older),
		cmocka_unit_test_setup(test_errors_are_counted_by_class,
		    setup),
		cmocka_unit_test_setup(test_what_is_no_code_is_other, setup),
		cmocka_unit_test_setup(
		    test_labels_are_words_of_log_and_settings, setup),
		cmocka_unit_test_setup(
		    test_each_method_of_a_rule_has_a_label, setup),
		cmocka_unit_test_setup(
		    test_what_is_small_is_told_when_it_is_0_too, setup),
		cmocka_unit_test_setup(test_sum_has_what_each_has_counted,
		    setup),
		cmocka_unit_test_setup(test_who_has_enough_is_told_no_more,
		    setup),
		cmocka_unit_test(test_add_sums_every_counter),
		cmocka_unit_test(test_snapshots_shift),
		cmocka_unit_test(test_averages_per_second_and_per_event),
		cmocka_unit_test(test_means_count_as_often_as_their_events),
		cmocka_unit_test(test_averages_of_extremes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
