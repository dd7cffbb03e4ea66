/* test_reasons.c - what time was spent for, by the names of functions.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/reasons.h"
#include "ctl/stacks.h"

static void test_the_innermost_that_is_known_decides(void **state)
{
	static const struct {
		const char *stack;
		enum reason reason;
	} rows[] = {
		{ "main;loop_run;stream_on;relay_up;libc:recv;"
		    "kernel:do_syscall_64;kernel:__x64_sys_recvfrom;"
		    "kernel:tcp_recvmsg", REASON_RECEIVE },
		{ "main;relay_up;libc:sendmsg;kernel:__arm64_sys_sendmsg;"
		    "kernel:tcp_v4_rcv", REASON_SEND },
		{ "main;kernel:__se_sys_epoll_wait", REASON_EVENTS },
		{ "main;relay_up;libc:__memcpy_evex", REASON_PROTOCOL },
		{ "main;relay_up;mem_alloc;libc:malloc", REASON_MEMORY },
		{ "main;relay_up;kernel:asm_exc_page_fault;kernel:x",
		    REASON_MEMORY },
		{ "main;server_connected;x", REASON_CONNECT },
		{ "main;server_login_take", REASON_LOGIN },
		{ "main;server_close", REASON_PROTOCOL },
		{ "main;broker_release;join", REASON_POOLING },
		{ "main;console_run;view_pools", REASON_CONSOLE },
		{ "main;log_at;libc:vsnprintf", REASON_LOGGING },
		{ "main;janitor_tick", REASON_UPKEEP },
		{ "main", REASON_LOOP },
		{ "x;y", REASON_OTHER },
		{ "[unknown]", REASON_OTHER },
		{ "", REASON_OTHER },
		{ ";;", REASON_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (reason_of(rows[i].stack, false) != rows[i].reason)
			fail_msg("%s is %s", rows[i].stack,
			    reason_name(reason_of(rows[i].stack, false)));
	}
}

/* The same cipher serves TLS and passwords; write() files and sockets. */
static void test_what_belongs_to_many_counts_where_no_other_is_known(
    void **state)
{
	(void)state;
	assert_int_equal(reason_of("main;libcrypto:aes", false), REASON_TLS);
	assert_int_equal(reason_of("libcrypto:sha", false), REASON_TLS);
	assert_int_equal(reason_of("x;scram_client_final;libcrypto:sha", false),
	    REASON_LOGIN);
	assert_int_equal(reason_of("log_out_write;kernel:__x64_sys_write",
	    false), REASON_LOGGING);
	assert_int_equal(reason_of("x;kernel:__x64_sys_write", false),
	    REASON_SEND);
	assert_int_equal(reason_of("x;libevent_core-2.1:event_base_loop",
	    false), REASON_LOOP);
}

static void test_only_who_is_away_waits_for_a_cpu(void **state)
{
	static const char stack[] = "main;relay_up;kernel:asm_sysvec_x;"
	    "kernel:irqentry_exit_to_user_mode;kernel:schedule";

	(void)state;
	assert_int_equal(reason_of(stack, true), REASON_CPU);
	assert_int_equal(reason_of(stack, false), REASON_PROTOCOL);
	assert_int_equal(reason_of("main;kernel:__x64_sys_epoll_wait;"
	    "kernel:schedule", true), REASON_EVENTS);
	assert_int_equal(reason_of("x;kernel:__x64_sys_futex;kernel:schedule",
	    true), REASON_LOCK);
}

static void test_sums_are_those_of_all_stacks(void **state)
{
	struct stacks s = { 0 };
	uint64_t sums[REASONS], all = 0;

	(void)state;
	stacks_add(&s, "main;relay_up;libc:recv", 3);
	stacks_add(&s, "main;libc:recv", 4);
	stacks_add(&s, "?", 5);
	s.homeless = 6;
	reasons_sum(&s, false, sums);
	for (int i = 0; i < REASONS; i++)
		all += sums[i];
	assert_int_equal(sums[REASON_RECEIVE], 7);
	assert_int_equal(sums[REASON_OTHER], 11);
	assert_int_equal(all, 18);
	stacks_fini(&s);
}

static void test_each_reason_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < REASONS; i++)
		assert_non_null(reason_name((enum reason)i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_innermost_that_is_known_decides),
		cmocka_unit_test(
		    test_what_belongs_to_many_counts_where_no_other_is_known),
		cmocka_unit_test(test_only_who_is_away_waits_for_a_cpu),
		cmocka_unit_test(test_sums_are_those_of_all_stacks),
		cmocka_unit_test(test_each_reason_has_a_name),
	};

	return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
