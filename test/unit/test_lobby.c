/* test_lobby.c - those who have not shown yet who they are.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/net.h"
#include "pool/lobby.h"

#define T0 (1000 * USEC)

static struct net_addr at(const char *text)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(text, 5000, &a), 0);
	return a;
}

static void enter(struct lobby *l, struct lobby_guest *g, const char *from)
{
	const struct net_addr a = at(from);

	assert_int_equal(lobby_enter(l, g, &a), 0);
}

static void leave_all(struct lobby *l)
{
	while (l->all != NULL)
		lobby_leave(l, l->all);
	lobby_fini(l);
	assert_int_equal(l->count, 0);
	assert_int_equal(l->bytes, 0);
	assert_null(l->heavies);
	assert_null(l->sources);
}

static void test_oldest_is_the_surplus(void **state)
{
	struct lobby l;
	struct lobby_guest g[3] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	for (int i = 0; i < 3; i++) {
		assert_null(lobby_surplus(&l, &g[2], 3));
		enter(&l, &g[i], "10.0.0.1");
	}
	assert_null(lobby_surplus(&l, &g[2], 3));
	assert_ptr_equal(lobby_surplus(&l, &g[2], 2), &g[0]);
	lobby_leave(&l, &g[0]);
	lobby_leave(&l, &g[0]);
	assert_null(lobby_surplus(&l, &g[2], 2));
	assert_ptr_equal(lobby_surplus(&l, &g[2], 1), &g[1]);
	leave_all(&l);
}

static void test_sources_are_addresses_and_networks(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} pairs[] = {
		{ "10.0.0.1", "10.0.0.1", true },
		{ "10.0.0.1", "10.0.0.2", false },
		{ "10.0.0.1", "::ffff:10.0.0.1", true },
		{ "2001:db8::1", "2001:db8::ffff:1:2", true },
		{ "2001:db8::1", "2001:db8:0:1::1", false },
		{ "2001:db8::1", "10.0.0.1", false },
	};
	const struct net_addr local = { .family = NET_UNIX };

	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
		struct lobby l;
		struct lobby_guest g[4] = { 0 };

		lobby_init(&l, T0);
		enter(&l, &g[0], pairs[i].a);
		enter(&l, &g[1], pairs[i].b);
		assert_ptr_equal(lobby_surplus_mate(&l, &g[1], 1),
		    pairs[i].same ? &g[0] : NULL);
		assert_null(lobby_surplus_mate(&l, &g[1], 2));
		assert_null(lobby_surplus_mate(&l, &g[1], 0));
		assert_int_equal(lobby_enter(&l, &g[2], &local), 0);
		assert_int_equal(lobby_enter(&l, &g[3], &local), 0);
		assert_null(lobby_surplus_mate(&l, &g[3], 1));
		leave_all(&l);
	}
}

static void test_who_owes_something_keeps_his_place(void **state)
{
	struct lobby l;
	struct lobby_guest g[4] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	for (int i = 0; i < 4; i++)
		enter(&l, &g[i], "10.0.0.1");
	lobby_punish(&l, &g[0], T0 + USEC);
	g[1].examined = true;
	assert_ptr_equal(lobby_surplus_mate(&l, &g[3], 3), &g[2]);
	lobby_leave(&l, &g[2]);
	assert_ptr_equal(lobby_surplus_mate(&l, &g[3], 2), &g[3]);
	assert_ptr_equal(lobby_surplus(&l, &g[3], 2), &g[3]);
	leave_all(&l);
}

static void test_surplus_is_of_the_source_with_most_guests(void **state)
{
	struct lobby l;
	struct lobby_guest g[5] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	enter(&l, &g[0], "10.0.0.1");
	enter(&l, &g[1], "10.0.0.2");
	/* as many of each: the oldest */
	assert_ptr_equal(lobby_surplus(&l, &g[1], 1), &g[0]);
	enter(&l, &g[2], "10.0.0.2");
	assert_ptr_equal(lobby_surplus(&l, &g[2], 2), &g[1]);
	enter(&l, &g[3], "10.0.0.3");
	assert_ptr_equal(lobby_surplus(&l, &g[3], 3), &g[1]);
	/* who guesses keeps nobody out but himself ... */
	lobby_punish(&l, &g[1], T0 + USEC);
	assert_ptr_equal(lobby_surplus(&l, &g[3], 3), &g[2]);
	lobby_punish(&l, &g[2], T0 + USEC);
	assert_ptr_equal(lobby_surplus(&l, &g[3], 3), &g[1]);
	/* ... and has no other guess for that */
	enter(&l, &g[4], "10.0.0.2");
	g[4].examined = true;
	assert_ptr_equal(lobby_surplus(&l, &g[4], 4), &g[4]);
	leave_all(&l);
}

