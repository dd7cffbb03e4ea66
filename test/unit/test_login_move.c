/* test_login_move.c - a login goes on at the worker that has the database.
 * SPDX-License-Identifier: ISC */
#include "login_test.h"

#include "login/login_move.h"
#include "login/login_shape.h"
#include "pool/lobby.h"
#include "session/roam.h"

#define ASKED "R\0\0\0\10\0\0\0\3"	/* AuthenticationCleartextPassword */
#define CANCEL "\0\0\0\20\4\322\26\56" "123"	/* and the worker's byte */

static struct {
	struct client *c;		/* in the mail */
	unsigned to;
	bool full;
	struct lobby lobbies[256];	/* of the others */
	unsigned calls;
	atomic_uint clients, requests;	/* of all */
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

static bool takes(void *app, unsigned worker)
{
	(void)app;
	(void)worker;
	return !mail.full;
}

static void note_call(void *arg)
{
	(void)arg;
	mail.calls++;
}

/* We are worker 0, and the database is another's. */
static int setup(void **state)
{
	int rc = login_setup(state);
	struct catalog *const c = st.ss.catalog;

	memset(&mail, 0, sizeof mail);
	for (c->part.count = 3; catalog_home(c, "shop") == 0;)
		c->part.count++;
	st.ss.others = c->part.count - 1;
	st.ss.client_ops.may_send = may_send;
	st.ss.client_ops.send = send_off;
	st.ss.client_ops.takes = takes;
	c->part.clients = &mail.clients;
	c->part.requests = &mail.requests;
	for (unsigned i = 0; i < st.ss.others; i++)
		lobby_share(&st.ss.lobby, &mail.lobbies[i]);
	return rc;
}

/* A guest keeps its place on the way. */
static void assert_gone(unsigned guests)
{
	assert_int_equal(st.ss.logins, 0);
	assert_int_equal(st.ss.catalog->clients, 0);
	assert_int_equal(mail.clients, guests);
	assert_int_equal(st.ss.lobby.guests, 0);
	assert_int_equal(st.ss.lobby.count, guests);
	assert_null(st.ss.login_list.head);
}

/* It is the same sessions' here, as if they had the database. */
static void arrive(void)
{
	struct client *const c = mail.c;

	mail.c = NULL;
	/* from here on that is the other one's */
	assert_true(lobby_send(&st.ss.lobby, &c->login->guest, 0));
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
	assert_gone(1);
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
	assert_gone(0);
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
	assert_null(mail.c);	/* it would be asked for over and over */
	login_queue_tick(&st.ss.login_queue);
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
	login_queue_tick(&st.ss.login_queue);
	login_turns();
	assert_null(mail.c);
	assert_gone(0);
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
	mail.clients = 7;
	stranger("");
	STARTS(0, ANN);
	assert_null(mail.c);
	assert_true(guest_is_refused(0, "08P01",
	    "no more connections allowed (max_client_conn)"));
}

/* Whatever worker is asked: they are all at the first one. */
static void test_requests_to_peers_take_no_room(void **state)
{
	(void)state;
	st.set->max_client_conn = 7;
	mail.clients = 9;
	mail.requests = 3;
	st.ss.worker = 1 + (catalog_home(st.ss.catalog, "shop") == 1);
	stranger("");
	STARTS(0, ANN);
	assert_non_null(mail.c);
	st.ss.worker = 0;
	arrive();
	GUEST_HEARD(0, ASKED);
	stranger("");
	STARTS(1, ANN);
	assert_true(guest_is_refused(1, "08P01",
	    "no more connections allowed (max_client_conn)"));
}

static void test_time_that_is_used_up_travels(void **state)
{
	struct client *const c = stranger("");
	const usec_t since = c->timer.since - 5 * USEC;

	(void)state;
	c->timer.since = since;
	STARTS(0, ANN);
	assert_non_null(mail.c);
	stranger("");
	arrive();
	assert_int_equal(c->timer.since, since);
	assert_ptr_equal(c->timer.list, &st.ss.login_list);
	assert_int_equal(st.ss.login_list.count, 2);
}

/* --- dealt at accept --- */

static void test_stranger_goes_where_there_are_fewest(void **state)
{
	struct client *const first = stranger("10.0.0.1"), *second;

	(void)state;
	/* none anywhere; then one here, none there */
	assert_false(login_deal(first));
	second = stranger("10.0.0.1");
	assert_true(login_deal(second));
	assert_ptr_equal(mail.c, second);
	assert_int_equal(mail.to, 1);
	assert_int_equal(st.ss.lobby.guests, 1);
	assert_int_equal(mail.lobbies[0].guests, 1);
	arrive();
	/* from there it goes on to its database */
	STARTS(1, ANN);
	assert_ptr_equal(mail.c, second);
	assert_int_equal(mail.to, catalog_home(st.ss.catalog, "shop"));
	arrive();
	GUEST_HEARD(1, ASKED);
	guest_password(1, "secret");
	assert_ptr_equal(st.admitted, second);
	assert_int_equal(st.ss.lobby.count, 1);
}

static void test_nobody_is_dealt_to_one_that_takes_none(void **state)
{
	(void)state;
	stranger("");
	mail.full = true;
	assert_false(login_deal(stranger("")));
	mail.full = false;
	st.c[1]->has_reserve_fd = true;
	assert_false(login_deal(st.c[1]));
	st.c[1]->has_reserve_fd = false;
	assert_null(mail.c);
}

static void test_console_is_never_too_far(void **state)
{
	(void)state;
	st.set->auth_type = AUTH_TRUST;
	st.set->max_client_conn = 7;
	mail.clients = 7;
	/* we are another worker now, and full */
	st.ss.worker = 1;
	stranger("");
	STARTS(0, "user\0ann\0database\0pgbouncer\0");
	assert_non_null(mail.c);
	assert_int_equal(mail.to, 0);
	st.ss.worker = 0;
	arrive();
	assert_non_null(st.admitted);
}

static void test_who_is_expelled_on_the_way_is_told_so(void **state)
{
	struct lobby_guest other = { 0 }, here = { 0 };
	const struct net_addr from = { .family = NET_UNIX };

	(void)state;
	assert_int_equal(lobby_enter(&st.ss.lobby, &here, &from), 0);
	assert_true(login_deal(stranger("")));
	lobby_leave(&st.ss.lobby, &here);
	assert_int_equal(lobby_enter(&mail.lobbies[1], &other, &from), 0);
	assert_null(lobby_surplus(&mail.lobbies[1], &other, 1));
	assert_int_equal(lobby_leaving(&st.ss.lobby), 1);
	struct client *const c = mail.c;

	mail.c = NULL;
	c->login->guest.lobby = &st.ss.lobby;
	login_arrive(&st.ss, c);
	assert_null(st.c[0]);
	assert_int_equal(lobby_leaving(&st.ss.lobby), 0);
	lobby_leave(&mail.lobbies[1], &other);
	assert_gone(0);
	assert_true(guest_is_refused(0, "08P01",
	    "no more connections allowed (max_unauthenticated)"));
}

static void test_who_is_expelled_does_not_get_in(void **state)
{
	struct lobby_guest other = { 0 };
	const struct net_addr from = { .family = NET_UNIX };

	(void)state;
	st.set->auth_type = AUTH_TRUST;
	lobby_on_call(&st.ss.lobby, note_call, NULL);
	stranger("");
	assert_int_equal(lobby_enter(&mail.lobbies[1], &other, &from), 0);
	assert_null(lobby_surplus(&mail.lobbies[1], &other, 1));
	assert_int_equal(mail.calls, 1);
	/* it was faster than the call */
	st.c[0]->login->arrived = true;
	STARTS(0, ANN);
	assert_null(st.admitted);
	assert_null(st.c[0]);
	login_expel(&st.ss);
	lobby_leave(&mail.lobbies[1], &other);
	assert_gone(0);
}

static void test_who_is_expelled_is_not_told_what_was_right(void **state)
{
	struct lobby_guest other = { 0 };
	const struct net_addr from = { .family = NET_UNIX };

	(void)state;
	st.set->auth_type = AUTH_TRUST;
	lobby_on_call(&st.ss.lobby, note_call, NULL);
	stranger("");
	assert_int_equal(lobby_enter(&mail.lobbies[1], &other, &from), 0);
	assert_null(lobby_surplus(&mail.lobbies[1], &other, 1));
	st.c[0]->login->arrived = true;
	/* a database that there is not is told to who has had the password */
	STARTS(0, "user\0ann\0database\0none\0");
	assert_null(st.c[0]);
	assert_int_equal(st.ss.tally.limits_hit[TALLY_max_unauthenticated][0],
	    1);
	lobby_leave(&mail.lobbies[1], &other);
	assert_gone(0);
}

static void test_who_is_expelled_is_closed_when_called(void **state)
{
	struct lobby_guest other = { 0 };
	const struct net_addr from = { .family = NET_UNIX };

	(void)state;
	lobby_on_call(&st.ss.lobby, note_call, NULL);
	stranger("");
	assert_int_equal(lobby_enter(&mail.lobbies[1], &other, &from), 0);
	assert_null(lobby_surplus(&mail.lobbies[1], &other, 1));
	assert_non_null(st.c[0]);
	login_expel(&st.ss);
	assert_null(st.c[0]);
	lobby_leave(&mail.lobbies[1], &other);
	assert_gone(0);
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

/* Where it is by now, whatever worker gave the key; again if that is not true any more. */
static void test_who_has_moved_is_found(void **state)
{
	struct client owner = { .ss = &st.ss };

	(void)state;
	memcpy(owner.key, "123\1" "5678", CLIENT_KEY_BYTES);
	roam_share(&st.ss, NULL);
	assert_int_equal(roam_begin(&owner), 0);
	owner.roamer->worker = 2;
	stranger("");
	guest_says(0, CANCEL "\1" "5678", 16);
	assert_int_equal(mail.to, 2);
	owner.roamer->worker = 1;
	arrive();
	assert_int_equal(mail.to, 1);
	owner.roamer->worker = 0;
	arrive();
	assert_int_equal(st.canceled, 1);
	roam_end(&owner);
	st.ss.roaming = NULL;
}

/* It is in the mail of the worker that has the request. */
static void test_who_moves_just_now_is_waited_for(void **state)
{
	struct client owner = { .ss = &st.ss };

	(void)state;
	memcpy(owner.key, "123\1" "5678", CLIENT_KEY_BYTES);
	roam_share(&st.ss, NULL);
	assert_int_equal(roam_begin(&owner), 0);
	owner.roamer->worker = 0;
	owner.roamer->is_mailed = true;
	stranger("");
	guest_says(0, CANCEL "\1" "5678", 16);
	assert_int_equal(mail.to, 0);
	arrive();
	assert_non_null(mail.c);
	roam_arrive(&owner);
	arrive();
	assert_null(mail.c);
	assert_int_equal(st.canceled, 1);
	roam_end(&owner);
	st.ss.roaming = NULL;
}

/* --- auth_query of another worker --- */

/* Else a name that exists could be told by who looks the same everywhere. */
static void test_unknown_names_look_alike_at_all_workers(void **state)
{
	static struct sessions first;
	struct client *const c = stranger("");

	(void)state;
	st.can_ask = true;
	STARTS(0, "user\0ann\0database\0shop\0");
	arrive();
	first.others = st.ss.others;
	first.own_lookups.shape = MOCK_SHAPE_SERVER;
	login_shape_share(&first, NULL);
	login_shape_share(&st.ss, &first);
	assert_true(login_shape(c)->scram);
	login_shape_learn(&first, "md50123456789abcdef0123456789abcdef");
	assert_false(login_shape(c)->scram);
	login_shape_learn(&st.ss, "md50123456789abcdef0123456789abcdef");
	login_shape_learn(&first, "plain");
	assert_false(login_shape(c)->scram);
}

/* bob has come to worker 0, where his database is; worker 3 is to be asked. */
static struct client *ask(void)
{
	struct client *const c = stranger("");

	st.can_ask = true;
	st.ask_at = 3;
	STARTS(0, "user\0bob\0database\0shop\0timezone\0Mars\0");
	arrive();
	return c;
}

static void assert_at_home(const struct client *c)
{
	assert_int_equal(mail.to, 0);
	assert_ptr_equal(mail.c, c);
	st.ss.worker = 0;
	arrive();
}

static void answer(struct client *c, const char *secret)
{
	struct auth_query *const q = c->role->query(c);

	if (secret != NULL) {
		q->found = credentials_new(secret);
		q->name = mem_strdup("bob");
	}
	q->answered(c);
	login_turns();
}

static void test_client_asks_where_the_pool_is(void **state)
{
	struct client *const c = ask();

	(void)state;
	assert_int_equal(mail.to, 3);
	assert_int_equal(st.asked, 0);
	assert_gone(1);
	assert_int_equal(catalog_find_database(st.ss.catalog, "shop")->clients,
	    0);
	st.ss.worker = 3;
	guest_password(0, "theirs");
	arrive();
	assert_int_equal(st.asked, 1);
	assert_null(c->db);
	answer(c, "theirs");
	assert_null(st.admitted);
	assert_at_home(c);
	assert_ptr_equal(st.admitted, c);
	assert_string_equal(c->user->name, "bob");
	assert_string_equal(params_get(c->params, params_find(st.ss.params,
	    "TimeZone")), "Mars");
	assert_int_equal(c->db->clients, 1);
	assert_int_equal(c->db->logins, 0);
}

static void test_question_may_be_another_when_it_comes_back(void **state)
{
	struct client *const c = ask();

	(void)state;
	guest_password(0, "new");
	st.ss.worker = 3;
	arrive();
	answer(c, "old");
	st.asks_otherwise = true;
	assert_at_home(c);
	assert_null(st.admitted);
	assert_int_equal(mail.to, 3);
	st.ss.worker = 3;
	arrive();
	assert_int_equal(st.asked, 2);
	answer(c, "new");
	st.asks_otherwise = false;
	assert_at_home(c);
	assert_ptr_equal(st.admitted, c);
	assert_int_equal(c->db->clients, 1);
}

static void test_database_may_be_gone_when_it_comes_back(void **state)
{
	struct client *const c = ask();

	(void)state;
	st.ss.worker = 3;
	arrive();
	answer(c, "theirs");
	memcpy(c->login->db_name, "gone", 5);
	assert_at_home(c);
	assert_true(guest_is_refused(0, "08P01", "database removed"));
}

static void test_who_leaves_where_it_asks_is_forgotten(void **state)
{
	(void)state;
	ask();
	st.ss.worker = 3;
	arrive();
	shutdown(st.end[0], SHUT_RDWR);
	login_turns();
	assert_null(st.c[0]);
	assert_gone(0);
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
		CASE(test_requests_to_peers_take_no_room),
		CASE(test_time_that_is_used_up_travels),
		CASE(test_stranger_goes_where_there_are_fewest),
		CASE(test_nobody_is_dealt_to_one_that_takes_none),
		CASE(test_console_is_never_too_far),
		CASE(test_who_is_expelled_on_the_way_is_told_so),
		CASE(test_who_is_expelled_does_not_get_in),
		CASE(test_who_is_expelled_is_not_told_what_was_right),
		CASE(test_who_is_expelled_is_closed_when_called),
		CASE(test_cancel_request_goes_by_its_key),
		CASE(test_key_of_no_worker_stays),
		CASE(test_unknown_names_look_alike_at_all_workers),
		CASE(test_client_asks_where_the_pool_is),
		CASE(test_question_may_be_another_when_it_comes_back),
		CASE(test_database_may_be_gone_when_it_comes_back),
		CASE(test_who_leaves_where_it_asks_is_forgotten),
		CASE(test_key_of_no_peer_goes_by_its_worker),
		CASE(test_key_of_another_process_is_known),
		CASE(test_who_has_moved_is_found),
		CASE(test_who_moves_just_now_is_waited_for),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, login_load, login_unload);
}
