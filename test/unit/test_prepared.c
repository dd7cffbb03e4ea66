/* test_prepared.c - statements, names, recent use and how changes are undone.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "proto/prepared.h"
#include "proto/prepared_op.h"

struct fixture {
	struct prepared_table *t;
	struct slots *map;
	struct prepared_uses uses;
	struct prepared *a, *b, *c;
};

static int setup(void **state)
{
	static struct fixture f;

	f = (struct fixture){ .t = prepared_table_new() };
	f.a = prepared_get(f.t, prepared_plain("a\0\0", 4));
	f.b = prepared_get(f.t, prepared_plain("b\0\0", 4));
	f.c = prepared_get(f.t, prepared_plain("c\0\0", 4));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	prepared_unref(f->a);
	prepared_unref(f->b);
	prepared_unref(f->c);
	prepared_name_clear(&f->map);
	prepared_uses_clear(&f->uses);
	assert_null(f->map);
	assert_int_equal(f->uses.count, 0);
	assert_int_equal(prepared_table_count(f->t), 0);
	assert_int_equal(prepared_table_bytes(f->t), 0);
	assert_int_equal(mem_stat(MEM_STATEMENT)->used, 0);
	assert_int_equal(mem_stat(MEM_STATEMENT_USE)->used, 0);
	assert_int_equal(mem_stat(MEM_STATEMENT_USE)->bytes, 0);
	prepared_table_free(&f->t);
	return 0;
}

static void test_same_body_is_one_statement(void **state)
{
	struct fixture *f = *state;
	struct prepared *again = prepared_get(f->t, prepared_plain("a\0\0", 4));
	struct prepared *types = prepared_get(f->t, prepared_plain("a\0\1", 4));

	assert_ptr_equal(again, f->a);
	assert_ptr_not_equal(types, f->a);
	assert_string_equal(f->a->name, "PGBOUNCER_1");
	assert_int_equal(f->a->name_len, sizeof "PGBOUNCER_1");
	assert_string_equal(types->name, "PGBOUNCER_4");
	assert_int_equal(prepared_table_count(f->t), 4);
	prepared_unref(again);
	prepared_unref(types);
	assert_int_equal(prepared_table_count(f->t), 3);
	/* numbers are not used again */
	types = prepared_get(f->t, prepared_plain("a\0\1", 4));
	assert_string_equal(types->name, "PGBOUNCER_5");
	prepared_unref(types);
	prepared_unref(NULL);
}

static void test_names_hold_statements(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(prepared_name_add(&f->map, "x", f->a), 0);
	assert_int_equal(prepared_name_add(&f->map, "y", f->a), 0);
	assert_int_equal(f->a->refs, 3);
	assert_ptr_equal(prepared_name_find(f->map, "y")->stmt, f->a);
	assert_null(prepared_name_find(f->map, "X"));
	prepared_name_remove(&f->map, "x");
	prepared_name_remove(&f->map, "x");
	assert_int_equal(f->a->refs, 2);
	assert_null(prepared_name_find(f->map, "x"));
}

static void test_names_are_cut_and_counted(void **state)
{
	struct fixture *f = *state;
	const size_t bytes = prepared_table_bytes(f->t);
	char name[200];

	memset(name, 'x', sizeof name);
	name[sizeof name - 1] = '\0';
	prepared_name_add(&f->map, name, f->a);
	assert_int_equal(prepared_table_bytes(f->t),
	    bytes + prepared_name_bytes(name));
	name[63] = 'y';
	assert_non_null(prepared_name_find(f->map, name));
	name[62] = 'y';
	assert_null(prepared_name_find(f->map, name));
	name[62] = 'x';
	assert_int_equal(strlen(prepared_name_find(f->map, name)->name), 63);
	struct prepared_op *op = prepared_op_new(0, NULL, name);
	/* or a compiler that sees all warns of what want of memory would do */
	const char *volatile kept = op == NULL ? "" : op->name;

	assert_int_equal(strlen(kept), 63);
	prepared_op_free(op);
	assert_false(prepared_table_make_room(f->t, 0, bytes));
	prepared_name_remove(&f->map, name);
	assert_int_equal(prepared_table_bytes(f->t), bytes);
}

