/* test_broker_host.c - a host is not, or no longer, what target_session_attrs asks for.
 * SPDX-License-Identifier: ISC */
#include "session_test.h"

#include "base/mem.h"
#include "broker/broker.h"
#include "pool/hosts.h"

#define WORKERS 3

static char hosts[] = "a,b";

/* What the others were told, the latest last. */
static struct host_word *told[16];
static unsigned told_to[16], told_count;
static bool full;

static bool may_tell(void *app, unsigned worker)
{
	(void)app;
	return !full || worker != 1;
}

static void tell(void *app, struct host_word *w, unsigned worker)
{
	(void)app;
	told_to[told_count] = worker;
	told[told_count++] = w;
}

static int setup(void **state)
{
	if (session_setup(state) < 0)
		return -1;
	house.cat.pools = &house.pool;
	house.db_conf.host = hosts;
	house.db_conf.port = 5432;
	house.pool.limits.attrs = ATTRS_PRIMARY;
	house.ss.others = WORKERS - 1;
	house.ss.client_ops.may_tell = may_tell;
	house.ss.client_ops.tell = tell;
	told_count = 0;
	full = false;
	return 0;
}

static int teardown(void **state)
{
	broker_forget_words(&house.ss);
	hosts_free(&house.pool);
	return session_teardown(state);
}

/* At item 1, behind a failure at item 0. */
static struct server *new_primary(void)
{
	struct server *const s = session_server(SERVER_ACTIVE);

	s->host.item = 1;
	hosts_failed(&house.pool, 0, false, USEC);
	return s;
}

/* Another worker of the same configuration hears what this one says. */
static void hear(struct host_word *w, unsigned at)
{
	house.ss.worker = at;
	broker_hear(&house.ss, w);
}

static void test_others_are_told_once_a_turn(void **state)
{
	struct server *const s = new_primary();

	(void)state;
	broker_host_fits(s);
	broker_host_fits(s);
	assert_int_equal(told_count, 0);
	broker_pass_words(&house.ss);
	assert_int_equal(told_count, 2);
	assert_int_equal(told_to[0], 1);
	assert_int_equal(told_to[1], 2);
	broker_pass_words(&house.ss);
	assert_int_equal(told_count, 2);
	hear(told[0], 1);
	hear(told[1], 2);
}

static void test_who_has_no_room_is_told_later(void **state)
{
	struct server *const s = new_primary();

	(void)state;
	full = true;
	broker_host_fits(s);
	broker_pass_words(&house.ss);
	assert_int_equal(told_count, 1);
	broker_host_fits(s);
	full = false;
	broker_pass_words(&house.ss);
	assert_int_equal(told_count, 3);
	assert_int_equal(told_to[1], 1);
	for (unsigned i = 0; i < told_count; i++)
		hear(told[i], told_to[i]);
}

static void test_one_worker_tells_nobody(void **state)
{
	(void)state;
	house.ss.others = 0;
	broker_host_fits(new_primary());
	broker_host_changed(&house.s[0], true);
	assert_null(house.ss.words);
}

static void test_what_is_heard_while_all_stand_still_is_done_later(void **state)
{
	struct server *const s = new_primary();
	struct server *const other = session_server(SERVER_ACTIVE);

	(void)state;
	broker_host_changed(s, true);
	broker_pass_words(&house.ss);
	other->ps.close_needed = false;
	house.ss.suspended = true;
	hear(told[0], 1);
	assert_false(other->ps.close_needed);
	house.ss.suspended = false;
	broker_pass_words(&house.ss);
	assert_true(other->ps.close_needed);
	hear(told[1], 2);
}

static void test_nothing_is_lost_without_memory(void **state)
{
	struct server *const s = new_primary();

	(void)state;
	for (unsigned long fail = 1; fail <= 4; fail++) {
		mem_fail_at(fail);
		broker_host_fits(s);
		mem_fail_at(0);
	}
	broker_host_fits(s);
	broker_pass_words(&house.ss);
	assert_int_equal(told_count, 2);
	hear(told[0], 1);
	hear(told[1], 2);
}

#define T(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_others_are_told_once_a_turn),
		T(test_who_has_no_room_is_told_later),
		T(test_one_worker_tells_nobody),
		T(test_what_is_heard_while_all_stand_still_is_done_later),
		T(test_nothing_is_lost_without_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
