/* test_relay_repeat.c - what a server did not get to run is asked once more.
 * SPDX-License-Identifier: ISC */
#include "relay_test.h"

#include "relay/relay_repeat.h"

#define STALE "E[SERROR|C0A000|Mcached plan must not change result type|" \
	"RRevalidateCachedQuery||]"
#define GONE "E[SERROR|C26000|Mprepared statement \"PGBOUNCER_1\" does not " \
	"exist|RFetchPreparedStatement||]"
#define UNTYPED "E[SERROR|CXX000|Mcache lookup failed for type 16475|" \
	"RgetTypeInputInfo||]"
#define BIND(name) "B[|" name "|||||||]"
#define REST "D[P|]E[||||||]S[]"
#define RUN(name) BIND(name) REST

/* The statement s1, "select 1", which the server has; nothing is owed. */
static struct client *prepared_pair(void)
{
	house.config.set.max_prepared_statements = 100;
	struct client *c = pair();

	client_sends("P[s1|select 1|||]S[]");
	server_sends("1[]Z[I]");
	session_link(c, &house.s[0]);
	(void)script_heard(house.c_end[0]);
	(void)script_heard(house.s_end[0]);
	seen.released = 0;
	return c;
}

static void asks(const char *batch)
{
	client_sends(batch);
	(void)script_heard(house.s_end[0]);
}

static void test_changed_columns_are_described_anew(void **state)
{
	struct client *c = prepared_pair();

	(void)state;
	asks(RUN("s1"));
	server_sends(STALE);
	SERVER_GETS("P[PGBOUNCER_2|select 1|||]" RUN("PGBOUNCER_2"));
	server_sends("Z[I]1[]2[]T[||]C[SELECT 0|]Z[I]");
	CLIENT_GETS("2[]T[||]C[SELECT 0|]Z[I]");
	assert_int_equal(seen.released, 1);
	assert_string_equal(prepared_name_find(c->statements, "s1")->stmt->name,
	    "PGBOUNCER_2");
}

static void test_error_with_its_ready_is_the_same(void **state)
{
	(void)state;
	prepared_pair();
	asks(RUN("s1"));
	server_sends(STALE "Z[I]");
	SERVER_GETS("P[PGBOUNCER_2|select 1|||]" RUN("PGBOUNCER_2"));
	CLIENT_GETS("");
	assert_int_equal(seen.released, 0);
	server_sends("1[]2[]T[||]C[SELECT 0|]Z[I]");
	CLIENT_GETS("2[]T[||]C[SELECT 0|]Z[I]");
	assert_int_equal(house.pool.counted.now.query_count, 2);
}

static void test_statement_that_vanished_comes_back(void **state)
{
	(void)state;
	prepared_pair();
	asks(BIND("s1") "E[||||||]S[]");
	server_sends(GONE "Z[I]");
	SERVER_GETS("P[PGBOUNCER_1|select 1|||]" BIND("PGBOUNCER_1")
	    "E[||||||]S[]");
	assert_true(house.s[0].ps.close_needed);
	server_sends("1[]2[]C[SELECT 0|]Z[I]");
	CLIENT_GETS("2[]C[SELECT 0|]Z[I]");
}

static void test_description_alone_is_asked_again(void **state)
{
	(void)state;
	prepared_pair();
	asks("D[Ss1|]S[]");
	server_sends("t[||]");
	CLIENT_GETS("");
	server_sends(STALE "Z[I]");
	SERVER_GETS("P[PGBOUNCER_2|select 1|||]D[SPGBOUNCER_2|]S[]");
	server_sends("1[]t[||]n[]Z[I]");
	CLIENT_GETS("t[||]n[]Z[I]");
}

static void test_dropped_type_is_looked_up_anew(void **state)
{
	(void)state;
	prepared_pair();
	asks("D[Ss1|]S[]");
	server_sends("t[||]" UNTYPED "Z[I]");
	CLIENT_GETS("");
	SERVER_GETS("P[PGBOUNCER_2|select 1|||]D[SPGBOUNCER_2|]S[]");
	server_sends("1[]t[||]n[]Z[I]");
	CLIENT_GETS("t[||]n[]Z[I]");
}