static void test_crowd_without_an_address(void **state)
{
	const struct net_addr local = { .family = NET_UNIX };
	struct lobby l;
	struct lobby_guest g[3] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	assert_int_equal(lobby_enter(&l, &g[0], &local), 0);
	assert_int_equal(lobby_enter(&l, &g[1], &local), 0);
	enter(&l, &g[2], "10.0.0.1");
	assert_ptr_equal(lobby_surplus(&l, &g[2], 2), &g[0]);
	assert_int_equal(lobby_fail(&l, &g[0], USEC, T0), 0);
	leave_all(&l);
}

static bool is_idle(const struct lobby_guest *g)
{
	return lobby_is_punished(g);
}

static bool is_slow(const struct lobby_guest *g)
{
	return g->examined;
}

/* Who makes room for g; NULL: another worker's, or nobody. */
static void test_oldest_goes_and_one_with_a_penalty_last(void **state)
{
	struct lobby_guest g[2] = { 0 }, *own;
	struct lobby l;

	(void)state;
	lobby_init(&l, 0);
	assert_false(lobby_expel_oldest(&l, TALLY_open_files, &own));
	for (int i = 0; i < 2; i++)
		assert_int_equal(lobby_enter(&l, &g[i],
		    &(struct net_addr){ .family = NET_IPV4 }), 0);
	assert_true(lobby_expel_oldest(&l, TALLY_open_files, &own));
	assert_ptr_equal(own, &g[0]);
	lobby_punish(&l, &g[0], USEC);
	assert_true(lobby_expel_oldest(&l, TALLY_open_files, &own));
	assert_ptr_equal(own, &g[1]);
	lobby_leave(&l, &g[1]);
	assert_true(lobby_expel_oldest(&l, TALLY_open_files, &own));
	assert_ptr_equal(own, &g[0]);
	lobby_leave(&l, &g[0]);
	lobby_fini(&l);
}

static struct lobby_guest *displaced(struct lobby *l, struct lobby_guest *g)
{
	static const struct lobby_judge judge = { is_idle, is_slow };
	struct lobby_guest *own = NULL;

	return lobby_displace(l, g, &judge, &own) ? own : NULL;
}

static void test_penalty_makes_room_for_others_only(void **state)
{
	struct lobby l;
	struct lobby_guest g[3] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	enter(&l, &g[0], "10.0.0.1");
	enter(&l, &g[1], "10.0.0.1");
	enter(&l, &g[2], "10.0.0.2");
	assert_null(displaced(&l, &g[2]));
	lobby_examine(&l, &g[0], true);
	assert_ptr_equal(displaced(&l, &g[1]), &g[0]);
	assert_null(displaced(&l, &g[0]));
	lobby_punish(&l, &g[0], T0 + USEC);
	assert_null(displaced(&l, &g[1]));
	assert_ptr_equal(displaced(&l, &g[2]), &g[0]);
	leave_all(&l);
}

/* --- two workers --- */

static void note_call(void *arg)
{
	++*(unsigned *)arg;
}

static struct {
	struct lobby l[2];
	unsigned calls[2];
	struct lobby_guest g[4];
} two;

static int open_two(void **state)
{
	(void)state;
	memset(&two, 0, sizeof two);
	for (int i = 0; i < 2; i++) {
		lobby_init(&two.l[i], T0);
		lobby_on_call(&two.l[i], note_call, &two.calls[i]);
	}
	lobby_share(&two.l[0], &two.l[1]);
	return 0;
}

static int close_two(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		lobby_leave(&two.l[0], &two.g[i]);
	assert_int_equal(two.l[0].guests + two.l[1].guests, 0);
	assert_int_equal(lobby_leaving(&two.l[1]), 0);
	lobby_fini(&two.l[1]);
	leave_all(&two.l[0]);
	return 0;
}