static void test_room_is_made_of_what_no_client_has(void **state)
{
	struct fixture *f = *state;
	struct prepared_uses other = { .lru = NULL };
	const size_t bytes = prepared_table_bytes(f->t);

	prepared_name_add(&f->map, "a", f->a);
	prepared_name_add(&f->map, "b", f->b);
	prepared_uses_add(&f->uses, f->a);
	prepared_uses_add(&f->uses, f->b);
	prepared_uses_add(&other, f->b);
	/* there is room, or no limit */
	assert_true(prepared_table_make_room(f->t, 0, bytes + 1000));
	assert_true(prepared_table_make_room(f->t, 9, 0));
	/* all that could go is held */
	assert_false(prepared_table_make_room(f->t, 0, bytes));
	prepared_name_remove(&f->map, "b");
	assert_false(prepared_table_make_room(f->t, 0, bytes));
	prepared_unref(f->b);	/* that was a request in flight */
	assert_true(prepared_table_make_room(f->t, 0, bytes));
	f->b = NULL;
	assert_int_equal(prepared_table_count(f->t), 2);
	assert_int_equal(f->uses.count, 1);
	assert_int_equal(f->uses.forgotten, 1);
	assert_int_equal(other.count, 0);
	assert_int_equal(other.forgotten, 1);
	/* who gets a name again is not spare any more */
	prepared_name_remove(&f->map, "a");
	prepared_name_add(&f->map, "a", f->a);
	prepared_unref(f->a);
	assert_false(prepared_table_make_room(f->t, 0, 1));
	assert_ptr_equal(prepared_name_find(f->map, "a")->stmt, f->a);
	prepared_name_remove(&f->map, "a");
	assert_false(prepared_table_make_room(f->t, 0, 1));
	f->a = NULL;
	assert_int_equal(prepared_table_count(f->t), 1);
	prepared_uses_clear(&f->uses);
	assert_int_equal(f->uses.forgotten, 0);
}

static void test_least_recently_used_is_first(void **state)
{
	struct fixture *f = *state;

	assert_null(prepared_uses_touch(&f->uses, f->a));
	prepared_uses_add(&f->uses, f->a);
	prepared_uses_add(&f->uses, f->b);
	prepared_uses_add(&f->uses, f->c);
	assert_ptr_equal(f->uses.lru->stmt, f->a);
	assert_ptr_equal(prepared_uses_touch(&f->uses, f->a)->stmt, f->a);
	assert_ptr_equal(f->uses.lru->stmt, f->b);
	prepared_uses_touch(&f->uses, f->c);
	prepared_uses_touch(&f->uses, f->c);
	assert_ptr_equal(f->uses.lru->next->stmt, f->a);
	assert_ptr_equal(f->uses.lru->prev->stmt, f->c);
	prepared_uses_remove(&f->uses, f->b);
	prepared_uses_remove(&f->uses, f->b);
	assert_int_equal(f->uses.count, 2);
	assert_ptr_equal(f->uses.lru->stmt, f->a);
}

static void undo(struct fixture *f, unsigned changes, const char *name)
{
	struct prepared_op *op = prepared_op_new(changes, f->a, name);

	prepared_op_undo(op, &f->map, &f->uses);
	prepared_op_free(op);
}

static void test_undo_reverses_each_change(void **state)
{
	struct fixture *f = *state;

	prepared_name_add(&f->map, "x", f->a);
	prepared_uses_add(&f->uses, f->a);
	undo(f, PREPARED_NAMED | PREPARED_USED, "x");
	assert_null(f->map);
	assert_int_equal(f->uses.count, 0);
	undo(f, PREPARED_UNNAMED | PREPARED_UNUSED, "x");
	assert_ptr_equal(prepared_name_find(f->map, "x")->stmt, f->a);
	assert_int_equal(f->uses.count, 1);
	/* once more changes nothing */
	undo(f, PREPARED_UNNAMED | PREPARED_UNUSED, "x");
	assert_int_equal(slots_count(f->map), 1);
	assert_int_equal(f->uses.count, 1);
	assert_int_equal(f->a->refs, 3);
}

