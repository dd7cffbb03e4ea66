/* test_perf_script.c - samples of perf as stacks, whatever their names are.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/perf_script.h"
#include "ctl/stacks.h"

static struct stacks stacks;
static struct perf_script script;

/* Read text line by line; away as in struct perf_script. */
static void read_text(const char *text, pid_t away)
{
	char line[8192];

	stacks_fini(&stacks);
	memset(&script, 0, sizeof script);
	script.stacks = &stacks;
	script.program = "pgsluice";
	script.away = away;
	while (*text != '\0') {
		const size_t n = strcspn(text, "\n");
		const size_t all = n + (text[n] == '\n');

		assert_true(all < sizeof line);
		memcpy(line, text, all);
		line[all] = '\0';
		perf_script_line(&script, line);
		text += all;
	}
	assert_int_equal(perf_script_end(&script), 0);
}

static uint64_t weight_of(const char *stack)
{
	struct stack *it;

	HASH_FIND_STR(stacks.all, stack, it);
	return it == NULL ? 0 : it->weight;
}

/* Read one sample whose only frame is this. */
static void assert_frame(const char *frame, const char *want)
{
	char text[8192];

	snprintf(text, sizeof text, "7 1.5: \n\t 1f %s\n\n", frame);
	read_text(text, 0);
	assert_int_equal(stacks.times, 1);
	assert_non_null(stacks.all);
	assert_string_equal(stacks.all->text, want);
}

static int clean(void **state)
{
	(void)state;
	stacks_fini(&stacks);
	return 0;
}

static void test_samples_become_stacks(void **state)
{
	(void)state;
	read_text(
	    "15621  2427.032491: \n"
	    "\tffffffff816e1f12 tcp_ack ([kernel.kallsyms])\n"
	    "\tffffffff81000130 do_syscall_64 ([kernel.kallsyms])\n"
	    "\t           fd001 recv (/usr/lib/x86_64-linux-gnu/libc.so.6)\n"
	    "\t           32f72 stream_recv.lto_priv.0 (/usr/bin/pgsluice)\n"
	    "\t           3238c main (/usr/bin/pgsluice)\n"
	    "\n"
	    "    7  2427.033491: \n"
	    "\t           3238c main (/usr/bin/pgsluice)\n"
	    "\n"
	    "    7  2427.034491: \n"
	    "\t           3238c main (/usr/bin/pgsluice)\n", 0);
	assert_int_equal(stacks.weight, 3);
	assert_int_equal(weight_of("main"), 2);
	assert_int_equal(weight_of("main;stream_recv;libc:recv;"
	    "kernel:do_syscall_64;kernel:tcp_ack"), 1);
}

static void test_names_are_short(void **state)
{
	(void)state;
	assert_frame("f.isra.0.cold (/opt/pgsluice)", "f");
	assert_frame("f.constprop.2 (/opt/pgsluice (deleted))", "f");
	assert_frame("f (/a b (c)/pgsluice)", "f");
	assert_frame("f (/opt/pgsluice.old)", "pgsluice.old:f");
	assert_frame("g@GLIBC_2.2.5 (/lib/libc.so.6)", "libc:g");
	assert_frame("g@@GLIBC_2.2.5 (/lib/libc-2.36.so)", "libc-2.36:g");
	assert_frame("nf_hook ([nf_tables])", "kernel:nf_hook");
	assert_frame("nf_hook (/lib/modules/6.1/net/nf_tables.ko.xz)",
	    "kernel:nf_hook");
	assert_frame("clock ([vdso])", "[vdso]:clock");
	assert_frame("std::map<int, char>::at(int) const (/lib/libx.so.1)",
	    "libx:std::map<int, char>::at(int) const");
}

static void test_what_has_no_name_is_its_file(void **state)
{
	(void)state;
	assert_frame("[unknown] (/lib/libevent_core-2.1.so.7)",
	    "[libevent_core-2.1]");
	assert_frame("[unknown] (/usr/bin/pgsluice)", "[pgsluice]");
	assert_frame("[unknown] ([unknown])", "[unknown]");
	assert_frame("[unknown] ([kernel.kallsyms])", "[kernel]");
	assert_frame("f ([unknown])", "f");
	assert_frame("", "[unknown]");
	assert_frame("f", "f");
	assert_frame("f (", "f (");
}

static void test_hostile_names_stay_one_frame(void **state)
{
	(void)state;
	assert_frame("a;b 12 (/opt/pgsluice)", "a:b 12");
	assert_frame("a\t\x1b[31m\x7f (/opt/pgsluice)", "a??[31m?");
	assert_frame("a (/x;y\x01/li;b.so)", "li:b:a");
}