static void test_workers_count_together(void **state)
{
	struct lobby_guest *const g = two.g;

	(void)state;
	enter(&two.l[1], &g[0], "10.0.0.1");
	enter(&two.l[0], &g[1], "10.0.0.1");
	assert_null(lobby_surplus(&two.l[0], &g[1], 2));
	enter(&two.l[0], &g[2], "10.0.0.2");
	/* the oldest is the other one's: it counts no more, and is called for */
	assert_null(lobby_surplus(&two.l[0], &g[2], 2));
	assert_int_equal(two.l[0].count, 2);
	assert_int_equal(lobby_leaving(&two.l[0]), 1);
	assert_int_equal(two.calls[1], 1);
	assert_null(lobby_take_expelled(&two.l[0]));
	assert_ptr_equal(lobby_take_expelled(&two.l[1]), &g[0]);
	assert_int_equal(g[0].limit, TALLY_max_unauthenticated);
	assert_null(lobby_take_expelled(&two.l[1]));
	assert_false(lobby_leave(&two.l[1], &g[0]));
	assert_int_equal(lobby_leaving(&two.l[0]), 0);
	assert_ptr_equal(lobby_surplus(&two.l[0], &g[2], 1), &g[1]);
}

static void test_limits_of_address_and_memory_are_for_all(void **state)
{
	struct lobby_guest *const g = two.g;

	(void)state;
	enter(&two.l[1], &g[0], "10.0.0.1");
	enter(&two.l[0], &g[1], "10.0.0.1");
	lobby_hold(&two.l[1], &g[0], 6000, 0);
	lobby_hold(&two.l[0], &g[1], 6000, 0);
	assert_null(lobby_surplus_bytes(&two.l[0], &g[1], 12000));
	assert_null(lobby_surplus_bytes(&two.l[0], &g[1], 11999));
	assert_true(g[0].expelled);
	assert_int_equal(two.l[0].bytes, 6000);
	/* what it holds counts no more, whatever that is */
	lobby_hold(&two.l[1], &g[0], 9000, 0);
	assert_int_equal(two.l[0].bytes, 6000);
	assert_null(lobby_surplus_bytes(&two.l[1], &g[0], 1));
	enter(&two.l[1], &g[2], "10.0.0.1");
	assert_null(lobby_surplus_mate(&two.l[1], &g[2], 1));
	assert_true(g[1].expelled);
	assert_int_equal(two.calls[0], 1);
	/* nor is it told, before it is closed, that it has guessed wrong */
	assert_true(lobby_is_expelled(&two.l[0], &g[1]));
	assert_false(lobby_is_expelled(&two.l[1], &g[2]));
	assert_int_equal(lobby_fail(&two.l[0], &g[1], USEC, T0), USEC);
}

static void test_failures_are_told_to_all(void **state)
{
	usec_t delay = 0;

	(void)state;
	enter(&two.l[0], &two.g[0], "10.0.0.1");
	enter(&two.l[1], &two.g[1], "10.0.0.1");
	for (int i = 0; i < 2; i++) {
		delay = lobby_fail(&two.l[0], &two.g[0], USEC, T0);
		delay += lobby_fail(&two.l[1], &two.g[1], USEC, T0);
	}
	assert_int_equal(delay, USEC / 8);
}

static void test_guests_are_dealt_evenly(void **state)
{
	struct lobby *const l = two.l;

	(void)state;
	assert_int_equal(lobby_emptiest(&l[0]), 0);
	assert_int_equal(lobby_emptiest(&l[1]), 1);
	for (int i = 0; i < 4; i++) {
		enter(&l[0], &two.g[i], "10.0.0.1");
		if (lobby_emptiest(&l[0]) == 1)
			assert_true(lobby_send(&l[0], &two.g[i], 1));
	}
	assert_int_equal(l[0].guests, 2);
	assert_int_equal(l[1].guests, 2);
	assert_int_equal(l[0].count, 4);
}

static void test_who_travels_is_told_at_the_end(void **state)
{
	struct lobby *const l = two.l;
	struct lobby_guest *const g = two.g;

	(void)state;
	enter(&l[0], &g[0], "10.0.0.1");
	enter(&l[1], &g[1], "10.0.0.1");
	assert_true(lobby_send(&l[0], &g[0], 1));
	/* even by the worker that it is for: it has it not yet */
	assert_null(lobby_surplus(&l[1], &g[1], 1));
	assert_true(g[0].expelled);
	assert_int_equal(two.calls[1], 0);
	assert_null(lobby_take_expelled(&l[1]));
	assert_false(lobby_arrive(&l[1], &g[0]));
	assert_int_equal(lobby_leaving(&l[1]), 1);
	/* one that stays, and one that was to go when it was expelled */
	assert_true(lobby_send(&l[1], &g[1], 0));
	assert_true(lobby_arrive(&l[0], &g[1]));
	enter(&l[1], &g[2], "10.0.0.2");
	assert_null(lobby_surplus(&l[1], &g[2], 1));
	assert_false(lobby_send(&l[0], &g[1], 1));
	assert_int_equal(two.calls[0], 1);
}

