/* test_login.c - how a client gets in: the messages, their order, the end.
 * SPDX-License-Identifier: ISC */
#include "login_test.h"

#define SSL_REQUEST "\0\0\0\10\4\322\26\57"
#define GSS_REQUEST "\0\0\0\10\4\322\26\60"
#define CANCEL_REQUEST "\0\0\0\20\4\322\26\56" "12345678"
#define V2_STARTUP "\0\0\0\10\0\2\0\0"
#define ASKED "R\0\0\0\10\0\0\0\3"	/* AuthenticationCleartextPassword */
#define FAILED "password authentication failed"
#define SAYS(text) guest_says(0, text, sizeof(text) - 1)

/* --- the way in --- */

static void test_right_password_lets_in_and_leaves_the_login(void **state)
{
	struct client *c = stranger("10.0.0.1");

	(void)state;
	STARTS(0, ANN);
	GUEST_HEARD(0, ASKED);
	assert_int_equal(st.ss.logins, 1);
	guest_password(0, "secret");
	assert_ptr_equal(st.admitted, c);
	assert_string_equal(st.role->name, "relay");
	assert_int_equal(c->pc.state, CLIENT_ACTIVE);
	assert_string_equal(c->pc.pool->key.db->name, "shop");
	assert_string_equal(c->pc.pool->key.user->name, "ann");
	assert_null(c->login);
	assert_int_equal(st.ss.logins, 0);
	assert_int_equal(c->db->logins, 0);
	assert_int_equal(c->user->logins, 0);
	assert_int_equal(c->pc.pool->counted.now.client_login_count, 1);
	assert_null(st.ss.login_list.head);
}

static void test_wrong_password_is_refused(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, ANN);
	GUEST_HEARD(0, ASKED);
	guest_password(0, "guess");
	assert_true(guest_is_refused(0, "28P01", FAILED));
	assert_null(st.admitted);
	assert_string_equal(st.closed, FAILED ";");
}

static void test_message_may_come_byte_by_byte(void **state)
{
	static const char hello[] = "\0\0\0\33\0\3\0\0user\0ann\0user\0ann\0";

	(void)state;
	st.set->auth_type = AUTH_TRUST;
	stranger("");
	for (size_t i = 0; i < sizeof hello; i++)
		guest_says(0, hello + i, 1);
	assert_true(guest_is_refused(0, "08P01", "no such database: ann"));
}

static void test_trusted_user_is_let_in_by_the_startup(void **state)
{
	(void)state;
	st.set->auth_type = AUTH_TRUST;
	stranger("");
	STARTS(0, ANN "application_name\0psql\0");
	assert_non_null(st.admitted);
	assert_int_equal(st.first_len, 0);
	assert_string_equal(params_get(st.c[0]->params,
	    PARAMS_APPLICATION_NAME), "psql");
}

static void test_what_comes_behind_the_password_waits_for_the_role(
    void **state)
{
	static const char both[] = "p\0\0\0\13secret\0Q\0\0\0\5";

	(void)state;
	stranger("");
	STARTS(0, ANN);
	guest_says(0, both, sizeof both);
	assert_non_null(st.admitted);
	assert_int_equal(st.c[0]->carry.len, 6);
	assert_memory_equal(st.c[0]->carry.at, "Q\0\0\0\5", 6);
}

static void test_role_follows_from_what_is_asked_for(void **state)
{
	(void)state;
	st.set->auth_type = AUTH_TRUST;
	stranger("");
	STARTS(0, ANN "replication\0database\0");
	assert_string_equal(st.role->name, "replication");
	stranger("");
	STARTS(1, "user\0ann\0database\0pgbouncer\0");
	assert_string_equal(st.role->name, "console");
	assert_true(st.admitted->admin);
}

/* --- who is refused --- */

static void test_unknown_name_is_told_as_a_wrong_password_is(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, "user\0bob\0database\0shop\0");
	GUEST_HEARD(0, ASKED);
	guest_password(0, "secret");
	assert_true(guest_is_refused(0, "28P01", FAILED));
}

static void test_unknown_database_is_told_who_has_proved_who_it_is(
    void **state)
{
	(void)state;
	stranger("");
	STARTS(0, "user\0ann\0database\0other\0");
	GUEST_HEARD(0, ASKED);
	guest_password(0, "secret");
	assert_true(guest_is_refused(0, "08P01", "no such database: other"));
}

static void test_disabled_database_lets_nobody_in(void **state)
{
	(void)state;
	st.set->auth_type = AUTH_TRUST;
	catalog_find_database(st.ss.catalog, "shop")->disabled = true;
	stranger("");
	STARTS(0, ANN);
	assert_true(guest_is_refused(0, "08P01",
	    "database \"shop\" is disabled"));
}

static void test_client_too_many_is_refused_before_it_proves_anything(
    void **state)
{
	(void)state;
	st.set->max_client_conn = 1;
	st.set->auth_type = AUTH_TRUST;
	stranger("");
	STARTS(0, ANN);
	stranger("");
	STARTS(1, ANN);
	assert_true(guest_is_refused(1, "08P01",
	    "no more connections allowed (max_client_conn)"));
	stranger("");		/* the console is for those times, too */
	STARTS(2, "user\0ann\0database\0pgbouncer\0");
	assert_ptr_equal(st.admitted, st.c[2]);
}

