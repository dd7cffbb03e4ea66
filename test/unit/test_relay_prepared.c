/* test_relay_prepared.c - a client's names of statements, on servers that share
 * theirs.
 * SPDX-License-Identifier: ISC */
#include "relay_test.h"

#define UNKNOWN "E[SERROR|C26000|Mprepared statement \"PGBOUNCER_UNKNOWN\" " \
	"does not exist||]"
#define TAKE "C[SPGBOUNCER_NONE|]P[PGBOUNCER_NONE||||]"
#define TAKEN(name) "E[SERROR|C42P05|Mprepared statement \"" name "\" " \
	"already exists||]"

/* A linked pair whose names are kept apart. */
static struct client *named_pair(void)
{
	house.config.set.max_prepared_statements = 100;
	return pair();
}

/* The same with the statement s1, "select 1", which the server has. */
static struct client *prepared_pair(void)
{
	struct client *c = named_pair();

	client_sends("P[s1|select 1|||]S[]");
	server_sends("1[]Z[T]");
	(void)script_heard(house.c_end[0]);
	(void)script_heard(house.s_end[0]);
	return c;
}

static bool has_name(const char *name)
{
	return prepared_name_find(house.c[0].statements, name) != NULL;
}

static void stage_named(void)
{
	(void)named_pair();
}

static void stage_prepared(void)
{
	(void)prepared_pair();
}

/* The server that the client has next has no statement. */
static void stage_elsewhere(void)
{
	(void)prepared_pair();
	prepared_uses_clear(&house.s[0].prepared);
}

/* --- Parse --- */

static void test_parse_comes_under_a_name_that_servers_share(void **state)
{
	(void)state;
	named_pair();
	client_sends("P[s1|select 1|||]S[]");
	SERVER_GETS("P[PGBOUNCER_1|select 1|||]S[]");
	server_sends("1[]Z[I]");
	CLIENT_GETS("1[]Z[I]");
	assert_true(has_name("s1"));
	assert_int_equal(seen.released, 1);
}

static void test_parse_of_a_text_that_is_there_is_answered_here(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("P[s2|select 1|||]S[]");
	SERVER_GETS("S[]");
	CLIENT_GETS("1[]");
	assert_true(has_name("s2"));
	assert_int_equal(prepared_table_count(house.ss.prepared), 1);
}

static void test_our_answer_waits_for_those_before_it(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("B[|s1|||||||]P[s2|select 1|||]S[]");
	SERVER_GETS("B[|PGBOUNCER_1|||||||]S[]");
	CLIENT_GETS("");
	server_sends("2[]Z[T]");
	CLIENT_GETS("2[]1[]Z[T]");
}

static void test_parse_that_fails_leaves_no_name(void **state)
{
	(void)state;
	named_pair();
	client_sends("P[s1|selec 1|||]S[]");
	server_sends("E[SERROR|C42601|Msyntax error||]Z[I]");
	CLIENT_GETS("E[SERROR|C42601|Msyntax error||]Z[I]");
	assert_false(has_name("s1"));
	assert_int_equal(prepared_table_count(house.ss.prepared), 0);
}

static void test_parse_in_a_failed_transaction_is_the_servers_to_refuse(
    void **state)
{
	(void)state;
	prepared_pair();
	house.s[0].track.status = 'E';
	client_sends("P[s2|select 1|||]S[]");
	SERVER_GETS("P[PGBOUNCER_0|select 1|||]C[SPGBOUNCER_0|]S[]");
	server_sends("E[SERROR|C25P02|Mtransaction is aborted||]Z[E]");
	CLIENT_GETS("E[SERROR|C25P02|Mtransaction is aborted||]Z[E]");
	assert_false(has_name("s2"));
	assert_true(has_name("s1"));
}

static void test_name_that_is_taken_is_refused_by_the_server(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("P[s1|select 2|||]S[]");
	SERVER_GETS(TAKE "P[PGBOUNCER_NONE|select 2|||]S[]");
	server_sends("3[]1[]" TAKEN("PGBOUNCER_NONE") "Z[E]");
	CLIENT_GETS(TAKEN("s1") "Z[E]");
	assert_null(seen.client_closed);
	assert_true(has_name("s1"));
	assert_int_equal(prepared_table_count(house.ss.prepared), 1);
	assert_false(house.s[0].ps.close_needed);
}

