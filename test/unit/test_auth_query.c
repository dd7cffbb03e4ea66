/* test_auth_query.c - a server is asked for a user's secret, and answers.
 * SPDX-License-Identifier: ISC */
#include "login/auth_query.h"

#include "session_test.h"

#include "base/err.h"
#include "base/mem.h"
#include "broker/broker.h"
#include "login/login_database.h"
#include "login/login_parts.h"
#include "pool/credentials.h"

/* What every answer begins with, and what it ends with. */
#define PATH "1[]2[]D[|\1|||\1x]C[SELECT 1|]"
#define ROW(name_and_secret) "D[|\2" name_and_secret "]"
#define ANN ROW("|||\3ann|||\1x")
#define END "C[SELECT|]Z[I]"

static struct {
	struct auth_query query;
	struct login login;
	unsigned looked_up, released, answered, left;
	const char *server_closed;
	char why[64];
	struct database *named;		/* by auth_dbname; NULL: there is none */
} seen;

/* --- the neighbours, who take notes --- */

void broker_look_up(struct client *c)
{
	(void)c;
	seen.looked_up++;
}

void broker_client_gone(struct client *c)
{
	(void)c;
	seen.left++;
}

void broker_release(struct server *s)
{
	seen.released++;
	pool_unlink(s->ps.client);
	pool_server_set(&s->ps, SERVER_IDLE);
}

void server_set_phase(struct server *s, enum server_phase phase)
{
	s->phase = phase;
}

void server_close_cause(struct server *s, struct close_cause why)
{
	seen.server_closed = close_reason_text(why.reason);
	snprintf(seen.why, sizeof seen.why, "%s", why.text);
	stream_close(&s->stream);
}

void server_close(struct server *s, enum close_reason reason)
{
	server_close_cause(s, close_cause(reason));
}

void server_fail(struct server *s, enum close_reason reason)
{
	server_close(s, reason);
}

struct database *login_find_database(struct client *c, const char *name,
    struct err *e)
{
	(void)c;
	(void)name;
	e->code[0] = '\0';
	return seen.named;
}

void login_keep_database(const struct client *c, struct database *db)
{
	(void)c;
	(void)db;
}

static void on_answered(struct client *c)
{
	(void)c;
	seen.answered++;
}

static struct auth_query *query_of(const struct client *c)
{
	(void)c;
	return &seen.query;
}

/* --- a login, and the server it is linked to --- */

static char asker[] = "asker", elsewhere[] = "elsewhere", empty[] = "";

static struct {
	struct config *config;
	struct settings *set, before;	/* of that: tests change it */
} conf;

static int setup(void **state)
{
	memset(&seen, 0, sizeof seen);
	if (session_setup(state) < 0)
		return -1;
	house.role.query = query_of;
	conf.config = config_seed(0);
	conf.before = conf.config->set;
	conf.set = &conf.config->set;
	conf.set->auth_user = asker;
	house.ss.catalog = catalog_new(conf.config);
	seen.query = (struct auth_query){ .user = "ann",
		.answered = on_answered };
	return house.ss.catalog == NULL ? -1 : 0;
}