static void test_room_for_a_client_is_made_by_another_worker(void **state)
{
	struct lobby *const l = two.l;
	struct lobby_guest *const g = two.g;

	(void)state;
	enter(&l[1], &g[0], "10.0.0.1");
	enter(&l[0], &g[1], "10.0.0.2");
	assert_null(displaced(&l[0], &g[1]));
	assert_false(g[0].expelled);
	lobby_examine(&l[1], &g[0], true);
	assert_null(displaced(&l[0], &g[1]));
	assert_true(g[0].expelled);
	assert_int_equal(g[0].limit, TALLY_max_client_conn);
	/* one by one */
	enter(&l[1], &g[2], "10.0.0.3");
	lobby_punish(&l[1], &g[2], T0 + USEC);
	assert_null(displaced(&l[0], &g[1]));
	assert_true(g[2].expelled);
	assert_null(displaced(&l[0], &g[1]));
	assert_int_equal(lobby_leaving(&l[0]), 2);
	assert_int_equal(two.calls[1], 1);
}

static void test_heavy_ones_go_first(void **state)
{
	struct lobby l;
	struct lobby_guest g[3] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	for (int i = 0; i < 3; i++) {
		enter(&l, &g[i], "10.0.0.1");
		lobby_hold(&l, &g[i], 1000, 0);
	}
	assert_null(lobby_surplus_bytes(&l, &g[2], 3000));
	assert_ptr_equal(lobby_surplus_bytes(&l, &g[2], 2999), &g[0]);
	assert_null(lobby_surplus_bytes(&l, &g[2], 0));
	lobby_hold(&l, &g[2], LOBBY_LIGHT + 1, 0);
	lobby_hold(&l, &g[1], LOBBY_LIGHT + 1, 0);
	assert_ptr_equal(lobby_surplus_bytes(&l, &g[2], 10000), &g[2]);
	lobby_hold(&l, &g[2], LOBBY_LIGHT, 0);
	assert_ptr_equal(lobby_surplus_bytes(&l, &g[2], 10000), &g[1]);
	lobby_leave(&l, &g[1]);
	assert_int_equal(l.bytes, 1000 + LOBBY_LIGHT);
	/* what a library holds makes nobody heavy, but counts */
	lobby_hold(&l, &g[2], LOBBY_LIGHT, 50000);
	assert_int_equal(l.bytes, 1000 + LOBBY_LIGHT + 50000);
	assert_ptr_equal(lobby_surplus_bytes(&l, &g[2], 50000), &g[0]);
	/* none is heavy: who serves a penalty stays */
	lobby_punish(&l, &g[0], T0 + USEC);
	assert_ptr_equal(lobby_surplus_bytes(&l, &g[2], 1), &g[2]);
	leave_all(&l);
}

static void test_delay_doubles_and_is_forgotten(void **state)
{
	static const usec_t want[] = { 0, 0, 0, USEC / 8, USEC / 4, USEC / 2,
		USEC * 6 / 10, USEC * 6 / 10 };
	const usec_t max = USEC * 6 / 10;
	struct lobby l;
	struct lobby_guest g = { 0 }, other = { 0 };

	(void)state;
	lobby_init(&l, T0);
	enter(&l, &g, "10.0.0.1");
	enter(&l, &other, "10.0.0.2");
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
		assert_int_equal(lobby_fail(&l, &g, max, T0), want[i]);
	assert_int_equal(lobby_fail(&l, &other, max, T0), 0);
	assert_int_equal(lobby_fail(&l, &g, 0, T0), 0);
	/* he goes, what he did stays for a while */
	lobby_leave(&l, &g);
	lobby_turn(&l, T0 + 60 * USEC);
	g = (struct lobby_guest){ 0 };
	enter(&l, &g, "10.0.0.1");
	assert_int_equal(lobby_fail(&l, &g, max, T0 + 60 * USEC), max);
	lobby_turn(&l, T0 + 121 * USEC);
	assert_int_equal(lobby_fail(&l, &g, max, T0 + 121 * USEC), 0);
	lobby_leave(&l, &g);
	lobby_turn(&l, T0 + 200 * USEC);
	leave_all(&l);
}