/* It waits for the description before it sends its Sync. */
static void test_flushed_description_is_asked_again(void **state)
{
	(void)state;
	prepared_pair();
	asks("P[s2|select 1|||]D[Ss2|]H[]");
	CLIENT_GETS("1[]");
	server_sends("t[||]" UNTYPED);
	CLIENT_GETS("");
	SERVER_GETS("S[]P[PGBOUNCER_2|select 1|||]D[SPGBOUNCER_2|]H[]");
	server_sends("Z[I]1[]t[||]n[]");
	CLIENT_GETS("t[||]n[]");
	assert_int_equal(seen.released, 0);
	client_sends(BIND("s2") "E[||||||]S[]");
	SERVER_GETS(BIND("PGBOUNCER_2") "E[||||||]S[]");
	server_sends("2[]C[SELECT 0|]Z[I]");
	CLIENT_GETS("2[]C[SELECT 0|]Z[I]");
	assert_int_equal(seen.released, 1);
}

/* Its Sync is on its way to the server, and will be answered. */
static void test_flushed_description_with_more_behind_fails(void **state)
{
	(void)state;
	prepared_pair();
	asks("D[Ss1|]H[]");
	asks("S[]");
	server_sends("t[||]" UNTYPED "Z[I]");
	CLIENT_GETS("t[||]" UNTYPED "Z[I]");
	SERVER_GETS("");
	assert_int_equal(seen.released, 1);
}

static void test_second_failure_behind_a_flush_is_told(void **state)
{
	(void)state;
	prepared_pair();
	asks("D[Ss1|]H[]");
	server_sends("t[||]" UNTYPED);
	(void)script_heard(house.s_end[0]);
	server_sends("Z[I]1[]t[||]" UNTYPED);
	CLIENT_GETS("t[||]" UNTYPED);
	client_sends("S[]");
	SERVER_GETS("S[]");
	server_sends("Z[I]");
	CLIENT_GETS("Z[I]");
	assert_int_equal(seen.released, 1);
}

static void test_description_that_fails_otherwise_is_told(void **state)
{
	(void)state;
	prepared_pair();
	asks("D[Ss1|]S[]");
	server_sends("t[||]E[SERROR|CXX000|M||]Z[I]");
	CLIENT_GETS("t[||]E[SERROR|CXX000|M||]Z[I]");
}

static void test_second_failure_is_the_client_s(void **state)
{
	(void)state;
	prepared_pair();
	asks(RUN("s1"));
	server_sends(STALE "Z[I]");
	(void)script_heard(house.s_end[0]);
	server_sends("1[]" STALE "Z[I]");
	CLIENT_GETS(STALE "Z[I]");
	SERVER_GETS("");
}