static void test_undo_without_client_or_statement(void **state)
{
	struct fixture *f = *state;
	struct prepared_op *op = prepared_op_new(PREPARED_UNNAMED |
	    PREPARED_UNUSED, f->b, "x");
	struct prepared_op *none = prepared_op_new(PREPARED_NAMED, NULL, "x");

	prepared_op_undo(op, NULL, &f->uses);
	assert_int_equal(f->uses.count, 1);
	prepared_name_add(&f->map, "x", f->a);
	prepared_op_undo(none, &f->map, &f->uses);
	assert_non_null(prepared_name_find(f->map, "x"));
	prepared_op_free(op);
	prepared_op_free(none);
	prepared_op_free(NULL);
}

static bool whole_life(void)
{
	struct prepared_table *t = prepared_table_new();
	struct slots *map = NULL;
	struct prepared_uses uses = { .count = 0 };
	struct prepared_op *op = NULL;
	char body[] = "A";
	bool ok = t != NULL;

	for (; ok && body[0] < 'A' + 40; body[0]++) {
		struct prepared *p = prepared_get(t, prepared_plain(body, sizeof body));

		ok = p != NULL && prepared_name_add(&map, body, p) == 0 &&
		    prepared_uses_add(&uses, p) == 0;
		if (ok && op == NULL)
			ok = (op = prepared_op_new(1, p, body)) != NULL;
		prepared_unref(p);
	}
	prepared_op_free(op);
	prepared_name_clear(&map);
	prepared_uses_clear(&uses);
	if (t != NULL)
		assert_int_equal(prepared_table_count(t), 0);
	prepared_table_free(&t);
	assert_int_equal(mem_stat(MEM_STATEMENT)->bytes, 0);
	assert_int_equal(mem_stat(MEM_STATEMENT_USE)->bytes, 0);
	return ok;
}

static void test_each_allocation_may_fail(void **state)
{
	unsigned long n = 1;

	(void)state;
	for (;; n++) {
		mem_fail_at(n);
		const bool ok = whole_life();

		if (mem_fail_at(0) < n) {
			assert_true(ok);
			break;
		}
		assert_false(ok);
	}
	assert_true(n > 120);
}

static uint32_t effects_of(const char *first, size_t size, const char *last)
{
	char *const body = mem_alloc(size);

	assert_non_null(body);
	memset(body, 'x', size);
	memcpy(body, first, strlen(first));
	memcpy(body + size - strlen(last) - 3, last, strlen(last));
	memset(body + size - 3, 0, 3);
	const struct prepared_text text = prepared_plain(body, size);
	const uint32_t effects = prepared_text_effects(&text);

	mem_free(body);
	return effects;
}

static void test_long_text_changes_a_schema_by_a_word_in_its_end(void **state)
{
	(void)state;
	assert_int_equal(effects_of("select '", 70000, "' as t") &
	    EFFECT_SCHEMA, 0);
	assert_int_not_equal(effects_of("select '", 70000, "' into t") &
	    EFFECT_SCHEMA, 0);
	/* it is not looked at that far */
	assert_int_not_equal(effects_of("select '", 300000, "' as t") &
	    EFFECT_SCHEMA, 0);
}

static void test_names_are_found_by_the_servers_name(void **state)
{
	struct fixture *f = *state;
	const size_t len = f->a->name_len - 1u;

	assert_null(prepared_name_of(f->map, f->a->name, len));
	assert_int_equal(prepared_name_add(&f->map, "x", f->b), 0);
	assert_int_equal(prepared_name_add(&f->map, "y", f->a), 0);
	assert_string_equal(prepared_name_of(f->map, f->a->name, len), "y");
	assert_null(prepared_name_of(f->map, f->a->name, len - 1));
	assert_null(prepared_name_of(f->map, f->c->name, len));
}

