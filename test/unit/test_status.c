/* test_status.c - how the pooler is, in figures and words.
 * SPDX-License-Identifier: ISC */
#include "ctl/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "ctl/grid.h"

static void test_version_is_our_own(void **state)
{
	(void)state;

	static const char *names[] = { "version" };
	const char *cells[] = { "PgBouncer 1.25.2 (pgsluice 0.1.0)" };
	const struct grid g = { 1, 1, names, cells, NULL, NULL };
	struct summary s = { 0 };

	summary_version(&s, &g);
	assert_string_equal(s.version, "pgsluice 0.1.0");
	cells[0] = "PgBouncer 1.25.2";
	summary_version(&s, &g);
	assert_string_equal(s.version, "PgBouncer 1.25.2");
	cells[0] = NULL;
	summary_version(&s, &g);
	assert_string_equal(s.version, "");
}

static void test_uptime_counts_from_the_start(void **state)
{
	(void)state;

	struct summary s;
	const usec_t start = 1769850300 * USEC;

	summary_uptime(&s, "2026-01-31 09:05:00.123456+00", start + 61 * USEC);
	assert_int_equal(s.uptime / USEC, 61);
	/* another machine's clock is not ours */
	summary_uptime(&s, "2026-01-31 09:05:00+00", start - USEC);
	assert_int_equal(s.uptime, 0);
	summary_uptime(&s, NULL, start);
	assert_int_equal(s.uptime, -1);
	summary_uptime(&s, "yesterday", start);
	assert_int_equal(s.uptime, -1);
}

static void test_state_is_one_word(void **state)
{
	(void)state;

	static const char *names[] = { "key", "value" };
	static const struct {
		const char *paused, *suspended, *draining, *word;
	} rows[] = {
		{ "no", "no", NULL, "active" },
		{ "yes", "no", NULL, "paused" },
		{ "no", "yes", NULL, "suspended" },
		{ "yes", "no", "leaving", "draining" },
	};

	for (size_t i = 0; i < 4; i++) {
		const char *cells[] = { "paused", rows[i].paused, "suspended",
			rows[i].suspended, "draining", rows[i].draining };
		const struct grid g = { 2, 3, names, cells, NULL, NULL };
		struct summary s = { 0 };

		summary_state(&s, &g);
		assert_string_equal(summary_word(&s), rows[i].word);
		assert_int_equal(summary_is_active(&s), i == 0);
	}
}

static void test_drain_says_how_far_it_is(void **state)
{
	(void)state;

	static const char *names[] = { "key", "value" };
	const char *cells[] = { "draining", "leaving", "clients_left", "3",
		"seconds_left", "12" };
	struct grid g = { 2, 3, names, cells, NULL, NULL };
	struct summary s = { 0 };
	char buf[64];
	struct text t;

	summary_state(&s, &g);
	text_init(&t, buf, sizeof(buf));
	summary_add_state(&t, &s);
	assert_string_equal(buf, "draining, 3 clients left, 12 s");
	g.rows = 0;
	summary_state(&s, &g);
	text_init(&t, buf, sizeof(buf));
	summary_add_state(&t, &s);
	assert_string_equal(buf, "active");
}

static void test_days_of_certificates_are_named(void **state)
{
	static const char *names[] = { "key", "value" };
	const char *cells[] = { "active", "yes", "client_tls_cert_file_days",
		"89", "server_tls_cert_file_days", "-2", "slow_turns", "1" };
	const struct grid g = { 2, 4, names, cells, NULL, NULL };
	struct summary s = { 0 };

	(void)state;
	summary_state(&s, &g);
	assert_string_equal(s.certificates, "client_tls_cert_file 89 days, "
	    "server_tls_cert_file -2 days");
}

static void test_waits_are_added_up(void **state)
{
	(void)state;

	static const char *names[] = { "wait_reason", "clients", "wait_us" };
	const char *cells[] = {
		"pool_size", "3", "1500000",
		"server_login_failed", "1", "20",
	};
	const struct grid g = { 3, 2, names, cells, NULL, NULL };
	struct summary s = { .waiting = 9 };

	summary_waits(&s, &g);
	assert_int_equal(s.waiting, 4);
	assert_int_equal(s.longest, 1500000);
}

static void test_health_is_a_word_and_the_first_reason(void **state)
{
	(void)state;

	static const char *names[] = { "state", "reason", "database", "user",
		"seconds", "detail" };
	const char *cells[] = {
		"down", NULL, NULL, NULL, NULL, NULL,
		"degraded", "no server", "shop", "ann", "12", "connect failed",
		"degraded", "paused", "shop", NULL, NULL, NULL,
	};
	struct grid g = { 6, 3, names, cells, NULL, NULL };
	struct summary s = { .waiting = 0 };
	char buf[100];
	struct text t;

	summary_health(&s, &g);
	assert_string_equal(s.health, "down");
	assert_false(summary_is_well(&s));
	assert_string_equal(s.reason,
	    "pool shop/ann: no server for 12 s: connect failed");
	text_init(&t, buf, sizeof buf);
	summary_add_finding(&t, &g, 2);
	assert_string_equal(buf, "database \"shop\": paused");
	/* an older pooler does not know the question */
	g.rows = 0;
	summary_health(&s, &g);
	assert_true(summary_is_well(&s));
	assert_string_equal(s.reason, "");
}

static void assert_text(void (*add)(struct text *t, usec_t time), usec_t time,
    const char *want)
{
	char buf[64];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	add(&t, time);
	assert_string_equal(buf, want);
}

static void test_times_are_short(void **state)
{
	(void)state;

	assert_text(summary_add_wait, 0, "0");
	assert_text(summary_add_wait, 1, "1 ms");
	assert_text(summary_add_wait, 999999, "1000 ms");
	assert_text(summary_add_wait, 1550000, "1.5 s");
	assert_text(summary_add_wait, 99900000, "99.9 s");
	assert_text(summary_add_wait, 180 * USEC, "3 min");
	assert_text(summary_add_uptime, 3661 * USEC, "01:01:01");
	assert_text(summary_add_uptime, 86400 * USEC, "1 day 00:00");
	assert_text(summary_add_uptime, 200000 * USEC, "2 days 07:33");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_is_our_own),
		cmocka_unit_test(test_uptime_counts_from_the_start),
		cmocka_unit_test(test_state_is_one_word),
		cmocka_unit_test(test_drain_says_how_far_it_is),
		cmocka_unit_test(test_days_of_certificates_are_named),
		cmocka_unit_test(test_waits_are_added_up),
		cmocka_unit_test(test_health_is_a_word_and_the_first_reason),
		cmocka_unit_test(test_times_are_short),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