/* Each is as a client and a server speak, and what the client hears. */
static void test_what_is_not_cured_passes(void **state)
{
	static const char *const cases[][2] = {
		/* it would take the columns for those it knows */
		{ BIND("s1") "E[||||||]S[]", STALE },
		/* its parameters may be meant for the type that is gone */
		{ RUN("s1"), UNTYPED },
		/* a function did it, and something ran */
		{ RUN("s1"), "E[SERROR|C0A000|Mcached|Wf()|"
		    "RRevalidateCachedQuery||]" },
		{ RUN("s1"), "E[SERROR|C0A000|Mmine|Rexec_stmt_raise||]" },
		{ RUN("s1"), "E[SERROR|C26000|Mmine|RRevalidateCachedQuery||]" },
		{ RUN("s1"), "E[SERROR|C57014|Mcanceled|"
		    "RProcessInterrupts||]" },
		{ RUN("s1"), "2[]" STALE },
		/* not one batch, or not whole */
		{ BIND("s1") REST "Q[select 2|]", STALE },
		{ RUN("s1") RUN("s1"), STALE },
		{ "P[|begin|||]" RUN("s1"), "1[]" STALE },
		{ BIND("s1") "D[P|]E[||||||]H[]S[]", STALE },
		{ BIND("s1") "D[P|]E[||||||]", STALE },
		{ BIND("s1") "D[P|]E[||||||]", "E[SFATAL|C0A000|M||]" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		prepared_pair();
		asks(cases[i][0]);
		server_sends(cases[i][1]);
		CLIENT_GETS(cases[i][1]);
		SERVER_GETS("");
		assert_int_equal(relay_teardown(state), 0);
		assert_int_equal(relay_setup(state), 0);
	}
}

static void test_in_a_transaction_the_error_passes(void **state)
{
	(void)state;
	prepared_pair();
	asks("Q[begin|]");
	server_sends("C[BEGIN|]Z[T]");
	(void)script_heard(house.c_end[0]);
	asks(RUN("s1"));
	server_sends(STALE "Z[E]");
	CLIENT_GETS(STALE "Z[E]");
}

/* Else its text would fail for whoever prepares it, as long as s[0] lives. */
static void test_dropped_type_is_told_once(void **state)
{
	(void)state;
	prepared_pair();
	asks("Q[begin|]");
	server_sends("C[BEGIN|]Z[T]");
	(void)script_heard(house.c_end[0]);
	asks("D[Ss1|]S[]");
	server_sends("t[||]" UNTYPED "Z[E]");
	CLIENT_GETS("t[||]" UNTYPED "Z[E]");
	asks("Q[rollback|]");
	server_sends("C[ROLLBACK|]Z[I]");
	(void)script_heard(house.c_end[0]);
	session_link(&house.c[0], &house.s[0]);
	client_sends("P[s2|select 1|||]S[]");
	SERVER_GETS("P[PGBOUNCER_2|select 1|||]S[]");
}

static void test_batch_of_before_is_not_taken_for_this_one(void **state)
{
	(void)state;
	prepared_pair();
	asks(RUN("s1"));
	server_sends("2[]T[||]C[SELECT 0|]");
	asks(RUN("s1"));
	server_sends("Z[I]" STALE "Z[I]");
	CLIENT_GETS("2[]T[||]C[SELECT 0|]Z[I]" STALE "Z[I]");
}

static void test_half_a_message_behind_lets_the_error_pass(void **state)
{
	(void)state;
	prepared_pair();
	asks(RUN("s1"));
	CLIENT_SAYS("Q\0\0");
	server_sends(STALE "Z[I]");
	CLIENT_GETS(STALE "Z[I]");
}

static void test_long_batch_is_not_kept(void **state)
{
	static char bytes[8192];
	const size_t size = REPEAT_MAX;

	(void)state;
	prepared_pair();
	memcpy(bytes, "B\0\0\0\0\0s1", sizeof "B\0\0\0\0\0s1");
	msg_put_u32((uint8_t *)bytes + 1, (uint32_t)size - 1);
	client_says(bytes, size + script_write("S[]", bytes + size));
	assert_int_equal(house.s[0].asked.len, 0);
}

static void stage(void)
{
	prepared_pair();
}

static void ask_and_fail(void)
{
	client_sends(RUN("s1"));
	if (house.s[0].stream.fd < 0)
		return;
	server_sends(STALE "Z[I]");
}

/* Without it the batch is not kept, and the client gets the error. */
static void test_want_of_memory_is_survived(void **state)
{
	unsigned long n = 0, made;

	(void)state;
	do {
		stage();
		mem_fail_at(++n);
		ask_and_fail();
		made = mem_fail_at(0);
		assert_int_equal(relay_teardown(NULL), 0);
		assert_int_equal(relay_setup(NULL), 0);
	} while (made >= n);
	assert_true(n > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_changed_columns_are_described_anew),
		TEST(test_error_with_its_ready_is_the_same),
		TEST(test_statement_that_vanished_comes_back),
		TEST(test_description_alone_is_asked_again),
		TEST(test_dropped_type_is_looked_up_anew),
		TEST(test_flushed_description_is_asked_again),
		TEST(test_flushed_description_with_more_behind_fails),
		TEST(test_second_failure_behind_a_flush_is_told),
		TEST(test_description_that_fails_otherwise_is_told),
		TEST(test_second_failure_is_the_client_s),
		TEST(test_what_is_not_cured_passes),
		TEST(test_in_a_transaction_the_error_passes),
		TEST(test_dropped_type_is_told_once),
		TEST(test_batch_of_before_is_not_taken_for_this_one),
		TEST(test_half_a_message_behind_lets_the_error_pass),
		TEST(test_long_batch_is_not_kept),
		TEST(test_want_of_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