static void test_what_was_retired_elsewhere_is_so_here(void **state)
{
	struct fixture *f = *state;
	struct prepared *old = prepared_adopt_retired(f->t, "PGBOUNCER_9",
	    prepared_plain("a\0\0", 4));
	struct prepared *same = prepared_adopt_retired(f->t, "PGBOUNCER_9",
	    prepared_plain("a\0\0", 4));

	assert_non_null(old);
	assert_true(old->retired);
	assert_ptr_equal(old, same);
	assert_ptr_not_equal(old, f->a);
	assert_int_equal(prepared_last(f->t), 9);
	/* the text finds the one that is not */
	prepared_unref(same);
	same = prepared_get(f->t, prepared_plain("a\0\0", 4));
	assert_ptr_equal(same, f->a);
	prepared_unref(same);
	assert_null(prepared_adopt_retired(f->t, "PGBOUNCER_9",
	    prepared_plain("b\0\0", 4)));
	assert_null(prepared_adopt_retired(f->t, "other",
	    prepared_plain("b\0\0", 4)));
	/* one that is retired here is found, too */
	prepared_retire(f->a);
	same = prepared_adopt_retired(f->t, "PGBOUNCER_1",
	    prepared_plain("a\0\0", 4));
	assert_ptr_equal(same, f->a);
	prepared_unref(same);
	assert_int_equal(prepared_name_add(&f->map, "x", old), 0);
	prepared_unref(old);
}

/* One worker may keep apart, as if it were retired, what another has by that name. */
static void test_one_name_of_a_text_is_one_statement(void **state)
{
	struct fixture *f = *state;
	struct prepared *same = prepared_adopt_retired(f->t, f->a->name,
	    prepared_plain("a\0\0", 4));

	assert_ptr_equal(same, f->a);
	assert_false(same->retired);
	prepared_unref(same);
}

/* Of two workers of another process each has given the text a name. */
static void test_text_has_a_name_from_each_worker(void **state)
{
	struct fixture *f = *state;
	struct prepared *first = prepared_adopt(f->t, "PGBOUNCER_8",
	    prepared_plain("x\0\0", 4));
	struct prepared *other = prepared_adopt(f->t, "PGBOUNCER_9",
	    prepared_plain("x\0\0", 4));
	struct prepared *same = prepared_adopt(f->t, "PGBOUNCER_9",
	    prepared_plain("x\0\0", 4));

	assert_false(first->retired);
	assert_string_equal(other->name, "PGBOUNCER_9");
	assert_ptr_equal(other, same);
	prepared_unref(same);
	same = prepared_get(f->t, prepared_plain("x\0\0", 4));
	assert_ptr_equal(first, same);
	prepared_unref(same);
	/* the name goes on to be one statement, when the other text is gone */
	prepared_unref(first);
	same = prepared_adopt(f->t, "PGBOUNCER_9",
	    prepared_plain("x\0\0", 4));
	assert_ptr_equal(other, same);
	prepared_unref(same);
	assert_null(prepared_adopt(f->t, "PGBOUNCER_9",
	    prepared_plain("y\0\0", 4)));
	prepared_unref(other);
}

static void assert_next_name(struct prepared_table *t, const char *body,
    const char *name)
{
	struct prepared *p = prepared_get(t, prepared_plain(body, 2));

	assert_string_equal(p->name, name);
	prepared_unref(p);
}

static void test_tables_of_workers_give_names_of_their_own(void **state)
{
	struct prepared_table *t = prepared_table_new();

	(void)state;
	prepared_table_divide(t, 2, 3);
	assert_next_name(t, "a", "PGBOUNCER_5");
	assert_next_name(t, "b", "PGBOUNCER_8");
	prepared_skip(t, 8);
	assert_next_name(t, "c", "PGBOUNCER_11");
	prepared_skip(t, 12);
	assert_next_name(t, "d", "PGBOUNCER_17");
	prepared_table_free(&t);
	t = prepared_table_new();
	prepared_table_divide(t, 0, 3);
	assert_next_name(t, "a", "PGBOUNCER_3");
	prepared_table_free(&t);
}

