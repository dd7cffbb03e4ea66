/* test_relay_state.c - what the relay knows of a client, in another process.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "session/relay_state.h"

static char name[] = "s1", portal[] = "";
static uint8_t parse[] = "P";

static struct {
	struct params_table *table;
	struct params *start;
	struct writer saved;
	struct relay_reset_text *texts;
} st;

static void add_texts(void)
{
	struct relay_state r = { .texts = NULL };

	assert_int_equal(relay_state_add_text(&r, "", "reset a", 7), 0);
	assert_int_equal(relay_state_add_text(&r, "s", "reset b", 7), 0);
	st.texts = r.texts;
}

static int set_up(void **state)
{
	(void)state;
	st.table = params_table_new(NULL);
	assert_non_null(st.table);
	st.start = params_empty(st.table);
	assert_int_equal(params_set(&st.start, PARAMS_DATESTYLE, "ISO"), 0);
	add_texts();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	writer_fini(&st.saved);
	relay_state_fini(&(struct relay_state){ .texts = st.texts });
	params_unref(&st.start);
	params_table_free(&st.table);
	return 0;
}

static void save(const struct relay_state *r)
{
	writer_init(&st.saved, 1 << 16);
	relay_state_save(r, st.table, &st.saved);
	assert_false(st.saved.failed);
}

static void save_full(void)
{
	save(&(struct relay_state){
	    .hold = true, .execute_holds = true,
	    .discards = true, .resetting = RESET_DONE,
	    .own = { .serial = 3, .text = { parse, sizeof parse, 64,
		    { 7, 8, 0 } },
		.state = OWN_OPEN, .doubt = true, .since = 1,
		.old_serial = 1, .old_server = 2 },
	    .dealloc = { name, portal }, .start = st.start,
	    .resets = (uint64_t)1 << PARAMS_DATESTYLE, .texts = st.texts,
	});
}

static int load(struct relay_state *r, struct params_table *t, size_t n)
{
	struct err e;

	*r = (struct relay_state){ 0 };
	return relay_state_load(r, t,
	    (struct relay_bytes){ st.saved.at, n }, &e);
}

static void test_all_that_is_known_is_known_again(void **state)
{
	struct relay_state r;

	(void)state;
	save_full();
	assert_int_equal(load(&r, st.table, st.saved.len), 0);
	assert_true(r.hold && r.execute_holds && r.discards);
	assert_string_equal(r.dealloc.name, "s1");
	assert_string_equal(r.dealloc.portal, "");
	assert_int_equal(r.own.serial, 3);
	assert_int_equal(r.own.text.len, sizeof parse);
	assert_memory_equal(r.own.text.at, parse, sizeof parse);
	assert_int_equal(r.own.text.told.params, 7);
	assert_int_equal(r.own.text.told.columns, 8);
	assert_int_equal(r.own.state, OWN_OPEN);
	assert_true(r.own.doubt && r.own.since == 1);
	assert_int_equal(r.own.old_serial, 1);
	assert_int_equal(r.own.old_server, 2);
	assert_int_equal(r.own.old.len, 0);
	assert_int_equal(r.resetting, RESET_DONE);
	assert_int_equal(r.resets, (uint64_t)1 << PARAMS_DATESTYLE);
	assert_string_equal(params_get(r.start, PARAMS_DATESTYLE), "ISO");
	assert_string_equal(r.texts->text, "s");
	assert_string_equal(r.texts->text + r.texts->name, "reset b");
	assert_string_equal(r.texts->next->text, "");
	assert_null(r.texts->next->next);
	relay_state_fini(&r);
}

static void test_too_many_texts_leave_the_newest(void **state)
{
	char other[8] = "s0";
	struct relay_state r = { .texts = NULL };
	unsigned n = 0;

	(void)state;
	for (; n < 100; n++) {
		other[1] = (char)('0' + n % 10);
		other[2] = (char)('0' + n / 10);
		assert_int_equal(relay_state_add_text(&r, other, "x", 1), 0);
		assert_int_equal(relay_state_add_text(&r, other, "y", 1), 0);
	}
	assert_string_equal(r.texts->text, "s99");
	n = 0;
	for (const struct relay_reset_text *t = r.texts; t != NULL; t = t->next)
		n++;
	assert_int_equal(n, 64);
	relay_state_drop_text(&r, "s99");
	relay_state_drop_text(&r, "nobody");
	assert_string_equal(r.texts->text, "s89");
	relay_state_fini(&r);
}

static void test_nothing_stays_nothing(void **state)
{
	struct relay_state r;

	(void)state;
	save(&(struct relay_state){ 0 });
	assert_int_equal(load(&r, st.table, st.saved.len), 0);
	assert_false(r.hold || r.execute_holds || r.discards);
	assert_null(r.dealloc.name);
	assert_null(r.dealloc.portal);
	assert_null(r.start);
}

static void test_bytes_that_are_cut_or_too_many_are_refused(void **state)
{
	(void)state;
	save_full();
	writer_u8(&st.saved, 0);
	for (size_t n = 0; n <= st.saved.len; n++) {
		struct relay_state r;

		assert_int_equal(load(&r, st.table, n),
		    n == st.saved.len - 1 ? 0 : -1);
		relay_state_fini(&r);
	}
}

static void test_want_of_memory_is_an_error(void **state)
{
	unsigned long n = 0;
	struct relay_state r;
	int rc;

	(void)state;
	save_full();
	do {
		mem_fail_at(++n);
		rc = load(&r, st.table, st.saved.len);
		mem_fail_at(0);
		relay_state_fini(&r);
	} while (rc < 0);
	assert_true(n > 2);
}

#define STAGED(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_all_that_is_known_is_known_again),
		STAGED(test_nothing_stays_nothing),
		STAGED(test_bytes_that_are_cut_or_too_many_are_refused),
		STAGED(test_too_many_texts_leave_the_newest),
		STAGED(test_want_of_memory_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
