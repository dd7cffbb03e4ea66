/* test_login_move.c - a login goes on at the worker that has the database.
 * SPDX-License-Identifier: ISC */
#include "login_test.h"

#include "session/carried.h"
#include "session/login_move.h"

#define ASKED "R\0\0\0\10\0\0\0\3"	/* AuthenticationCleartextPassword */
#define CANCEL "\0\0\0\20\4\322\26\56" "123"	/* and the worker's byte */

static struct {
	struct client *c;		/* in the mail */
	unsigned to;
	bool full;
} mail;

static bool may_send(void *app, unsigned worker)
{
	(void)app;
	(void)worker;
	return !mail.full;
}

static void send_off(void *app, struct client *c, unsigned worker)
{
	(void)app;
	assert_null(mail.c);
	mail.c = c;
	mail.to = worker;
}

static unsigned elsewhere(void *app)
{
	(void)app;
	return 7;
}

/* We are worker 0, and the database is another's. */
static int setup(void **state)
{
	int rc = login_setup(state);
	struct catalog *const c = st.ss.catalog;

	memset(&mail, 0, sizeof mail);
	for (c->part.count = 2; catalog_home(c, "shop") == 0;)
		c->part.count++;
	st.ss.others = c->part.count - 1;
	st.ss.client_ops.may_send = may_send;
	st.ss.client_ops.send = send_off;
	st.ss.client_ops.elsewhere = elsewhere;
	return rc;
}

static void assert_gone(void)
{
	assert_int_equal(st.ss.logins, 0);
	assert_int_equal(st.ss.catalog->clients, 0);
	assert_int_equal(st.ss.lobby.count, 0);
	assert_null(st.ss.login_list.head);
}

/* It is the same sessions' here, as if they had the database. */
static void arrive(void)
{
	struct client *const c = mail.c;

	mail.c = NULL;
	login_arrive(&st.ss, c);
	login_turns();
}

static void test_client_goes_with_its_packet_unread(void **state)
{
	struct client *const c = stranger("10.0.0.1");

	(void)state;
	STARTS(0, ANN);
	assert_ptr_equal(mail.c, c);
	assert_int_equal(mail.to, catalog_home(st.ss.catalog, "shop"));
	assert_gone();
	GUEST_HEARD(0, "");
	arrive();
	GUEST_HEARD(0, ASKED);
	guest_password(0, "secret");
	assert_ptr_equal(st.admitted, c);
	assert_null(mail.c);
}

static void test_what_comes_on_the_way_is_read(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, ANN);
	assert_non_null(mail.c);
	guest_password(0, "secret");
	assert_null(st.admitted);
	arrive();
	assert_non_null(st.admitted);
}

static void test_who_hangs_up_on_the_way_is_noticed(void **state)
{
	(void)state;
	stranger("");
	STARTS(0, ANN);
	shutdown(st.end[0], SHUT_RDWR);
	arrive();
	assert_null(st.c[0]);
	assert_gone();
}

static void test_full_mailbox_is_waited_for(void **state)
{
	(void)state;
	mail.full = true;
	stranger("");
	STARTS(0, ANN);
	assert_null(mail.c);
	assert_int_equal(st.ss.logins, 1);
	mail.full = false;
	login_turns();
	assert_non_null(mail.c);
	arrive();
	GUEST_HEARD(0, ASKED);
}

static void test_who_leaves_meanwhile_is_not_sent(void **state)
{
	(void)state;
	mail.full = true;
	stranger("");
	STARTS(0, ANN);
	client_close(st.c[0], CLOSE_SHUTDOWN);
	mail.full = false;
	login_turns();
	assert_null(mail.c);
	assert_gone();
}

static void test_console_stays(void **state)
{
	(void)state;
	st.set->auth_type = AUTH_TRUST;
	stranger("");
	STARTS(0, "user\0ann\0database\0pgbouncer\0");
	assert_null(mail.c);
	assert_non_null(st.admitted);
}

static void test_room_is_that_of_all_workers(void **state)
{
	(void)state;
	st.set->max_client_conn = 7;
	stranger("");
	STARTS(0, ANN);
	assert_null(mail.c);
	assert_true(guest_is_refused(0, "08P01",
	    "no more connections allowed (max_client_conn)"));
}

static void test_cancel_request_goes_by_its_key(void **state)
{
	(void)state;
	stranger("");
	guest_says(0, CANCEL "\1" "5678", 16);
	assert_non_null(mail.c);
	assert_int_equal(mail.to, 1);
	assert_int_equal(st.canceled, 0);
	arrive();
	assert_int_equal(st.canceled, 1);
}

static void test_key_of_no_worker_stays(void **state)
{
	(void)state;
	stranger("");
	guest_says(0, CANCEL "\377" "5678", 16);
	assert_null(mail.c);
	assert_int_equal(st.canceled, 1);
}

/* Those that were given before there were peers look like any. */
static void test_key_of_no_peer_goes_by_its_worker(void **state)
{
	(void)state;
	st.set->peer_id = 7;
	stranger("");
	guest_says(0, CANCEL "\1" "5678", 16);
	assert_int_equal(mail.to, 1);
	arrive();
	assert_int_equal(st.canceled, 1);
}

/* Whatever worker of the other process it names; one that was passed on, too. */
static void test_key_of_another_process_is_known(void **state)
{
	struct carried *k = carried_new(2);

	(void)state;
	carried_add(k, (const uint8_t *)"123\1" "5678", 0);
	carried_add(k, (const uint8_t *)"abc\377" "5673", 1);
	st.ss.carried = k;
	stranger("");
	guest_says(0, CANCEL "\1" "5678", 16);
	assert_null(mail.c);
	assert_int_equal(st.canceled, 1);
	stranger("");
	guest_says(1, "\0\0\0\20\4\322\26\56" "abc\377" "5671", 16);
	assert_null(mail.c);
	assert_int_equal(st.canceled, 2);
	st.set->peer_id = 7;
	stranger("");
	guest_says(2, "\0\0\0\20\4\322\26\56" "abc\377" "5671", 16);
	assert_int_equal(mail.to, 1);
	arrive();
	assert_int_equal(st.canceled, 3);
	assert_int_equal(carried_find(k, (const uint8_t *)"12345678"), -1);
	st.ss.carried = NULL;
	carried_free(&k);
}

#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, login_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_client_goes_with_its_packet_unread),
		CASE(test_what_comes_on_the_way_is_read),
		CASE(test_who_hangs_up_on_the_way_is_noticed),
		CASE(test_full_mailbox_is_waited_for),
		CASE(test_who_leaves_meanwhile_is_not_sent),
		CASE(test_console_stays),
		CASE(test_room_is_that_of_all_workers),
		CASE(test_cancel_request_goes_by_its_key),
		CASE(test_key_of_no_worker_stays),
		CASE(test_key_of_no_peer_goes_by_its_worker),
		CASE(test_key_of_another_process_is_known),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, login_load, login_unload);
}
