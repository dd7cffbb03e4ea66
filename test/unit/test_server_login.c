/* test_server_login.c - a login, step by step; the test is PostgreSQL.
 * SPDX-License-Identifier: ISC */
#include "upstream/server_login.h"

#include "proto/baggage.h"
#include "proto/msg.h"
#include "proto/params.h"
#include "server_test.h"

/* --- what is faked --- */

static void begin_connect(struct server *s)
{
	(void)s;
	tell("begin connect");
}

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	[SERVER_PHASE_CONNECT] = { .name = "connect", .timed = true,
		.begin = begin_connect },
	[SERVER_PHASE_AUTH] = { .name = "auth", .timed = true,
		.begin = server_login_begin, .input = server_login_input },
	[SERVER_PHASE_SYNC] = { .name = "sync", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_QUERY] = { .name = "query", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_ORIGIN] = { .name = "origin", .timed = true,
		.input = server_login_input },
	[SERVER_PHASE_POOLED] = { .name = "pooled",
		.can_terminate = can_terminate },
};

static const struct track_ops track_ops;

static const struct server_ops ops = {
	.phases = phases,
	.track = &track_ops,
	.ready = on_ready,
	.introduce = on_introduce,
	.closed = on_closed,
};

/* --- the stage --- */

static int set_up(void **state)
{
	(void)state;
	stage_open(&ops, "user=ann password=secret connect_query='SELECT 1'");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stage_close();
	return 0;
}

/* It has sent its StartupMessage. */
static struct server *begin(enum server_state state)
{
	struct server *s = server_new(&st.ss, st.pool, state);

	assert_non_null(s);
	s->host.kind = HOST_ADDRESS;
	assert_int_equal(server_open(s, stage_socket()), 0);
	server_begin(s, SERVER_PHASE_AUTH);
	return s;
}

/* What it has sent, as text: what can't be printed is '.'. */
static const char *heard(void)
{
	static char out[512];
	const ssize_t n = recv(st.peer, out, sizeof out - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i++) {
		if (out[i] < ' ' || out[i] > '~')
			out[i] = '.';
	}
	return out;
}

static void say_bytes(char type, const void *body, size_t len)
{
	uint8_t header[MSG_HEADER] = { (uint8_t)type };

	msg_put_u32(header + 1, (uint32_t)len + 4);
	assert_int_equal(write(st.peer, header, sizeof header),
	    sizeof header);
	assert_int_equal(write(st.peer, body, len), (ssize_t)len);
}

#define SAY(type, body) say_bytes(type, body, sizeof(body) - 1)
#define OK "\0\0\0\0"
#define KEY "\0\0\0\1\0\0\0\2"
#define REFUSAL(code, text) "SFATAL\0C" code "\0M" text "\0\0"

static void let_in(void)
{
	SAY('R', OK);
	SAY('S', "server_version\00018.0\0");
	SAY('K', KEY);
	SAY('Z', "I");
	stage_turns(2);
}

/* --- tests --- */

static void test_pooled_server_has_nothing_of_its_login(void **state)
{
	struct server *s = begin(SERVER_LOGIN);

	(void)state;
	assert_non_null(strstr(heard(), "database.shop."));
	let_in();
	assert_string_equal(stage_told(), "");
	assert_string_equal(heard(), "Q....SELECT 1.");
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "");
	assert_non_null(strstr(heard(), "SELECT pg_catalog.current_setting("
	    "'DateStyle', true), pg_catalog.current_setting('"));
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "ready;");
	assert_string_equal(stage_moved(), "new -> auth;auth -> sync;"
	    "sync -> query;query -> origin;origin -> pooled;");
	assert_null(s->attempt);
	assert_null(s->failure);
	assert_false(timeout_running(&s->timer));
	assert_int_equal(s->key_len, 8);
	/* what it said first is the welcome of the pool's clients */
	assert_non_null(st.pool->welcome);
	server_close(s, CLOSE_SHUTDOWN);
}