static void test_name_that_is_taken_is_refused_in_its_place(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("B[|s1|||||||]P[s1|select 2|||]C[Ss1|]S[]");
	SERVER_GETS("B[|PGBOUNCER_1|||||||]" TAKE
	    "P[PGBOUNCER_NONE|select 2|||]S[]");
	assert_false(has_name("s1"));
	server_sends("2[]3[]1[]" TAKEN("PGBOUNCER_NONE") "Z[E]");
	CLIENT_GETS("2[]" TAKEN("s1") "Z[E]");
	assert_true(has_name("s1"));
}

static void test_name_that_is_taken_does_not_hide_an_error_of_the_text(
    void **state)
{
	(void)state;
	prepared_pair();
	client_sends("P[s1|selec 2|||]S[]");
	SERVER_GETS(TAKE "P[PGBOUNCER_NONE|selec 2|||]S[]");
	server_sends("3[]1[]E[SERROR|C42601|Msyntax error||]Z[E]");
	CLIENT_GETS("E[SERROR|C42601|Msyntax error||]Z[E]");
	assert_null(seen.client_closed);
	assert_true(has_name("s1"));
}

static void test_parse_is_not_sent_before_it_is_whole(void **state)
{
	char bytes[SCRIPT_BYTES];
	const size_t n = script_write("P[s1|select 1|||]", bytes);

	(void)state;
	named_pair();
	seen.gives = true;
	client_says(bytes, n - 1);
	SERVER_GETS("");
	assert_int_equal(seen.released, 1);	/* nobody waits for half of it */
	client_says(bytes + n - 1, 1);
	SERVER_GETS("P[PGBOUNCER_1|select 1|||]");
}

static void test_unnamed_parse_passes_as_it_is(void **state)
{
	(void)state;
	named_pair();
	client_sends("P[|select 1|||]B[||||||||]E[|||||]S[]");
	SERVER_GETS("P[|select 1|||]B[||||||||]E[|||||]S[]");
	assert_int_equal(prepared_table_count(house.ss.prepared), 0);
}

static void test_parse_for_which_there_is_no_room_fails_in_its_turn(
    void **state)
{
	(void)state;
	named_pair();
	house.config.set.max_prepared_statement_memory = 1;
	client_sends("P[s1|select 1|||]S[]");
	assert_non_null(strstr(script_heard(house.s_end[0]),
	    "max_prepared_statement_memory is reached"));
	server_sends("E[SERROR|C42601|Msyntax error||]Z[I]");
	assert_non_null(strstr(script_heard(house.c_end[0]), "C53200"));
	assert_false(has_name("s1"));
	assert_null(seen.client_closed);
}

static void test_least_recently_used_statement_makes_room(void **state)
{
	(void)state;
	prepared_pair();
	house.config.set.max_prepared_statements = 2;
	client_sends("P[s2|select 2|||]S[]");
	server_sends("1[]Z[T]");
	client_sends("B[|s1|||||||]S[]");
	server_sends("2[]Z[T]");
	(void)script_heard(house.s_end[0]);
	(void)script_heard(house.c_end[0]);
	client_sends("P[s3|select 3|||]S[]");
	SERVER_GETS("P[PGBOUNCER_3|select 3|||]C[SPGBOUNCER_2|]S[]");
	server_sends("1[]3[]Z[T]");
	CLIENT_GETS("1[]Z[T]");
	assert_true(has_name("s2"));	/* it will be prepared again */
}

/* --- Bind, Describe --- */

static void test_statement_that_the_server_lacks_is_prepared_first(void **state)
{
	(void)state;
	stage_elsewhere();
	client_sends("B[|s1|||||||]D[Ss1|]S[]");
	SERVER_GETS("P[PGBOUNCER_1|select 1|||]B[|PGBOUNCER_1|||||||]"
	    "D[SPGBOUNCER_1|]S[]");
	server_sends("1[]2[]t[||]n[]Z[T]");
	CLIENT_GETS("2[]t[||]n[]Z[T]");
}

