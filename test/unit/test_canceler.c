/* test_canceler.c - requests, cancelers and their targets: no other is hit.
 * SPDX-License-Identifier: ISC */
#include "session_test.h"

#include "base/mem.h"
#include "broker/canceler.h"
#include "upstream/server_launch.h"

/* --- the neighbours, who take notes --- */

static struct {
	bool fails;		/* no canceler can be launched */
	unsigned launched;
	const char *client_closed[SESSION_CLIENTS];
	const char *server_closed[SESSION_SERVERS];
} seen;

struct server *server_launch_canceler(struct server *target)
{
	seen.launched++;
	if (seen.fails)
		return NULL;
	struct server *s = session_server(SERVER_ACTIVE_CANCEL);

	s->target = target;
	return s;
}

void server_close(struct server *s, enum close_reason reason)
{
	seen.server_closed[s - house.s] = close_reason_text(reason);
	pool_server_set(&s->ps, SERVER_GONE);
	(void)canceler_gone(s);
}

void client_close(struct client *c, enum close_reason reason)
{
	seen.client_closed[c - house.c] = close_reason_text(reason);
	c->role->leave(c);
	pool_client_set(&c->pc, CLIENT_LOGIN);
}

void client_become(struct client *c, const struct client_role *role)
{
	c->role = role;
}

/* --- tests --- */

static int setup(void **state)
{
	memset(&seen, 0, sizeof seen);
	return session_setup(state);
}

static int teardown(void **state)
{
	for (size_t i = 0; i < SESSION_CLIENTS; i++)
		mem_free(house.c[i].request);
	return session_teardown(state);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

/* One that runs the query of a client. */
static struct server *target(void)
{
	return session_server(SERVER_ACTIVE);
}

static struct client *request(struct server *t)
{
	struct client *c = session_client(CLIENT_LOGIN);

	assert_int_equal(canceler_enqueue(c, &house.pool,
	    &(struct cancel_request){ .target = t }), 0);
	return c;
}

static const char *end_of(const struct client *c)
{
	return seen.client_closed[c - house.c];
}

static const char *end_of_server(const struct server *s)
{
	return seen.server_closed[s - house.s];
}

static void test_one_canceler_serves_all_that_came_before(void **state)
{
	struct server *t = target();
	struct client *a = request(t), *b = request(t);

	(void)state;
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 1);
	canceler_connected(t->canceler);
	session_heard(house.s_end[1], "\0\0\0\x10\x04\xd2\x16\x2e"
	    "\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(a->pc.state, CLIENT_CANCEL_SENT);
	assert_int_equal(b->pc.state, CLIENT_CANCEL_SENT);
	assert_int_equal(t->ps.cancels, 1);
}

static void test_target_is_asked_when_its_own_query_is_done(void **state)
{
	struct server *t = target();

	(void)state;
	(void)request(t);
	t->own_query = OWN_QUERY_PARAMS;
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 0);
	t->own_query = OWN_QUERY_NONE;
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 1);
}

static void test_what_comes_later_waits_for_the_next_one(void **state)
{
	struct server *t = target();
	struct client *late;

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_connected(t->canceler);
	late = request(t);
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 1);
	assert_int_equal(late->pc.state, CLIENT_CANCEL_WAITING);
	server_close(t->canceler, CLOSE_SHUTDOWN);
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 2);
}

static void test_target_is_free_when_its_canceler_is_gone(void **state)
{
	struct server *t = target(), *canceler;
	struct client *c = request(t);

	(void)state;
	canceler_launch(&house.pool);
	canceler = t->canceler;
	canceler_connected(canceler);
	canceler_detach(t);
	pool_server_set(&t->ps, SERVER_BEING_CANCELED);
	assert_ptr_equal(canceler_gone(canceler), t);
	assert_int_equal(t->ps.cancels, 0);
	assert_null(t->canceler);
	assert_string_equal(end_of(c), "successfully sent cancel request");
}

static void test_target_that_still_serves_is_not_freed(void **state)
{
	struct server *t = target();

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_connected(t->canceler);
	assert_null(canceler_gone(t->canceler));
	assert_int_equal(t->ps.state, SERVER_ACTIVE);
	assert_int_equal(t->ps.cancels, 0);
}

static void test_release_cuts_the_bond_of_what_was_not_sent(void **state)
{
	struct server *t = target();
	struct client *c = request(t);

	(void)state;
	canceler_launch(&house.pool);
	struct server *canceler = t->canceler;

	canceler_detach(t);
	assert_string_equal(end_of(c), "not sending cancel request for client "
	    "that is now idle");
	assert_non_null(end_of_server(canceler));
	assert_null(t->canceler);
	assert_int_equal(t->ps.cancels, 0);
}