static int teardown(void **state)
{
	auth_query_fini(&seen.query);
	*conf.set = conf.before;
	limit_queue_fini(&house.db.queue);
	catalog_free(&house.ss.catalog);
	config_unref(&conf.config);
	return session_teardown(state);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

static struct client *login(void)
{
	struct client *c = session_client(CLIENT_LOGIN);

	c->login = &seen.login;
	c->db = &house.db;
	return c;
}

/* It has a server, which was asked. */
static struct client *asked(void)
{
	struct client *c = login();

	session_link(c, session_server(SERVER_IDLE));
	auth_query_send(c);
	return c;
}

static void server_says(const char *script)
{
	char bytes[SCRIPT_BYTES];

	session_say(&house.s[0].stream, house.s_end[0], bytes,
	    script_write(script, bytes));
	auth_query_input(&house.s[0]);
}

/* --- where it is asked --- */

static void test_it_takes_an_auth_user(void **state)
{
	struct client *c = login();

	(void)state;
	assert_true(auth_query_is_possible(c));
	conf.set->auth_user = empty;
	assert_false(auth_query_is_possible(c));
	assert_false(auth_query_is_meant(c));
	house.db_conf.auth_user = asker;
	assert_true(auth_query_is_possible(c));
	/* a database that there is not looks as one without settings */
	c->db = NULL;
	assert_false(auth_query_is_possible(c));
	assert_false(auth_query_is_meant(c));
	conf.set->auth_user = asker;
	assert_false(auth_query_is_possible(c));
	assert_true(auth_query_is_meant(c));
	conf.set->auth_dbname = elsewhere;
	assert_true(auth_query_is_possible(c));
	assert_false(auth_query_is_here(c));
}

static void test_console_is_asked_elsewhere_only(void **state)
{
	struct client *c = login();

	(void)state;
	house.db.console = true;
	assert_false(auth_query_is_possible(c));
	conf.set->auth_dbname = elsewhere;
	assert_true(auth_query_is_possible(c));
}

static void test_login_waits_in_the_pool_of_the_auth_user(void **state)
{
	struct client *c = login();
	struct err e;

	(void)state;
	assert_int_equal(auth_query_start(c, &e), 0);
	assert_int_equal(seen.looked_up, 1);
	assert_true(c->stream.paused);
	assert_true(c->pc.lookup);
	assert_ptr_equal(c->pc.pool->key.db, &house.db);
	assert_string_equal(c->pc.pool->key.user->name, asker);
	catalog_drop_pool(house.ss.catalog, c->pc.pool);
	c->pc.pool = &house.pool;
	c->pc.lookup = false;
}

static void test_database_that_cannot_be_asked_is_an_error(void **state)
{
	struct database off = { .name = elsewhere, .disabled = true };
	struct client *c = login();
	struct err e;

	(void)state;
	conf.set->auth_dbname = elsewhere;
	assert_int_equal(auth_query_start(c, &e), -1);
	assert_string_equal(e.text, "bouncer config error");
	seen.named = &off;
	assert_int_equal(auth_query_start(c, &e), -1);
	assert_string_equal(e.text,
	    "authentication database \"elsewhere\" is disabled");
	assert_int_equal(seen.looked_up, 0);
	assert_false(c->stream.paused);
}

/* --- what is asked --- */

static void test_query_gets_the_name_as_a_parameter(void **state)
{
	static char sql[] = "select n, s from users where n = $1";

	(void)state;
	conf.set->auth_query = sql;
	asked();
	const char *heard = script_heard(house.s_end[0]);

	assert_non_null(strstr(heard, "P[|select n, s from users where "
	    "n = $1|||]B[|||||\1|||\3ann||]D[P|]E[|||||]S[]"));
	/* in a path that nobody else has a say in */
	assert_memory_equal(heard, "P[|SELECT pg_catalog.set_config("
	    "'search_path'", 43);
	assert_int_equal(house.s[0].phase, SERVER_PHASE_LOOKUP);
	assert_false(house.s[0].track.ready);
}

static void test_query_of_the_database_goes_first(void **state)
{
	static char global[] = "select 1", own[] = "select 2";

	(void)state;
	conf.set->auth_query = global;
	house.db_conf.auth_query = own;
	asked();
	const char *heard = script_heard(house.s_end[0]);

	assert_non_null(strstr(heard, "P[|select 2|"));
	assert_null(strstr(heard, "P[|select 1|"));
}

/* --- does the answer count? --- */

static void test_answer_counts_as_long_as_the_question_is_the_same(void **state)
{
	static char other[] = "select 1, 2";
	struct {
		char **at, *value;
	} changes[] = {
		{ &conf.set->auth_user, elsewhere },
		{ &conf.set->auth_user, empty },
		{ &conf.set->auth_dbname, elsewhere },
		{ &conf.set->auth_query, other },
		{ &house.db_conf.auth_user, elsewhere },
		{ &house.db_conf.auth_dbname, elsewhere },
		{ &house.db_conf.auth_query, other },
	};
	struct client *const c = login();

	(void)state;
	seen.query.errand = auth_errand_new(c, c->ss->worker);
	assert_non_null(seen.query.errand);
	assert_true(auth_errand_holds(c));
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		char *const before = *changes[i].at;

		*changes[i].at = changes[i].value;
		assert_false(auth_errand_holds(c));
		*changes[i].at = before;
		assert_true(auth_errand_holds(c));
	}
}

/* --- what is answered --- */

static void test_row_is_the_secret_and_the_server_is_given_back(void **state)
{
	struct client *c = asked();

	(void)state;
	server_says(PATH "1[]2[]T[|\2]" ANN END);
	assert_int_equal(seen.answered, 1);
	assert_string_equal(seen.query.found->secret, "x");
	assert_string_equal(seen.query.name, "ann");
	assert_int_equal(seen.released, 1);
	assert_int_equal(house.s[0].phase, SERVER_PHASE_POOLED);
	assert_true(track_is_done(&house.s[0].track));
	assert_null(c->pc.pool);
	assert_null(seen.server_closed);
}

static void test_no_row_is_an_answer(void **state)
{
	(void)state;
	asked();
	server_says(PATH "1[]2[]T[|\2]" END);
	assert_int_equal(seen.answered, 1);
	assert_null(seen.query.found);
}