static void test_apart_is_found_by_no_look_up(void **state)
{
	struct fixture *f = *state;
	struct prepared *const p = prepared_get_apart(f->t,
	    prepared_plain("a\0\0", 4));
	struct prepared *const q = prepared_get_apart(f->t,
	    prepared_plain("z\0\0", 4));

	assert_ptr_not_equal(p, f->a);
	assert_string_not_equal(p->name, f->a->name);
	assert_true(p->retired);
	assert_false(f->a->retired);
	struct prepared *const found = prepared_lookup(f->t, prepared_plain("a\0\0", 4));

	assert_ptr_equal(found, f->a);
	prepared_unref(found);
	assert_null(prepared_lookup(f->t, prepared_plain("z\0\0", 4)));
	prepared_unref(q);
	prepared_unref(p);
}

static void test_retired_without_names_is_the_first_to_go(void **state)
{
	struct fixture *f = *state;
	struct prepared *const p = prepared_get_apart(f->t,
	    prepared_plain("a\0\0", 4));

	assert_int_equal(prepared_uses_add(&f->uses, f->a), 0);
	assert_int_equal(prepared_name_add(&f->map, "st", p), 0);
	assert_int_equal(prepared_uses_add(&f->uses, p), 0);
	assert_int_equal(prepared_name_add(&f->map, "b", f->b), 0);
	assert_int_equal(prepared_uses_add(&f->uses, f->b), 0);
	prepared_name_remove(&f->map, "b");
	assert_ptr_equal(f->uses.lru->stmt, f->a);
	prepared_name_remove(&f->map, "st");
	assert_ptr_equal(f->uses.lru->stmt, p);
	assert_ptr_equal(f->uses.lru->prev->stmt, f->b);
	prepared_unref(p);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* What a Describe tells, from here on. */
#define COLUMN(name, table, type, mod, format) name "\0" \
	"\0\0\0" table "\0" table "\0\0\0" type "\0\4" \
	"\0\0\0" mod "\0" format
#define SHAPE(text) prepared_shape_columns((const uint8_t *)(text), \
	sizeof(text) - 1)

static void test_shape_is_names_and_types_of_columns(void **state)
{
	const uint32_t h = SHAPE("\0\2" COLUMN("a", "\1", "\27", "\4", "\0")
	    COLUMN("b", "\1", "\27", "\4", "\0"));

	(void)state;
	assert_true(h > PREPARED_SHAPE_NONE);
	/* of another table, of another length, in binary: as before */
	assert_int_equal(h, SHAPE("\0\2" COLUMN("a", "\2", "\27", "\5", "\1")
	    COLUMN("b", "\2", "\27", "\5", "\1")));
	assert_int_not_equal(h, SHAPE("\0\2" COLUMN("b", "\1", "\27", "\4",
	    "\0") COLUMN("a", "\1", "\27", "\4", "\0")));
	assert_int_not_equal(h, SHAPE("\0\2" COLUMN("a", "\1", "\31", "\4",
	    "\0") COLUMN("b", "\1", "\27", "\4", "\0")));
	assert_int_not_equal(h, SHAPE("\0\1" COLUMN("a", "\1", "\27", "\4",
	    "\0")));
	/* broken ones */
	for (size_t n = 0; n < 20; n++)
		assert_true(prepared_shape_columns((const uint8_t *)"\377\377"
		    "a\0\0\0\0\1\0\1\0\0\0\27\0\4\0\0\0\0", n) >
		    PREPARED_SHAPE_NONE);
	assert_int_not_equal(prepared_shape_params((const uint8_t *)"\0\0", 2),
	    prepared_shape_params((const uint8_t *)"\0\1\0\0\0\27", 6));
}

static void test_shapes_fit_where_nothing_known_differs(void **state)
{
	const struct prepared_shape none = { 0 }, a = { 5, 6, 1 },
		b = { 5, 7, 2 }, half = { 0, 6, 1 };
	struct prepared_shape to = a;

	(void)state;
	assert_true(prepared_shape_fits(&none, &a));
	assert_true(prepared_shape_fits(&half, &a));
	assert_false(prepared_shape_fits(&half, &b));
	assert_false(prepared_shape_fits(&a, &none));
	assert_true(prepared_shape_lacks(&half, &a));
	assert_false(prepared_shape_lacks(&a, &half));
	prepared_shape_take(&to, &(struct prepared_shape){ 0, 7, 3 });
	assert_int_equal(to.params, 5);
	assert_int_equal(to.columns, 7);
	assert_int_equal(to.at, 3);
}