/* It reports all but the search_path, and has run connect_query. */
static struct server *run_connect_query(void)
{
	static const char *const reported[] = { "DateStyle", "client_encoding",
		"TimeZone", "standard_conforming_strings", "application_name",
		"IntervalStyle", "default_transaction_read_only",
		"scram_iterations", "session_authorization" };
	struct server *s = begin(SERVER_LOGIN);
	char status[64];

	SAY('R', OK);
	for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
		const int n = snprintf(status, sizeof status, "%s%cx",
		    reported[i], '\0');

		say_bytes('S', status, (size_t)n + 1);
	}
	SAY('K', KEY);
	SAY('Z', "I");
	SAY('Z', "I");
	stage_turns(2);
	return s;
}

static void test_what_connect_query_has_set_is_asked_for(void **state)
{
	struct server *s = run_connect_query();
	const int path = params_find(st.ss.params, "search_path");

	(void)state;
	assert_non_null(strstr(heard(),
	    "SELECT pg_catalog.current_setting('search_path', true), "
	    "pg_catalog.current_setting('extra_float_digits', true), "
	    "pg_catalog.current_setting('role', true)."));
	SAY('D', "\0\3\0\0\0\6public\0\0\0\1" "1" "\0\0\0\4poor");
	SAY('C', "SELECT 1\0");
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "ready;");
	assert_string_equal(params_get(s->origin.set, path), "public");
	assert_string_equal(baggage_find(s->keep.base, "role"), "poor");
	/* a pool's clients are not told of what PostgreSQL does not tell */
	assert_null(params_get(s->params, path));
	assert_null(params_get(st.pool->welcome->params, path));
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_server_that_cannot_say_it_is_pooled(void **state)
{
	struct server *s = run_connect_query();

	(void)state;
	SAY('E', REFUSAL("42883", "no such function"));
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "ready;");
	assert_ptr_equal(s->origin.set, s->params);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_broken_row_is_a_failure(void **state)
{
	(void)state;
	(void)run_connect_query();
	SAY('D', "\0\1\0\0\0\7public");
	stage_turns(2);
	assert_int_equal(strncmp(stage_told(), "failed ", 7), 0);
}

static void test_refusal_is_told_to_those_who_wait(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	SAY('E', REFUSAL("3D000", "no such database"));
	stage_turns(2);
	assert_string_equal(stage_told(), "failed 3D000 no such database "
	    "(refused);closed: no such database;");
}

static void test_starting_up_passes(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	SAY('E', REFUSAL("57P03", "starting up"));
	stage_turns(2);
	assert_string_equal(stage_told(),
	    "failed 57P03 starting up;closed: starting up;");
}

static void test_no_method_is_the_pools_failure(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	SAY('R', "\0\0\0\11");
	stage_turns(2);
	assert_string_equal(stage_told(), "failed 08P01 server login failed: "
	    "wrong password type (refused);"
	    "closed: failed to answer authreq;");
}

static void test_password_is_sent_and_nothing_of_it_stays(void **state)
{
	struct server *s = begin(SERVER_LOGIN);

	(void)state;
	(void)heard();
	SAY('R', "\0\0\0\3");
	stage_turns(2);
	assert_string_equal(heard(), "p....secret.");
	let_in();
	(void)heard();
	SAY('Z', "I");
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "ready;");
	assert_null(s->attempt);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_older_protocol_is_tried_once(void **state)
{
	struct server *s = begin(SERVER_LOGIN);

	(void)state;
	SAY('E', REFUSAL("0A000", "unsupported frontend protocol 3.2"));
	stage_turns(2);
	assert_string_equal(stage_told(), "begin connect;");
	assert_string_equal(stage_moved(), "new -> auth;auth -> connect;");
	assert_true(s->attempt->plain);
	assert_false(server_is_open(s));
	close(st.peer);
	assert_int_equal(server_open(s, stage_socket()), 0);
	server_begin(s, SERVER_PHASE_AUTH);
	assert_memory_equal(heard() + 4, "....", 4);
	SAY('E', REFUSAL("0A000", "no"));
	stage_turns(2);
	assert_string_equal(stage_told(),
	    "failed 0A000 no (refused);closed: no;");
}