static void test_last_row_counts(void **state)
{
	(void)state;
	asked();
	server_says(PATH ANN ROW("|||\3bob|||\1y") END);
	assert_string_equal(seen.query.found->secret, "y");
	assert_string_equal(seen.query.name, "bob");
}

static void test_secret_that_is_null_is_none(void **state)
{
	(void)state;
	asked();
	server_says(PATH ROW("|||\3ann\xff\xff\xff\xff") END);
	assert_string_equal(seen.query.found->secret, "");
}

static void test_answer_may_come_byte_by_byte(void **state)
{
	char bytes[SCRIPT_BYTES];
	const size_t n = script_write(PATH ANN END, bytes);

	(void)state;
	asked();
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(seen.answered, 0);
		session_say(&house.s[0].stream, house.s_end[0], bytes + i, 1);
		auth_query_input(&house.s[0]);
	}
	assert_int_equal(seen.answered, 1);
	assert_string_equal(seen.query.found->secret, "x");
	assert_int_equal(house.s[0].carry.len, 0);
}

static void test_parameters_are_the_servers(void **state)
{
	(void)state;
	asked();
	server_says("S[TimeZone|UTC|]");
	assert_string_equal(params_get(house.s[0].params,
	    params_find(house.ss.params, "TimeZone")), "UTC");
	assert_string_equal(params_get(house.c[0].params,
	    params_find(house.ss.params, "TimeZone")) == NULL ? "none" : "",
	    "none");
}

/* --- what ends it --- */

static void test_what_is_no_answer_closes_the_server(void **state)
{
	static const struct {
		const char *script, *reason, *why;
	} bad[] = {
		{ "E[SERROR|C42P01|Mno such table||]",
		    "auth_query failed", "error response from auth_query" },
		{ PATH "T[|\3]", "auth_query failed",
		    "expected 2 columns from auth_query, not 3" },
		{ PATH ANN END "N[]", "unexpected response from auth_query",
		    "unexpected response from auth_query" },
		{ PATH "?[]", "auth_query failed",
		    "unexpected response from auth_query" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		asked();
		server_says(bad[i].script);
		assert_string_equal(seen.server_closed, bad[i].reason);
		assert_string_equal(seen.why, bad[i].why);
		assert_int_equal(seen.answered, 0);
		assert_int_equal(seen.released, 0);
		teardown(NULL);
		setup(NULL);
	}
}

static void test_header_that_cannot_be_closes_the_server(void **state)
{
	(void)state;
	asked();
	session_say(&house.s[0].stream, house.s_end[0], "D\0\0\0\1", 5);
	auth_query_input(&house.s[0]);
	assert_string_equal(seen.server_closed, "bad pkt header");
}

static void test_server_that_hangs_up_is_closed(void **state)
{
	(void)state;
	asked();
	shutdown(house.s_end[0], SHUT_RDWR);
	house.s[0].stream.ready = true;
	auth_query_input(&house.s[0]);
	assert_string_equal(seen.server_closed, "server conn crashed?");
}

static void test_want_of_memory_closes_the_server(void **state)
{
	unsigned long n = 0, made;

	(void)state;
	do {
		char bytes[SCRIPT_BYTES];
		const size_t len = script_write(PATH "S[TimeZone|UTC|]" ANN
		    END, bytes);

		mem_fail_at(++n);
		asked();
		for (size_t i = 0; i < 2 && seen.server_closed == NULL; i++) {
			const size_t half = i == 0 ? len - 10 : 10;

			session_say(&house.s[0].stream, house.s_end[0],
			    bytes + (i == 0 ? 0 : len - 10), half);
			auth_query_input(&house.s[0]);
		}
		made = mem_fail_at(0);
		if (made >= n)
			assert_memory_equal(seen.server_closed, "no memory", 9);
		else
			assert_int_equal(seen.answered, 1);
		teardown(NULL);
		setup(NULL);
	} while (made >= n);
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_it_takes_an_auth_user),
		TEST(test_console_is_asked_elsewhere_only),
		TEST(test_login_waits_in_the_pool_of_the_auth_user),
		TEST(test_database_that_cannot_be_asked_is_an_error),
		TEST(test_query_gets_the_name_as_a_parameter),
		TEST(test_query_of_the_database_goes_first),
		TEST(test_answer_counts_as_long_as_the_question_is_the_same),
		TEST(test_row_is_the_secret_and_the_server_is_given_back),
		TEST(test_no_row_is_an_answer),
		TEST(test_last_row_counts),
		TEST(test_secret_that_is_null_is_none),
		TEST(test_answer_may_come_byte_by_byte),
		TEST(test_parameters_are_the_servers),
		TEST(test_what_is_no_answer_closes_the_server),
		TEST(test_header_that_cannot_be_closes_the_server),
		TEST(test_server_that_hangs_up_is_closed),
		TEST(test_want_of_memory_closes_the_server),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
