/* test_relay_deallocate.c - DEALLOCATE of a client's name, in either protocol.
 * SPDX-License-Identifier: ISC */
#include "relay_test.h"

/* What the server is to deallocate in the name's place. */
#define DUMMY "C[SPGBOUNCER_NONE|]P[PGBOUNCER_NONE||||]"
#define SQL "deallocate \"PGBOUNCER_NONE\"|"
#define NOT_THERE(name) "E[SERROR|C26000|Mprepared statement \"" name "\" " \
	"does not exist||]"
#define DONE_SO "C[DEALLOCATE|]"

/* The statement s1, in a transaction; the server has it. */
static void stage(void)
{
	house.config.set.max_prepared_statements = 100;
	(void)pair();
	/* without memory for its text a Parse has its server kept */
	assert_int_equal(own_text_reserve(&house.c[0].relay.own.text, 256), 0);
	assert_int_equal(own_text_reserve(&house.c[0].relay.own.old, 256), 0);
	client_sends("P[s1|select 1|||]S[]");
	server_sends("1[]Z[T]");
	(void)script_heard(house.c_end[0]);
	(void)script_heard(house.s_end[0]);
}

/* The same without a server, and outside of a transaction. */
static void stage_alone(void)
{
	stage();
	pool_unlink(&house.c[0].pc);
}

static bool has_s1(void)
{
	return prepared_name_find(house.c[0].statements, "s1") != NULL;
}

/* --- simple queries --- */

static void test_without_a_server_it_is_answered_here(void **state)
{
	(void)state;
	stage_alone();
	client_sends("Q[DEALLOCATE s1|]");
	CLIENT_GETS(DONE_SO "Z[I]");
	assert_int_equal(seen.acquired, 0);
	assert_false(has_s1());
}

static void test_in_a_transaction_the_server_answers(void **state)
{
	(void)state;
	stage();
	client_sends("Q[deallocate prepare s1;|]");
	SERVER_GETS(DUMMY "Q[" SQL "]");
	server_sends("3[]1[]" DONE_SO "Z[T]");
	CLIENT_GETS(DONE_SO "Z[T]");
	assert_false(has_s1());
	/* on the server it stays, for others */
	assert_int_equal(house.s[0].prepared.count, 1);
}

static void test_what_is_behind_waits_for_the_answer(void **state)
{
	(void)state;
	stage();
	client_sends("Q[deallocate s1|]Q[select 2|]");
	SERVER_GETS(DUMMY "Q[" SQL "]");
	server_sends("3[]1[]" DONE_SO "Z[T]");
	SERVER_GETS("Q[select 2|]");
}

static void test_deallocate_that_fails_has_not_happened(void **state)
{
	(void)state;
	stage();
	client_sends("Q[deallocate s1|]");
	server_sends("3[]1[]E[SERROR|C25P02|Mtransaction is aborted||]Z[E]");
	CLIENT_GETS("E[SERROR|C25P02|Mtransaction is aborted||]Z[E]");
	assert_true(has_s1());
}

static void test_name_that_is_none_of_ours_is_the_servers(void **state)
{
	(void)state;
	stage();
	client_sends("Q[deallocate s2|]");
	SERVER_GETS("Q[deallocate s2|]");
	server_sends(NOT_THERE("s2") "Z[E]");
	CLIENT_GETS(NOT_THERE("s2") "Z[E]");
	assert_true(has_s1());
}

static void test_name_is_read_as_postgresql_reads_it(void **state)
{
	(void)state;
	stage();
	client_sends("Q[deallocate \"S1\"|]");
	SERVER_GETS("Q[deallocate \"S1\"|]");
	server_sends(NOT_THERE("S1") "Z[T]");
	client_sends("Q[/* of */ DEALLOCATE S1 -- now|]");
	SERVER_GETS(DUMMY "Q[" SQL "]");
}