static void test_what_was_sent_keeps_its_target_from_others(void **state)
{
	struct server *t = target();

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_connected(t->canceler);
	canceler_detach(t);
	assert_int_equal(t->ps.cancels, 1);
	assert_null(end_of_server(t->canceler));
	canceler_failed(t->canceler);
	assert_true(t->ps.close_needed);
}

static void test_canceler_goes_with_the_last_that_wants_it(void **state)
{
	struct server *t = target(), *canceler;
	struct client *a = request(t), *b = request(t);

	(void)state;
	canceler_launch(&house.pool);
	canceler = t->canceler;
	client_close(a, CLOSE_SHUTDOWN);
	assert_null(end_of_server(canceler));
	client_close(b, CLOSE_SHUTDOWN);
	assert_non_null(end_of_server(canceler));
	assert_null(t->canceler);
}

static void test_requests_of_other_targets_are_left_alone(void **state)
{
	struct server *t = target(), *other = target();
	struct client *c = request(other);

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_target_gone(t);
	assert_null(end_of(c));
	assert_non_null(other->canceler);
	assert_null(end_of_server(other->canceler));
}

static void test_there_are_two_for_each_place_of_the_pool(void **state)
{
	struct server *t = target();

	(void)state;
	house.pool.limits.size = 1;
	request(t);
	request(target());
	canceler_launch(&house.pool);	/* two servers are two connections */
	assert_int_equal(seen.launched, 0);
	assert_int_equal(canceler_want(t), -1);
	house.pool.limits.size = 2;
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 2);
}

static void test_request_ends_when_no_canceler_can_be_had(void **state)
{
	struct client *c = request(target());

	(void)state;
	seen.fails = true;
	canceler_launch(&house.pool);
	assert_string_equal(end_of(c), "failed cancel request");
}

static void test_wish_of_the_console_holds_a_canceler(void **state)
{
	struct server *t = target();
	struct client *c = request(t);

	(void)state;
	canceler_launch(&house.pool);
	assert_int_equal(canceler_want(t), 0);
	client_close(c, CLOSE_SHUTDOWN);
	assert_non_null(t->canceler);
	struct server *canceler = t->canceler;

	canceler_detach(t);
	assert_non_null(end_of_server(canceler));
}

static void test_wish_is_refused_when_one_was_sent_already(void **state)
{
	struct server *t = target();

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_connected(t->canceler);
	assert_int_equal(canceler_want(t), -1);
}

/* --- SUSPEND --- */

static void test_what_was_not_sent_is_sent_later(void **state)
{
	struct server *t = target(), *canceler;
	struct client *c = request(t);

	(void)state;
	canceler_launch(&house.pool);
	canceler = t->canceler;
	canceler_hold(&house.pool);
	assert_string_equal(end_of_server(canceler),
	    "close unsafe file descriptors on suspend");
	assert_null(t->canceler);
	assert_null(end_of(c));
	assert_true(canceler_is_wanted(t));
	canceler_go_on(&house.pool);
	canceler_launch(&house.pool);
	assert_int_equal(seen.launched, 2);
	canceler_connected(t->canceler);
	assert_int_equal(c->pc.state, CLIENT_CANCEL_SENT);
	assert_false(canceler_is_wanted(t));
}

static void test_what_was_sent_is_not_held(void **state)
{
	struct server *t = target();

	(void)state;
	request(t);
	canceler_launch(&house.pool);
	canceler_connected(t->canceler);
	canceler_hold(&house.pool);
	assert_non_null(t->canceler);
	assert_int_equal(t->ps.cancels, 1);
}

static void test_wish_of_the_console_is_sent_later(void **state)
{
	struct server *t = target();

	(void)state;
	assert_int_equal(canceler_want(t), 0);
	canceler_hold(&house.pool);
	assert_null(t->canceler);
	canceler_go_on(&house.pool);
	assert_int_equal(seen.launched, 2);
	canceler_connected(t->canceler);
	assert_int_equal(t->ps.cancels, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_one_canceler_serves_all_that_came_before),
		TEST(test_target_is_asked_when_its_own_query_is_done),
		TEST(test_what_comes_later_waits_for_the_next_one),
		TEST(test_target_is_free_when_its_canceler_is_gone),
		TEST(test_target_that_still_serves_is_not_freed),
		TEST(test_release_cuts_the_bond_of_what_was_not_sent),
		TEST(test_what_was_sent_keeps_its_target_from_others),
		TEST(test_canceler_goes_with_the_last_that_wants_it),
		TEST(test_requests_of_other_targets_are_left_alone),
		TEST(test_there_are_two_for_each_place_of_the_pool),
		TEST(test_request_ends_when_no_canceler_can_be_had),
		TEST(test_wish_of_the_console_holds_a_canceler),
		TEST(test_wish_is_refused_when_one_was_sent_already),
		TEST(test_what_was_not_sent_is_sent_later),
		TEST(test_what_was_sent_is_not_held),
		TEST(test_wish_of_the_console_is_sent_later),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