static void test_statement_that_the_server_refuses_is_tried_again(void **state)
{
	(void)state;
	stage_elsewhere();
	client_sends("B[|s1|||||||]S[]");
	server_sends("E[SERROR|C42P01|Mno such table||]Z[E]");
	CLIENT_GETS("E[SERROR|C42P01|Mno such table||]Z[E]");
	(void)script_heard(house.s_end[0]);
	client_sends("B[|s1|||||||]S[]");
	SERVER_GETS("P[PGBOUNCER_1|select 1|||]B[|PGBOUNCER_1|||||||]S[]");
}

static void test_unknown_name_is_called_so_by_the_server(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("B[|s9|||||||]S[]");
	SERVER_GETS("D[SPGBOUNCER_UNKNOWN|]S[]");
	server_sends(UNKNOWN "Z[E]");
	CLIENT_GETS("E[SERROR|C26000|Mprepared statement \"s9\" "
	    "does not exist||]Z[E]");
	assert_false(house.s[0].ps.close_needed);
}

static void test_long_bind_passes_when_its_names_are_here(void **state)
{
	char bytes[SCRIPT_BYTES];
	const size_t n = script_write("B[|s1|||||||]S[]", bytes);

	(void)state;
	prepared_pair();
	client_says(bytes, MSG_HEADER + 3);	/* amid the name */
	SERVER_GETS("");
	client_says(bytes + MSG_HEADER + 3, 3);
	assert_int_equal(house.c[0].rest.bytes, 4);
	client_says(bytes + MSG_HEADER + 6, n - MSG_HEADER - 6);
	SERVER_GETS("B[|PGBOUNCER_1|||||||]S[]");
}

static void test_copy_is_ended_by_what_comes_whatever_it_names(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("Q[copy t from stdin|]");
	server_sends("G[|||]");
	(void)script_heard(house.s_end[0]);
	client_sends("B[|s9|||||||]D[Ss9|]");
	SERVER_GETS("B[|s9|||||||]D[Ss9|]");
}

/* --- Close --- */

static void test_close_is_answered_here(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("C[Ss1|]S[]");
	SERVER_GETS("S[]");
	CLIENT_GETS("3[]");
	assert_false(has_name("s1"));
}

static void test_close_behind_what_fails_has_not_happened(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("P[|selec 1|||]C[Ss1|]S[]");
	assert_false(has_name("s1"));
	server_sends("E[SERROR|C42601|Msyntax error||]Z[E]");
	CLIENT_GETS("E[SERROR|C42601|Msyntax error||]Z[E]");
	assert_true(has_name("s1"));
}

static void test_close_needs_no_server(void **state)
{
	(void)state;
	prepared_pair();
	pool_unlink(&house.c[0].pc);
	client_sends("C[Ss1|]");
	CLIENT_GETS("3[]");
	assert_int_equal(seen.acquired, 0);
}

static void test_portals_are_the_servers_business(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("D[P|]C[Pp1|]S[]");
	SERVER_GETS("D[P|]C[Pp1|]S[]");
}

/* --- all are gone --- */

static void test_discard_all_takes_the_names(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("Q[discard all|]");
	server_sends("C[DISCARD ALL|]Z[I]");
	CLIENT_GETS("C[DISCARD ALL|]Z[I]");
	assert_false(has_name("s1"));
	assert_int_equal(house.s[0].prepared.count, 0);
}

static void test_discard_all_behind_a_copy_holds_what_is_behind(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("Q[copy t from stdin; discard all|]");
	server_sends("G[||||||]");
	client_sends("d[1]c[]D[Ss1|]S[]");
	SERVER_GETS("Q[copy t from stdin; discard all|]d[1]c[]");
	server_sends("C[COPY 1|]C[DISCARD ALL|]Z[I]");
	CLIENT_GETS("G[||||||]C[COPY 1|]C[DISCARD ALL|]Z[I]");
	assert_false(has_name("s1"));
}

static void test_statement_that_the_server_lost_is_not_trusted(void **state)
{
	(void)state;
	prepared_pair();
	client_sends("B[|s1|||||||]S[]");
	server_sends("E[SERROR|C26000|Mprepared statement \"PGBOUNCER_1\" "
	    "does not exist||]Z[E]");
	CLIENT_GETS("E[SERROR|C26000|Mprepared statement \"s1\" "
	    "does not exist||]Z[E]");
	assert_true(has_name("s1"));	/* to be prepared again */
	assert_true(house.s[0].ps.close_needed);
}