static void test_name_whose_parse_may_fail_is_waited_for(void **state)
{
	(void)state;
	stage();
	client_sends("P[s2|select 2|||]S[]Q[deallocate s2|]");
	SERVER_GETS("P[PGBOUNCER_2|select 2|||]S[]");
	server_sends("1[]Z[T]");
	SERVER_GETS(DUMMY "Q[" SQL "]");
}

/* --- the extended protocol --- */

static void test_extended_deallocate_takes_the_name_when_it_runs(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1|||]B[||||||||]");
	SERVER_GETS(DUMMY "P[|" SQL "||]B[||||||||]");
	assert_true(has_s1());
	client_sends("E[|||||]S[]");
	SERVER_GETS("E[|||||]H[]");	/* the Sync waits */
	assert_false(has_s1());
	server_sends("3[]1[]1[]2[]" DONE_SO);
	SERVER_GETS("S[]");
	server_sends("Z[T]");
	CLIENT_GETS("1[]2[]" DONE_SO "Z[T]");
}

static void test_other_portals_do_not_deallocate(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1|||]B[mine||||||||]");
	client_sends("E[other|||||]");
	assert_true(has_s1());
	server_sends("3[]1[]1[]2[]C[SELECT 1|]");
	client_sends("E[mine|||||]");
	assert_false(has_s1());
}

static void test_portal_of_another_statement_does_not_deallocate(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1|||]B[||||||||]B[|s1|||||||]");
	client_sends("E[|||||]");
	assert_true(has_s1());
}

static void test_another_unnamed_statement_ends_it(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1|||]");
	assert_string_equal(house.c[0].relay.dealloc.name, "s1");
	client_sends("P[|select 2|||]");
	assert_null(house.c[0].relay.dealloc.name);
}

static void test_extended_deallocate_that_fails_has_not_happened(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1|||]B[||||||||]E[|||||]S[]");
	assert_false(has_s1());
	server_sends("3[]1[]1[]2[]" NOT_THERE("PGBOUNCER_NONE"));
	server_sends("Z[E]");
	CLIENT_GETS("1[]2[]" NOT_THERE("s1") "Z[E]");
	assert_true(has_s1());
}

static void test_parse_with_types_of_parameters_is_the_servers(void **state)
{
	(void)state;
	stage();
	client_sends("P[|deallocate s1||\1||||]");
	SERVER_GETS("P[|deallocate s1||\1||||]");
}

/* --- want of memory --- */

static void query(void)
{
	client_sends("Q[deallocate s1|]");
}

static void extended(void)
{
	client_sends("P[|deallocate s1|||]B[||||||||]E[|||||]S[]");
}

/* The ring of what is owed has to grow amid it. */
static void query_behind_others(void)
{
	for (int i = 0; i < 14; i++)
		assert_int_equal(track_add(&house.s[0].track, 'Q',
		    TRACK_FORWARD, NULL), 0);
	query();
}

static void test_want_of_memory_closes_the_client_and_leaves_nothing(
    void **state)
{
	(void)state;
	relay_without_memory(stage, query);
	relay_without_memory(stage, query_behind_others);
	relay_without_memory(stage, extended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_server_it_is_answered_here),
		TEST(test_in_a_transaction_the_server_answers),
		TEST(test_what_is_behind_waits_for_the_answer),
		TEST(test_deallocate_that_fails_has_not_happened),
		TEST(test_name_that_is_none_of_ours_is_the_servers),
		TEST(test_name_is_read_as_postgresql_reads_it),
		TEST(test_name_whose_parse_may_fail_is_waited_for),
		TEST(test_extended_deallocate_takes_the_name_when_it_runs),
		TEST(test_other_portals_do_not_deallocate),
		TEST(test_portal_of_another_statement_does_not_deallocate),
		TEST(test_another_unnamed_statement_ends_it),
		TEST(test_extended_deallocate_that_fails_has_not_happened),
		TEST(test_parse_with_types_of_parameters_is_the_servers),
		TEST(test_want_of_memory_closes_the_client_and_leaves_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