static void test_limit_of_a_database_counts_those_that_are_in(void **state)
{
	(void)state;
	st.set->max_db_client_connections = 1;
	stranger("");
	STARTS(0, ANN);
	stranger("");
	STARTS(1, ANN);
	guest_password(1, "secret");	/* the other one is a stranger still */
	assert_ptr_equal(st.admitted, st.c[1]);
	GUEST_HEARD(0, ASKED);
	guest_password(0, "secret");
	size_t n;
	const char *got = guest_heard(0, &n);

	assert_non_null(memmem(got, n, "(max_db_client_connections)", 27));
}

static void test_bad_startup_is_refused(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, "database\0shop\0");
	assert_true(guest_is_refused(0, "28000", "no username supplied"));
	stranger("");
	STARTS(1, ANN "no_such\0value\0");
	assert_true(guest_is_refused(1, "08P01",
	    "unsupported startup parameter: no_such"));
}

/* --- before the startup, and out of turn --- */

static void test_encryption_that_there_is_not_is_declined(void **state)
{
	(void)state;
	stranger("");
	SAYS(SSL_REQUEST);
	GUEST_HEARD(0, "N");
	SAYS(GSS_REQUEST);
	GUEST_HEARD(0, "N");
	STARTS(0, ANN);
	GUEST_HEARD(0, ASKED);
}

static void test_bytes_behind_an_ssl_request_are_refused(void **state)
{
	(void)state;
	stranger("");
	SAYS(SSL_REQUEST "x");
	assert_true(guest_is_refused(0, "08P01",
	    "received unencrypted data after SSL request"));
}

static void test_tls_is_required_where_the_settings_say_so(void **state)
{
	(void)state;
	st.tls.client_mode = SSLMODE_REQUIRE;
	stranger("10.0.0.1");
	STARTS(0, ANN);
	assert_true(guest_is_refused(0, "28000", "SSL required"));
	stranger("");		/* nobody listens on a Unix socket */
	STARTS(1, ANN);
	GUEST_HEARD(1, ASKED);
}

static void test_cancel_request_is_handed_over(void **state)
{
	(void)state;
	stranger("");
	SAYS(CANCEL_REQUEST);
	assert_int_equal(st.canceled, 1);
}

static void test_what_is_out_of_turn_ends_the_login(void **state)
{
	static const struct {
		const char *first;
		size_t len;
		const char *why;
	} bad[] = {
		{ V2_STARTUP, 8, "old V2 protocol not supported" },
		{ "p\0\0\0\5", 6,
		    "client password pkt before startup packet" },
		{ "Q\0\0\0\5", 6, "bad packet" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
		st.closed[0] = '\0';
		stranger("");
		guest_says(i, bad[i].first, bad[i].len);
		assert_memory_equal(st.closed, bad[i].why,
		    strlen(bad[i].why));
	}
	st.closed[0] = '\0';
	stranger("");
	STARTS(3, ANN);
	STARTS(3, ANN);
	assert_string_equal(st.closed, "client re-sent startup pkt;");
	st.closed[0] = '\0';
	stranger("");
	STARTS(4, ANN);
	guest_says(4, "Q\0\0\0\5", 6);
	assert_string_equal(st.closed, "bad packet;");
}

static void test_client_that_hangs_up_amid_its_login_is_closed(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, ANN);
	assert_int_equal(shutdown(st.end[0], SHUT_RDWR), 0);
	login_turns();
	assert_string_equal(st.closed, "client unexpected eof;");
}

/* --- auth_query --- */

/* bob, whom a server shall know. */
static struct client *ask(void)
{
	struct client *c = stranger("");

	st.can_ask = true;
	STARTS(0, "user\0bob\0database\0shop\0");
	return c;
}

static void answer(struct client *c, const char *secret)
{
	struct auth_query *const q = c->role->query(c);

	if (secret != NULL) {
		q->found = credentials_new(secret);
		q->name = mem_strdup("bob");
		assert_non_null(q->name);
	}
	q->answered(c);
	login_turns();
}

static void test_who_is_asked_for_is_let_in_by_the_answer(void **state)
{
	struct client *c = ask();

	(void)state;
	assert_int_equal(st.asked, 1);
	assert_string_equal(c->role->query(c)->user, "bob");
	GUEST_HEARD(0, "");
	answer(c, "theirs");
	GUEST_HEARD(0, ASKED);
	guest_password(0, "theirs");
	assert_ptr_equal(st.admitted, c);
	assert_string_equal(c->user->name, "bob");
	assert_string_equal(c->pc.pool->credentials->secret, "theirs");
}

static void test_who_is_not_found_learns_no_more(void **state)
{
	struct client *c = ask();

	(void)state;
	answer(c, NULL);
	GUEST_HEARD(0, ASKED);
	guest_password(0, "theirs");
	assert_true(guest_is_refused(0, "28P01", FAILED));
}