static void test_bind_relies_on_its_formats(void **state)
{
	static const char bind[] = "p\0st\0\0\1\0\1\0\2\377\377\377\377"
		"\0\0\0\1x\0\2\0\0\0\1";
	struct prepared_bind b = prepared_bind_read((const uint8_t *)bind,
	    sizeof bind - 1);

	(void)state;
	assert_true(b.whole);
	assert_true(b.binary);
	assert_int_equal(b.formats, 2);
	for (size_t n = 0; n < sizeof bind - 6; n++)
		assert_false(prepared_bind_read((const uint8_t *)bind,
		    n).whole);
	b = prepared_bind_read((const uint8_t *)"\0\0\0\0\0\0\0\0", 8);
	assert_true(b.whole);
	assert_false(b.binary);
	assert_int_equal(b.formats, 0);
}

/* A name that comes back is told what it was told before. */
static void test_undo_keeps_what_the_client_was_told(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(prepared_name_add(&f->map, "x", f->a), 0);
	struct prepared_name *n = prepared_name_find(f->map, "x");

	n->told = (struct prepared_shape){ 5, 6, 7 };
	struct prepared_op *op = prepared_op_of(PREPARED_UNNAMED, n);

	prepared_name_remove(&f->map, "x");
	prepared_op_undo(op, &f->map, &f->uses);
	prepared_op_free(op);
	n = prepared_name_find(f->map, "x");
	assert_int_equal(n->told.params, 5);
	assert_int_equal(n->told.columns, 6);
	assert_int_equal(n->told.at, 7);
}

static void test_description_is_not_that_of_a_later_parse(void **state)
{
	struct fixture *f = *state;
	struct prepared_op *op = prepared_op_new(PREPARED_TOLD, f->a, "x");

	assert_int_equal(prepared_name_add(&f->map, "x", f->a), 0);
	assert_int_equal(prepared_uses_add(&f->uses, f->a), 0);
	struct prepared_use *const use = prepared_uses_touch(&f->uses, f->a);

	use->shape.at = 2;
	op->shape = (struct prepared_shape){ 5, 6, 1 };
	prepared_op_tell(op, f->map, &f->uses);
	assert_int_equal(use->shape.columns, 0);
	assert_int_equal(prepared_name_find(f->map, "x")->told.columns, 6);
	op->shape.at = 2;
	prepared_op_tell(op, f->map, &f->uses);
	assert_int_equal(use->shape.columns, 6);
	prepared_op_free(op);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_same_body_is_one_statement),
		CASE(test_names_hold_statements),
		CASE(test_names_are_cut_and_counted),
		CASE(test_room_is_made_of_what_no_client_has),
		CASE(test_names_are_found_by_the_servers_name),
		CASE(test_what_was_retired_elsewhere_is_so_here),
		CASE(test_one_name_of_a_text_is_one_statement),
		CASE(test_text_has_a_name_from_each_worker),
		CASE(test_apart_is_found_by_no_look_up),
		CASE(test_retired_without_names_is_the_first_to_go),
		cmocka_unit_test(
		    test_tables_of_workers_give_names_of_their_own),
		CASE(test_least_recently_used_is_first),
		CASE(test_undo_reverses_each_change),
		CASE(test_undo_without_client_or_statement),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(
		    test_long_text_changes_a_schema_by_a_word_in_its_end),
		cmocka_unit_test(test_shape_is_names_and_types_of_columns),
		cmocka_unit_test(test_shapes_fit_where_nothing_known_differs),
		cmocka_unit_test(test_bind_relies_on_its_formats),
		CASE(test_undo_keeps_what_the_client_was_told),
		CASE(test_description_is_not_that_of_a_later_parse),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