static void test_an_endless_name_is_cut(void **state)
{
	char frame[6000];

	(void)state;
	memset(frame, 'x', sizeof frame - 1);
	frame[sizeof frame - 1] = '\0';
	memcpy(frame + 3000, " (/opt/pgsluice)", 16);
	char want[PERF_NAME_BYTES];

	memset(want, 'x', sizeof want);
	want[sizeof want - 1] = '\0';
	assert_frame(frame, want);
}

static void test_of_a_deep_stack_the_innermost_frames_stay(void **state)
{
	static char text[PERF_FRAMES_MAX * 400];
	int n = snprintf(text, sizeof text, "7 1.5: \n\t1 leaf (/opt/pgsluice)\n");

	(void)state;
	for (int i = 0; i < PERF_FRAMES_MAX + 20; i++)
		n += snprintf(text + n, sizeof text - (size_t)n,
		    "\t1 f%d_%0120d (/opt/pgsluice)\n", i, 0);
	read_text(text, 0);
	assert_int_equal(stacks.times, 1);
	char leaf[16];

	assert_string_equal(stack_leaf(stacks.all, false, leaf, sizeof leaf),
	    "leaf");
	assert_true(strlen(stacks.all->text) < PERF_STACK_BYTES);
	assert_true(strlen(stacks.all->text) > PERF_STACK_BYTES - 200);
}

static void test_frames_behind_the_outermost_are_left_out(void **state)
{
	(void)state;
	read_text("7 1.5: \n\t1 f (/opt/pgsluice)\n"
	    "\t560499d33b68 [unknown] ([unknown])\n"
	    "\t560499d33b70 [unknown] ([unknown])\n\n", 0);
	assert_int_equal(weight_of("f"), 1);
}

static void test_noise_is_no_sample(void **state)
{
	(void)state;
	read_text("# a comment\n\tframe of nothing (x)\n\nWarning: 1.5\n"
	    "7 x.5: \n\n-3 1.5: \n\n7 12345678901234567890.1: \n\n"
	    "7 106666666666666.5: \n\n7 18446744073709551616: \n\n \n", 0);
	assert_int_equal(stacks.times, 0);
	read_text("", 0);
	assert_int_equal(stacks.times, 0);
}

/* The thread 7 leaves and comes back: others' stacks are of no interest. */
static void test_time_away_is_from_leaving_to_coming_back(void **state)
{
	(void)state;
	read_text(
	    "9 9.000000: \n\t1 other (/bin/x)\n\n"
	    "7 10.000000: \n\t2 schedule ([kernel.kallsyms])\n"
	    "\t1 main (/opt/pgsluice)\n\n"
	    "0 10.250000: \n\t1 idle ([kernel.kallsyms])\n\n"
	    "8 10.300000: \n\t1 other (/bin/x)\n\n"
	    "7 11.5: \n\t2 schedule ([kernel.kallsyms])\n"
	    "\t1 main (/opt/pgsluice)\n\n"
	    "9 11.500500123: \n\t1 other (/bin/x)\n\n"
	    "7 12.000000: \n\t1 main (/opt/pgsluice)\n\n", 7);
	assert_int_equal(weight_of("main;kernel:schedule"), 250500);
	assert_int_equal(stacks.weight, 250500);
	assert_int_equal(stacks.times, 2);
}

static void test_a_clock_that_goes_back_adds_nothing(void **state)
{
	(void)state;
	read_text("7 10.0: \n\t1 main (/opt/pgsluice)\n\n"
	    "9 9.0: \n\t1 other (/bin/x)\n\n", 7);
	assert_int_equal(stacks.weight, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_become_stacks),
		cmocka_unit_test(test_names_are_short),
		cmocka_unit_test(test_what_has_no_name_is_its_file),
		cmocka_unit_test(test_hostile_names_stay_one_frame),
		cmocka_unit_test(test_an_endless_name_is_cut),
		cmocka_unit_test(test_of_a_deep_stack_the_innermost_frames_stay),
		cmocka_unit_test(test_frames_behind_the_outermost_are_left_out),
		cmocka_unit_test(test_noise_is_no_sample),
		cmocka_unit_test(test_time_away_is_from_leaving_to_coming_back),
		cmocka_unit_test(test_a_clock_that_goes_back_adds_nothing),
	};

	return cmocka_run_group_tests_name("perf_script", tests, NULL, clean);
}