static void test_answer_to_another_question_is_none(void **state)
{
	struct client *c = ask();

	(void)state;
	st.asks_otherwise = true;
	answer(c, "old");
	assert_int_equal(st.asked, 2);
	GUEST_HEARD(0, "");
	st.asks_otherwise = false;
	answer(c, "new");
	GUEST_HEARD(0, ASKED);
	guest_password(0, "new");
	assert_ptr_equal(st.admitted, c);
	assert_string_equal(c->pc.pool->credentials->secret, "new");
}

static void test_question_that_keeps_changing_is_given_up(void **state)
{
	struct client *c = ask();

	(void)state;
	st.asks_otherwise = true;
	for (unsigned n = 1; n <= 3; n++) {
		assert_int_equal(st.asked, n);
		answer(c, "theirs");
	}
	assert_true(guest_is_refused(0, "57P03",
	    "settings of authentication keep changing"));
}

static void test_answer_that_nobody_may_ask_for_now_is_none(void **state)
{
	struct client *c = ask();

	(void)state;
	st.can_ask = false;
	answer(c, "theirs");
	assert_int_equal(st.asked, 1);
	GUEST_HEARD(0, ASKED);
	guest_password(0, "theirs");
	assert_true(guest_is_refused(0, "28P01", FAILED));
}

static void test_question_may_change_during_the_exchange(void **state)
{
	struct client *c = ask();

	(void)state;
	answer(c, "theirs");
	GUEST_HEARD(0, ASKED);
	st.asks_otherwise = true;
	guest_password(0, "theirs");
	assert_true(guest_is_refused(0, "28P01", FAILED));
}

static void test_hasty_client_is_read_when_the_answer_is_here(void **state)
{
	struct client *c = ask();

	(void)state;
	guest_password(0, "theirs");
	assert_null(st.admitted);
	answer(c, "theirs");
	assert_ptr_equal(st.admitted, c);
}

static void test_question_that_cannot_be_asked_refuses(void **state)
{
	(void)state;
	st.ask_fails = true;
	ask();
	assert_true(guest_is_refused(0, "08P01", "bouncer config error"));
	assert_int_equal(st.left, 1);
}

/* --- want of memory --- */

static void test_want_of_memory_refuses_and_leaves_nothing(void **state)
{
	unsigned long n = 0, made;

	do {
		mem_fail_at(++n);
		struct client *c = stranger("10.0.0.1");

		if (c != NULL) {
			STARTS(0, ANN "application_name\0psql\0_pq_.x\0y\0");
			if (st.c[0] != NULL)
				guest_password(0, "secret");
		}
		made = mem_fail_at(0);
		if (made < n)
			assert_ptr_equal(st.admitted, c);
		assert_int_equal(login_teardown(state), 0);
		assert_int_equal(login_setup(state), 0);
	} while (made >= n);
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOGIN_TEST(test_right_password_lets_in_and_leaves_the_login),
		LOGIN_TEST(test_wrong_password_is_refused),
		LOGIN_TEST(test_message_may_come_byte_by_byte),
		LOGIN_TEST(test_trusted_user_is_let_in_by_the_startup),
		LOGIN_TEST(test_what_comes_behind_the_password_waits_for_the_role),
		LOGIN_TEST(test_role_follows_from_what_is_asked_for),
		LOGIN_TEST(test_unknown_name_is_told_as_a_wrong_password_is),
		LOGIN_TEST(test_unknown_database_is_told_who_has_proved_who_it_is),
		LOGIN_TEST(test_disabled_database_lets_nobody_in),
		LOGIN_TEST(test_client_too_many_is_refused_before_it_proves_anything),
		LOGIN_TEST(test_limit_of_a_database_counts_those_that_are_in),
		LOGIN_TEST(test_bad_startup_is_refused),
		LOGIN_TEST(test_encryption_that_there_is_not_is_declined),
		LOGIN_TEST(test_bytes_behind_an_ssl_request_are_refused),
		LOGIN_TEST(test_tls_is_required_where_the_settings_say_so),
		LOGIN_TEST(test_cancel_request_is_handed_over),
		LOGIN_TEST(test_what_is_out_of_turn_ends_the_login),
		LOGIN_TEST(test_client_that_hangs_up_amid_its_login_is_closed),
		LOGIN_TEST(test_who_is_asked_for_is_let_in_by_the_answer),
		LOGIN_TEST(test_who_is_not_found_learns_no_more),
		LOGIN_TEST(test_answer_to_another_question_is_none),
		LOGIN_TEST(test_question_that_keeps_changing_is_given_up),
		LOGIN_TEST(test_answer_that_nobody_may_ask_for_now_is_none),
		LOGIN_TEST(test_question_may_change_during_the_exchange),
		LOGIN_TEST(test_hasty_client_is_read_when_the_answer_is_here),
		LOGIN_TEST(test_question_that_cannot_be_asked_refuses),
		LOGIN_TEST(test_want_of_memory_refuses_and_leaves_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, login_load, login_unload);
}