/* --- what cannot be --- */

static void test_broken_messages_close_the_client(void **state)
{
	static const struct {
		const char *script, *why;
	} bad[] = {
		{ "P[s1]", "failed to parse packet" },
		{ "P[s1|select 1]", "broken Parse packet" },
		{ "P[s1|select 1|||more]", "broken Parse packet" },
		{ "B[p]", "broken Bind packet" },
		{ "B[p|s1]", "broken Bind packet" },
		{ "D[S]", "broken Describe packet" },
		{ "D[Ss1]", "broken Describe packet" },
		{ "C[Ss1]", "broken Close packet" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		named_pair();
		client_sends(bad[i].script);
		assert_string_equal(seen.client_closed, bad[i].why);
		SERVER_GETS("");
		relay_teardown(NULL);
		relay_setup(NULL);
	}
}

static void parse_new(void)
{
	client_sends("P[s2|select 2|||]S[]");
}

static void parse_known(void)
{
	client_sends("B[|s1|||||||]P[s2|select 1|||]S[]");
}

static void parse_taken(void)
{
	client_sends("P[s1|select 2|||]");
}

static void bind_s1(void)
{
	client_sends("B[|s1|||||||]S[]");
}

static void bind_unknown(void)
{
	client_sends("B[|s9|||||||]S[]");
}

static void describe_s1(void)
{
	client_sends("D[Ss1|]S[]");
}

static void close_behind(void)
{
	client_sends("B[||||||||]C[Ss1|]S[]");
}

static void parse_and_evict(void)
{
	house.config.set.max_prepared_statements = 1;
	client_sends("P[s2|select 2|||]S[]");
}

static void parse_without_room(void)
{
	house.config.set.max_prepared_statement_memory = 1;
	client_sends("P[s1|select 1|||]S[]");
}

static void test_want_of_memory_closes_the_client_and_leaves_nothing(
    void **state)
{
	(void)state;
	relay_without_memory(stage_named, parse_new);
	relay_without_memory(stage_prepared, parse_known);
	relay_without_memory(stage_prepared, parse_taken);
	relay_without_memory(stage_elsewhere, bind_s1);
	relay_without_memory(stage_prepared, bind_unknown);
	relay_without_memory(stage_elsewhere, describe_s1);
	relay_without_memory(stage_prepared, close_behind);
	relay_without_memory(stage_prepared, parse_and_evict);
	relay_without_memory(stage_named, parse_without_room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_parse_comes_under_a_name_that_servers_share),
		TEST(test_parse_of_a_text_that_is_there_is_answered_here),
		TEST(test_our_answer_waits_for_those_before_it),
		TEST(test_parse_that_fails_leaves_no_name),
		TEST(test_parse_in_a_failed_transaction_is_the_servers_to_refuse),
		TEST(test_name_that_is_taken_is_refused_by_the_server),
		TEST(test_name_that_is_taken_is_refused_in_its_place),
		TEST(test_name_that_is_taken_does_not_hide_an_error_of_the_text),
		TEST(test_parse_is_not_sent_before_it_is_whole),
		TEST(test_unnamed_parse_passes_as_it_is),
		TEST(test_parse_for_which_there_is_no_room_fails_in_its_turn),
		TEST(test_least_recently_used_statement_makes_room),
		TEST(test_statement_that_the_server_lacks_is_prepared_first),
		TEST(test_statement_that_the_server_refuses_is_tried_again),
		TEST(test_unknown_name_is_called_so_by_the_server),
		TEST(test_long_bind_passes_when_its_names_are_here),
		TEST(test_copy_is_ended_by_what_comes_whatever_it_names),
		TEST(test_close_is_answered_here),
		TEST(test_close_behind_what_fails_has_not_happened),
		TEST(test_close_needs_no_server),
		TEST(test_portals_are_the_servers_business),
		TEST(test_discard_all_takes_the_names),
		TEST(test_discard_all_behind_a_copy_holds_what_is_behind),
		TEST(test_statement_that_the_server_lost_is_not_trusted),
		TEST(test_broken_messages_close_the_client),
		TEST(test_want_of_memory_closes_the_client_and_leaves_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