static void test_physical_replication_knows_no_sql(void **state)
{
	struct server *s = begin(SERVER_DEDICATED_LOGIN);

	(void)state;
	assert_non_null(strstr(heard(), "replication.yes."));
	let_in();
	assert_string_equal(stage_told(), "ready;");
	assert_string_equal(stage_moved(),
	    "new -> auth;auth -> sync;sync -> pooled;");
	/* what it said was for one client */
	assert_null(st.pool->welcome);
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_logical_replication_does(void **state)
{
	struct server *s = NULL;

	(void)state;
	st.knows_sql = true;
	s = begin(SERVER_DEDICATED_LOGIN);
	(void)heard();
	let_in();
	assert_string_equal(heard(), "Q....SELECT 1.");
	server_close(s, CLOSE_SHUTDOWN);
}

static void test_talking_on_is_not_fit_for_use(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	let_in();
	SAY('Z', "I");
	SAY('Z', "I");
	SAY('Z', "I");
	stage_turns(2);
	assert_string_equal(stage_told(), "failed 08P01 idle server got dirty;"
	    "closed: idle server got dirty;");
}

static void test_authentication_comes_once(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	SAY('R', OK);
	SAY('R', OK);
	stage_turns(2);
	assert_string_equal(stage_told(), "failed 08P01 unknown pkt from server;"
	    "closed: unknown pkt from server;");
}

static void test_end_of_connection_is_a_failure(void **state)
{
	(void)state;
	begin(SERVER_LOGIN);
	SAY('R', OK);
	close(st.peer);
	st.peer = -1;
	stage_turns(2);
	assert_string_equal(stage_told(), "failed 08006 server conn crashed?;"
	    "closed: server conn crashed?;");
}

/* Either it gets in, or it is closed by a failure: nothing in between. */
static bool log_in_failing(unsigned long nth)
{
	struct server *s = begin(SERVER_LOGIN);
	const char *told;
	bool in;

	SAY('R', "\0\0\0\3");
	SAY('R', OK);
	SAY('S', "server_version\00018.0\0");
	SAY('S', "TimeZone\0Asia/Tokyo\0");
	SAY('K', KEY);
	SAY('Z', "I");
	SAY('Z', "I");
	SAY('D', "\0\11" "\0\0\0\3ISO" "\377\377\377\377" "\0\0\0\2on"
	    "\377\377\377\377" "\0\0\0\1p" "\377\377\377\377"
	    "\377\377\377\377" "\377\377\377\377" "\0\0\0\0");
	SAY('Z', "I");
	mem_fail_at(nth);
	stage_turns(2);
	mem_fail_at(0);
	told = stage_told();
	in = strcmp(told, "ready;") == 0;
	if (in)
		server_close(s, CLOSE_SHUTDOWN);
	else
		assert_int_equal(strncmp(told, "failed ", 7), 0);
	(void)stage_told();
	(void)stage_moved();
	close(st.peer);
	st.peer = -1;
	return in;
}

static void test_no_memory_at_any_point(void **state)
{
	unsigned long n = 1, failed = 0;

	(void)state;
	for (bool in = false; !in || n < 40; n++) {
		in = log_in_failing(n);
		failed += !in;
		assert_true(n < 100);
	}
	assert_true(failed > 3);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pooled_server_has_nothing_of_its_login),
		TEST(test_what_connect_query_has_set_is_asked_for),
		TEST(test_server_that_cannot_say_it_is_pooled),
		TEST(test_broken_row_is_a_failure),
		TEST(test_refusal_is_told_to_those_who_wait),
		TEST(test_starting_up_passes),
		TEST(test_no_method_is_the_pools_failure),
		TEST(test_password_is_sent_and_nothing_of_it_stays),
		TEST(test_older_protocol_is_tried_once),
		TEST(test_physical_replication_knows_no_sql),
		TEST(test_logical_replication_does),
		TEST(test_talking_on_is_not_fit_for_use),
		TEST(test_authentication_comes_once),
		TEST(test_end_of_connection_is_a_failure),
		TEST(test_no_memory_at_any_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