static void test_failures_of_many_are_not_kept(void **state)
{
	struct lobby l;

	(void)state;
	lobby_init(&l, T0);
	for (uint32_t i = 0; i < 12000; i++) {
		struct net_addr a = { .family = NET_IPV4,
			.ip = { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8),
			    (uint8_t)i } };
		struct lobby_guest g = { 0 };

		assert_int_equal(lobby_enter(&l, &g, &a), 0);
		(void)lobby_fail(&l, &g, USEC, T0);
		lobby_leave(&l, &g);
	}
	assert_in_range(l.marks, 9000, 10001);
	leave_all(&l);
}

static void test_penalties_end_in_time(void **state)
{
	struct lobby l;
	struct lobby_guest g[3] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	for (int i = 0; i < 3; i++) {
		enter(&l, &g[i], "10.0.0.1");
		lobby_punish(&l, &g[i], T0 + (3 - i) * USEC);
		assert_true(lobby_is_punished(&g[i]));
	}
	for (usec_t t = T0; t <= T0 + 4 * USEC; t += USEC / 10) {
		struct lobby_guest *served;

		lobby_turn(&l, t);
		while ((served = lobby_take_served(&l, t)) != NULL) {
			assert_true(t >= served->until);
			assert_true(t < served->until + USEC / 4);
			lobby_leave(&l, served);
		}
	}
	assert_int_equal(l.count, 0);
	leave_all(&l);
}

static void test_log_speaks_of_some_and_counts_the_others(void **state)
{
	struct lobby l;
	struct lobby_guest g[7] = { 0 };

	(void)state;
	lobby_init(&l, T0);
	for (int i = 0; i < 6; i++) {
		enter(&l, &g[i], "10.0.0.1");
		assert_int_equal(lobby_speaks(&l, &g[i], 2, T0), i < 2);
		assert_int_equal(lobby_speaks(&l, &g[i], 2, T0), i < 2);
	}
	assert_true(lobby_admit(&l, &g[5]));
	assert_false(lobby_admit(&l, &g[0]));
	/* his place in the log is free again */
	enter(&l, &g[6], "10.0.0.1");
	assert_true(lobby_speaks(&l, &g[6], 2, T0));
	assert_int_equal(lobby_take_unsaid(&l, T0 + USEC - 1), 0);
	assert_int_equal(lobby_take_unsaid(&l, T0 + USEC), 3);
	assert_int_equal(lobby_take_unsaid(&l, T0 + 2 * USEC), 0);
	leave_all(&l);
}

static void test_no_memory_for_a_source(void **state)
{
	struct lobby l;
	struct lobby_guest g = { 0 };
	const struct net_addr a = at("10.0.0.1");
	int failed = 0;

	(void)state;
	lobby_init(&l, T0);
	for (unsigned long n = 1; n < 50; n++) {
		(void)mem_fail_at(n);
		const int rc = lobby_enter(&l, &g, &a);

		(void)mem_fail_at(0);
		if (rc == 0)
			break;
		failed++;
		assert_int_equal(l.count, 0);
		lobby_leave(&l, &g);
	}
	assert_in_range(failed, 1, 10);
	leave_all(&l);
}

#define TWO(t) cmocka_unit_test_setup_teardown(t, open_two, close_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oldest_is_the_surplus),
		cmocka_unit_test(test_sources_are_addresses_and_networks),
		cmocka_unit_test(test_who_owes_something_keeps_his_place),
		cmocka_unit_test(test_surplus_is_of_the_source_with_most_guests),
		cmocka_unit_test(test_crowd_without_an_address),
		cmocka_unit_test(test_penalty_makes_room_for_others_only),
		TWO(test_workers_count_together),
		TWO(test_limits_of_address_and_memory_are_for_all),
		TWO(test_failures_are_told_to_all),
		TWO(test_guests_are_dealt_evenly),
		TWO(test_who_travels_is_told_at_the_end),
		TWO(test_room_for_a_client_is_made_by_another_worker),
		cmocka_unit_test(test_heavy_ones_go_first),
		cmocka_unit_test(test_delay_doubles_and_is_forgotten),
		cmocka_unit_test(test_failures_of_many_are_not_kept),
		cmocka_unit_test(test_penalties_end_in_time),
		cmocka_unit_test(test_log_speaks_of_some_and_counts_the_others),
		cmocka_unit_test(test_oldest_goes_and_one_with_a_penalty_last),
		cmocka_unit_test(test_no_memory_for_a_source),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
