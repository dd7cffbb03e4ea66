/* test_cancel.c - whose query a request is for, and who else gets nothing.
 * SPDX-License-Identifier: ISC */
#include "session_test.h"

#include "base/err.h"
#include "broker/cancel.h"
#include "broker/canceler.h"
#include "login/peer.h"

/* --- the neighbours, who take notes --- */

static struct {
	struct client *owner;		/* of the key */
	const struct pool *pool;	/* in which the request waits */
	struct cancel_request request;
	const char *told;		/* why it ended */
	bool forwarded, has_room, to_peer, to_target;
} seen;

struct client *client_find(struct sessions *ss, const uint8_t *key,
    size_t len)
{
	(void)ss;
	(void)key;
	(void)len;
	return seen.owner;
}

void client_close(struct client *c, enum close_reason reason)
{
	(void)c;
	seen.told = close_reason_text(reason);
}

int canceler_enqueue(struct client *c, struct pool *p,
    const struct cancel_request *r)
{
	(void)c;
	seen.pool = p;
	seen.request = *r;
	return 0;
}

int canceler_want(struct server *target)
{
	(void)target;
	return seen.has_room ? 0 : -1;
}

void canceler_connected(struct server *canceler)
{
	(void)canceler;
	seen.to_target = true;
}

void peer_connected(struct server *canceler)
{
	(void)canceler;
	seen.to_peer = true;
}

void peer_forward(struct client *c, const uint8_t *key, size_t len)
{
	(void)c;
	(void)key;
	(void)len;
	seen.forwarded = true;
}

static enum close_reason give_up(struct client *c)
{
	return c->pc.state == CLIENT_WAITING ? CLOSE_CANCEL_WAITING_CLIENT :
	    CLOSE_NONE;
}

/* --- tests --- */

static int setup(void **state)
{
	memset(&seen, 0, sizeof seen);
	if (session_setup(state) < 0)
		return -1;
	house.role.cancel = give_up;
	return 0;
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, session_teardown)

static struct client *request(void)
{
	static const uint8_t key[CLIENT_KEY_BYTES] = { 7 };
	struct client *c = session_client(CLIENT_LOGIN);

	cancel_request(c, key, sizeof key);
	return c;
}

static struct server *serve(void)
{
	struct server *s = session_server(SERVER_IDLE);

	session_link(seen.owner, s);
	return s;
}

static void test_request_is_bound_to_the_server_of_the_query(void **state)
{
	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	struct server *s = serve();

	(void)request();
	assert_ptr_equal(seen.request.target, s);
	assert_ptr_equal(seen.pool, &house.pool);
	assert_null(seen.told);
}

static void test_unknown_key_hits_nobody(void **state)
{
	(void)state;
	request();
	assert_string_equal(seen.told, "bad cancel request");
	assert_null(seen.pool);
	assert_false(seen.forwarded);
}

static void test_key_of_a_peer_is_passed_on(void **state)
{
	(void)state;
	house.config.set.peer_id = 3;
	request();
	assert_true(seen.forwarded);
	assert_null(seen.told);
}

static void test_idle_client_has_nothing_to_cancel(void **state)
{
	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	request();
	assert_string_equal(seen.told, "cancel request for idle client");
}

static void test_client_that_waits_gives_up_by_itself(void **state)
{
	(void)state;
	seen.owner = session_client(CLIENT_WAITING);
	request();
	assert_string_equal(seen.told, "cancel request for waiting client");
	assert_null(seen.pool);
}

static void test_what_we_ask_a_server_ourselves_is_not_hit(void **state)
{
	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	serve()->own_query = OWN_QUERY_PARAMS;
	request();
	assert_string_equal(seen.told, "ignoring cancel request for server "
	    "that is setting vars");
}

static void test_query_behind_the_parameters_is_hit_when_it_runs(void **state)
{
	struct err e;

	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	struct server *s = serve();

	seen.owner->carry.len = 5;
	seen.has_room = true;
	s->own_query = OWN_QUERY_PROBE;
	request();
	assert_null(seen.request.target);
	s->own_query = OWN_QUERY_PARAMS;
	request();
	assert_ptr_equal(seen.request.target, s);
	/* the console does not wait for it */
	assert_int_equal(cancel_by_admin(seen.owner, &e), -1);
	seen.owner->carry.len = 0;
}

static void test_server_without_a_key_cannot_be_asked(void **state)
{
	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	serve()->key_len = 0;
	request();
	assert_string_equal(seen.told, "bad cancel key");
}

static void test_console_is_told_what_became_of_its_wish(void **state)
{
	struct err e;

	(void)state;
	seen.owner = session_client(CLIENT_ACTIVE);
	assert_int_equal(cancel_by_admin(seen.owner, &e), -1);
	assert_string_equal(e.code, "08P01");
	serve();
	assert_int_equal(cancel_by_admin(seen.owner, &e), -1);
	assert_string_equal(e.code, "53300");
	seen.has_room = true;
	assert_int_equal(cancel_by_admin(seen.owner, &e), 0);
}

static void test_canceler_goes_on_for_a_peer_or_a_target(void **state)
{
	struct server *s = session_server(SERVER_ACTIVE_CANCEL);

	(void)state;
	cancel_connected(s);
	assert_true(seen.to_target && !seen.to_peer);
	house.pool.peer_id = 2;
	cancel_connected(s);
	assert_true(seen.to_peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request_is_bound_to_the_server_of_the_query),
		TEST(test_unknown_key_hits_nobody),
		TEST(test_key_of_a_peer_is_passed_on),
		TEST(test_idle_client_has_nothing_to_cancel),
		TEST(test_client_that_waits_gives_up_by_itself),
		TEST(test_what_we_ask_a_server_ourselves_is_not_hit),
		TEST(test_query_behind_the_parameters_is_hit_when_it_runs),
		TEST(test_server_without_a_key_cannot_be_asked),
		TEST(test_console_is_told_what_became_of_its_wish),
		TEST(test_canceler_goes_on_for_a_peer_or_a_target),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
