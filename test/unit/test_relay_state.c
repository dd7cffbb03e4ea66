/* test_relay_state.c - what the relay knows of a client, in another process.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "proto/writer.h"
#include "session/relay_state.h"

static char name[] = "s1", portal[] = "";

static const struct relay_state full = {
	.hold = true, .parse_tried = true, .execute_holds = true,
	.discards = true, .dealloc = { name, portal },
};

static void save(const struct relay_state *r, struct writer *w)
{
	writer_init(w, 1 << 16);
	relay_state_save(r, w);
	assert_false(w->failed);
}

static void test_all_that_is_known_is_known_again(void **state)
{
	struct relay_state r = { 0 };
	struct writer w;
	struct err e;

	(void)state;
	save(&full, &w);
	assert_int_equal(relay_state_load(&r, w.at, w.len, &e), 0);
	assert_true(r.hold && r.parse_tried && r.execute_holds && r.discards);
	assert_string_equal(r.dealloc.name, "s1");
	assert_string_equal(r.dealloc.portal, "");
	relay_state_fini(&r);
	writer_fini(&w);
}

static void test_nothing_stays_nothing(void **state)
{
	struct relay_state r = { 0 };
	struct writer w;
	struct err e;

	(void)state;
	save(&(struct relay_state){ 0 }, &w);
	assert_int_equal(relay_state_load(&r, w.at, w.len, &e), 0);
	assert_false(r.hold || r.parse_tried || r.execute_holds || r.discards);
	assert_null(r.dealloc.name);
	assert_null(r.dealloc.portal);
	writer_fini(&w);
}

static void test_bytes_that_are_cut_or_too_many_are_refused(void **state)
{
	struct writer w;
	struct err e;

	(void)state;
	save(&full, &w);
	writer_u8(&w, 0);
	for (size_t n = 0; n <= w.len; n++) {
		struct relay_state r = { 0 };
		const int rc = relay_state_load(&r, w.at, n, &e);

		assert_int_equal(rc, n == w.len - 1 ? 0 : -1);
		relay_state_fini(&r);
	}
	writer_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_known_is_known_again),
		cmocka_unit_test(test_nothing_stays_nothing),
		cmocka_unit_test(test_bytes_that_are_cut_or_too_many_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
