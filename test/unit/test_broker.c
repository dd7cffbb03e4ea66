/* test_broker.c - who is joined and parted, and where servers go from there.
 * SPDX-License-Identifier: ISC */
#include "session_test.h"

#include "base/err.h"
#include "broker/broker.h"
#include "broker/broker_parts.h"
#include "broker/canceler.h"
#include "notify/listener.h"
#include "pool/pool.h"
#include "proto/baggage.h"
#include "state/welcome.h"
#include "transfer/server_move.h"
#include "upstream/server_attempt.h"
#include "upstream/server_launch.h"

/* --- the neighbours, who take notes --- */

static struct {
	const struct client *went_on[SESSION_CLIENTS];
	unsigned count;			/* of these */
	unsigned launched, welcomed, detached;
	const char *told[SESSION_CLIENTS];	/* why it is closed */
	const char *closed[SESSION_SERVERS];
	const char *sent;		/* the last query of our own */
	enum own_query own_query;
	struct server *freed;		/* by the canceler that is gone */
	struct welcome *welcome;
	unsigned to;			/* the worker of one that left */
} seen;

static void go_on(struct client *c)
{
	seen.went_on[seen.count++] = c;
}

void client_close_cause(struct client *c, struct close_cause why)
{
	seen.told[c - house.c] = why.text;
	pool_client_set(&c->pc, CLIENT_LOGIN);
	stream_close(&c->stream);
}

void server_close_cause(struct server *s, struct close_cause why)
{
	server_close(s, why.reason);
	seen.closed[s - house.s] = why.text;
}

void client_fail_cause(struct client *c, struct close_cause why)
{
	client_close_cause(c, why);
}

void client_close(struct client *c, enum close_reason reason)
{
	client_close_cause(c, close_cause(reason));
}

void client_fail(struct client *c, enum close_reason reason)
{
	client_close(c, reason);
}

int client_send_login(struct client *c, const struct iovec *v)
{
	(void)c;
	(void)v;
	return 0;
}

void server_close(struct server *s, enum close_reason reason)
{
	seen.closed[s - house.s] = close_reason_text(reason);
	pool_server_set(&s->ps, SERVER_GONE);
	if (s->ps.client != NULL)
		pool_unlink(s->ps.client);
}

void server_fail(struct server *s, enum close_reason reason)
{
	server_close(s, reason);
}

void server_set_own_query(struct server *s, enum own_query query)
{
	s->own_query = query;
}

int server_send_query(struct server *s, const char *sql,
    enum own_query query)
{
	seen.sent = sql;
	seen.own_query = s->own_query = query;
	return 0;
}

bool server_may_leave(const struct server *s)
{
	return s->ps.state == SERVER_IDLE;
}

bool server_depart(struct server *s, unsigned to)
{
	server_close(s, CLOSE_EVICTED);
	seen.to = to;
	return true;
}

void server_launch(struct sessions *ss, struct pool *p)
{
	(void)ss;
	(void)p;
	seen.launched++;
}

void canceler_failed(struct server *canceler)
{
	(void)canceler;
}

struct server *canceler_gone(struct server *s)
{
	(void)s;
	return seen.freed;
}

void canceler_detach(struct server *target)
{
	(void)target;
	seen.detached++;
}

void canceler_target_gone(struct server *target)
{
	(void)target;
}

void listener_turn(struct sessions *ss, struct pool *p)
{
	(void)ss;
	(void)p;
}

void listener_ready(struct server *s)
{
	(void)s;
}

void listener_answered(struct server *s)
{
	(void)s;
}

void listener_renew(struct pool *p)
{
	(void)p;
}

void listener_gone(struct server *s)
{
	(void)s;
}

void welcome_send(struct client *c, const struct welcome_parts *g)
{
	(void)g;
	c->welcomed = true;
	seen.welcomed++;
}

/* --- clients and servers --- */

static int setup(void **state)
{
	static struct welcome welcome;

	memset(&seen, 0, sizeof seen);
	seen.welcome = &welcome;
	if (session_setup(state) < 0)
		return -1;
	house.role.go_on = go_on;
	timeout_list_init(&house.ss.rollback_list, NULL, NULL);
	return 0;
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, session_teardown)

/* A client and the server that it has. */
static const struct burst nothing;

static struct client *pair(void)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	session_link(c, session_server(SERVER_IDLE));
	return c;
}

static void owe(struct server *s)
{
	assert_int_equal(track_add(&s->track, 'Q', TRACK_FORWARD, NULL), 0);
}

static void test_idle_server_is_had_at_once(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *s = session_server(SERVER_IDLE);

	(void)state;
	assert_true(broker_acquire(c, &nothing));
	assert_ptr_equal(c->pc.server, &s->ps);
	assert_int_equal(s->ps.state, SERVER_ACTIVE);
	assert_int_equal(seen.count, 0);	/* it was not waiting */
}

static void test_who_finds_none_waits_and_is_not_read(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(c, &nothing));
	assert_int_equal(c->pc.state, CLIENT_WAITING);
	assert_true(c->stream.paused);
}

static void test_released_server_goes_to_the_oldest_waiter(void **state)
{
	struct server *s = server_of(pair()->pc.server);
	struct client *a = session_client(CLIENT_ACTIVE),
	    *b = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(a, &nothing));
	assert_false(broker_acquire(b, &nothing));
	broker_release(s);
	assert_ptr_equal(a->pc.server, &s->ps);
	assert_null(house.c[0].pc.server);
	assert_null(b->pc.server);
	assert_int_equal(seen.count, 1);
	assert_ptr_equal(seen.went_on[0], a);
	assert_int_equal(seen.detached, 1);
}

static void test_other_values_are_set_before_a_client_goes_on(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *s = session_server(SERVER_IDLE);

	(void)state;
	assert_int_equal(params_set(&c->params, PARAMS_DATESTYLE, "ISO"), 0);
	assert_int_equal(params_set(&s->params, PARAMS_DATESTYLE, "SQL"), 0);
	assert_false(broker_acquire(c, &nothing));
	assert_ptr_equal(c->pc.server, &s->ps);
	assert_int_equal(seen.own_query, OWN_QUERY_PARAMS);
	assert_true(c->stream.paused);
	assert_int_equal(seen.count, 0);
}

/* --- a server refuses what it is to be given --- */

static const char *left;	/* by that client; 8 bytes */

/* By code, from one that has what a client left of its own; c has brought more. */
static bool refuse(struct client *c, bool worn, const char *code)
{
	struct server *s = session_server(SERVER_IDLE);
	struct baggage_table *table = baggage_table_new();

	house.pool.limits.state = STATE_KEEP;
	house.ss.baggage = table;
	c->brought = baggage_get(table, "work_mem\0x\0", 11);
	if (c->refusals > 0)	/* of what was taken once */
		c->baggage = baggage_ref(c->brought);
	s->keep.has = left == NULL ? baggage_empty(table) :
	    baggage_get(table, left, 8);
	s->keep.base = baggage_empty(table);
	s->origin.set = params_ref(s->params);
	s->ps.lent = worn;
	assert_false(broker_acquire(c, &nothing));
	assert_int_equal(seen.own_query, OWN_QUERY_PARAMS);
	const bool goes_on = broker_sets_refused(s, (struct close_cause){
	    .reason = CLOSE_INVALID_SERVER_PARAMETER, .text = "no",
	    .code = code });

	assert_null(c->pc.server);
	baggage_unref(&c->brought);
	baggage_unref(&c->baggage);
	baggage_unref(&s->keep.has);
	baggage_unref(&s->keep.base);
	params_unref(&s->origin.set);
	baggage_table_free(&table);
	return goes_on;
}

static void test_wrong_setting_costs_its_client_not_the_server(void **state)
{
	(void)state;
	assert_true(refuse(session_client(CLIENT_ACTIVE), true, "22023"));
	assert_string_equal(seen.told[0], "no");
	assert_null(seen.closed[0]);
	assert_true(house.s[0].ps.stained);
	assert_int_equal(house.s[0].ps.state, SERVER_TESTED);
}

/* What that client has set can't be reset, maybe. */
static void test_wrong_setting_is_tried_again_where_another_has_set(
    void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	left = "jit\0off\0";
	assert_true(refuse(c, true, "22023"));
	left = NULL;
	assert_null(seen.told[0]);
	assert_null(seen.closed[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
	assert_true(house.s[0].ps.stained);
}

static void test_setting_that_was_taken_once_is_tried_elsewhere(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	c->refusals = 1;
	assert_false(refuse(c, true, "22023"));
	assert_null(seen.told[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
	assert_string_equal(seen.closed[0], "no");
}

static void test_setting_that_all_refuse_is_given_up(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	c->refusals = 2;
	assert_true(refuse(c, true, "22023"));
	assert_string_equal(seen.told[0], "no");
}

static void test_setting_that_a_new_server_refuses_is_given_up(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	c->refusals = 1;
	assert_true(refuse(c, false, "22023"));
	assert_string_equal(seen.told[0], "no");
}

static void test_time_out_of_another_client_is_no_fault_of_this_one(
    void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(refuse(c, true, "57014"));
	assert_null(seen.told[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
}

static void test_server_with_the_settings_goes_first(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *other = session_server(SERVER_IDLE),
	    *same = session_server(SERVER_IDLE);

	(void)state;
	house.pool.limits.state = STATE_KEEP;
	other->ps.lent = same->ps.lent = true;
	assert_int_equal(params_set(&c->params, PARAMS_DATESTYLE, "ISO"), 0);
	params_unref(&same->params);
	same->params = params_ref(c->params);
	assert_true(broker_acquire(c, &nothing));
	assert_ptr_equal(c->pc.server, &same->ps);
}

static void test_server_that_hung_up_is_lent_to_nobody(void **state)
{
	struct server *s = server_of(pair()->pc.server);
	struct client *a = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(a, &nothing));
	s->stream.hup = true;
	broker_release(s);
	assert_string_equal(seen.closed[0], "server conn crashed?");
	assert_int_equal(a->pc.state, CLIENT_WAITING);
}

static void test_paused_pool_keeps_its_waiters_and_closes_servers(void **state)
{
	struct server *s = server_of(pair()->pc.server);
	struct client *a = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(a, &nothing));
	house.cat.paused = true;
	broker_release(s);
	assert_string_equal(seen.closed[0], "pause mode");
	assert_int_equal(a->pc.state, CLIENT_WAITING);
	assert_int_equal(seen.count, 0);
}

/* --- a client goes --- */

static void test_client_with_a_query_in_progress_takes_it_along(void **state)
{
	struct client *c = pair();

	(void)state;
	owe(&house.s[0]);
	broker_client_gone(c);
	assert_string_equal(seen.closed[0],
	    "client disconnected with query in progress");
}

static void test_client_amid_a_message_takes_its_server_along(void **state)
{
	struct client *c = pair();

	(void)state;
	c->rest.bytes = 1;
	broker_client_gone(c);
	assert_string_equal(seen.closed[0], "client disconnect before "
	    "everything was sent to the server");
}

static void test_rest_of_what_is_dropped_harms_no_server(void **state)
{
	struct client *c = pair();

	(void)state;
	c->rest = (struct message_rest){ .bytes = 1, .dropped = true };
	broker_client_gone(c);
	assert_null(seen.closed[0]);
	assert_int_equal(house.s[0].ps.state, SERVER_IDLE);
}

static void test_open_transaction_is_rolled_back_for_the_next(void **state)
{
	struct client *c = pair(), *next = session_client(CLIENT_ACTIVE);
	struct server *s = &house.s[0];

	(void)state;
	house.config.set.server_rollback_on_disconnect = true;
	assert_false(broker_acquire(next, &nothing));
	s->track.status = 'T';
	broker_client_gone(c);
	assert_string_equal(seen.sent, "ROLLBACK");
	assert_int_equal(s->ps.state, SERVER_TESTED);
	assert_int_equal(seen.count, 0);
	s->track.status = 'I';
	broker_free(s);
	assert_ptr_equal(next->pc.server, &s->ps);
	assert_ptr_equal(seen.went_on[0], next);
}

static void test_transaction_that_is_not_rolled_back_is_closed(void **state)
{
	struct client *c = pair();

	(void)state;
	house.s[0].track.status = 'T';
	broker_client_gone(c);
	assert_non_null(seen.closed[0]);
}

/* --- a server goes, or comes --- */

static void test_end_of_a_server_is_told_to_its_client(void **state)
{
	struct client *c = pair();

	(void)state;
	house.s[0].rest.bytes = 3;
	broker_server_gone(&house.s[0], close_cause(CLOSE_SERVER_CRASHED));
	assert_string_equal(seen.told[0], "server conn crashed?");
	assert_null(c->pc.server);
	assert_true(c->cut_short);
}

static void test_server_that_its_canceler_frees_serves_again(void **state)
{
	struct server *s = session_server(SERVER_BEING_CANCELED),
	    *canceler = session_server(SERVER_ACTIVE_CANCEL);
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(c, &nothing));
	seen.freed = s;
	pool_server_set(&canceler->ps, SERVER_GONE);
	broker_server_gone(canceler, close_cause(CLOSE_CANCEL_SENT));
	assert_ptr_equal(c->pc.server, &s->ps);
	assert_ptr_equal(seen.went_on[0], c);
}

static void fail_login(bool refused)
{
	static const struct err why = { .code = "28P01", .text = "no" };
	struct server_attempt attempt = { .refused = refused };
	struct server *s = session_server(SERVER_LOGIN);

	s->phase = SERVER_PHASE_AUTH;
	s->attempt = &attempt;
	s->failure = &why;
	pool_server_set(&s->ps, SERVER_GONE);
	broker_server_gone(s, close_cause_err(CLOSE_LOGIN_FAILED, &why));
	s->attempt = NULL;
	assert_string_equal(pool_failure(&house.pool), "no");
	pool_worked(&house.pool);
}

static void test_refusal_of_all_ends_the_waiting(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(c, &nothing));
	fail_login(true);
	assert_string_equal(seen.told[0], "no");
}

static void test_failure_that_may_pass_is_waited_out(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(c, &nothing));
	fail_login(false);
	assert_null(seen.told[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
}

/* The pool fails since a second ago; the next attempt is due in so long. */
static void let_fail(usec_t due)
{
	house.pool.failing = true;
	house.pool.failing_since = time_now() - USEC;
	house.pool.limits.login_retry = 15 * USEC;
	house.pool.last_launch = time_now() - 15 * USEC + due;
}

static void test_client_before_the_retry_gets_the_last_error(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	let_fail(1);
	assert_false(broker_acquire(c, &nothing));
	assert_non_null(strstr(seen.told[0], "cached error"));
}

static void test_client_waits_for_the_retry_that_is_due(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	let_fail(0);
	assert_false(broker_acquire(c, &nothing));
	assert_null(seen.told[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
}

static void test_client_waits_for_the_retry_on_its_way(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	let_fail(USEC);
	(void)session_server(SERVER_LOGIN);
	assert_false(broker_acquire(c, &nothing));
	assert_null(seen.told[0]);
	assert_int_equal(c->pc.state, CLIENT_WAITING);
}

static void test_failed_retry_ends_the_wait_of_those_that_came_for_it(
    void **state)
{
	struct client *old = session_client(CLIENT_ACTIVE),
	    *new = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_false(broker_acquire(old, &nothing));
	old->pc.wait_since -= 2 * USEC;
	let_fail(0);
	assert_false(broker_acquire(new, &nothing));
	house.pool.last_launch = time_now();
	fail_login(false);
	assert_null(seen.told[0]);
	assert_non_null(strstr(seen.told[1], "cached error: no"));
	assert_int_equal(old->pc.state, CLIENT_WAITING);
}

static void test_first_server_brings_the_welcome_of_all(void **state)
{
	struct client *a = session_client(CLIENT_WELCOME),
	    *b = session_client(CLIENT_WELCOME);
	struct server *s = session_server(SERVER_LOGIN);

	(void)state;
	house.pool.welcome = seen.welcome;
	broker_server_ready(s);
	assert_int_equal(seen.welcomed, 2);
	assert_ptr_equal(seen.went_on[0], a);
	assert_ptr_equal(seen.went_on[1], b);
	assert_int_equal(s->ps.state, SERVER_IDLE);
}

static void test_server_of_one_client_is_told_to_that_alone(void **state)
{
	struct client *c = session_client(CLIENT_DEDICATED_WAITING);
	struct server *s = session_server(SERVER_DEDICATED_LOGIN);

	(void)state;
	s->ps.dedicated = true;
	s->ps.client = &c->pc;
	c->pc.server = &s->ps;
	broker_server_ready(s);
	assert_int_equal(seen.count, 1);
	assert_ptr_equal(seen.went_on[0], c);
	assert_int_equal(s->ps.state, SERVER_DEDICATED_LOGIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_idle_server_is_had_at_once),
		TEST(test_who_finds_none_waits_and_is_not_read),
		TEST(test_released_server_goes_to_the_oldest_waiter),
		TEST(test_other_values_are_set_before_a_client_goes_on),
		TEST(test_wrong_setting_costs_its_client_not_the_server),
		TEST(test_wrong_setting_is_tried_again_where_another_has_set),
		TEST(test_setting_that_was_taken_once_is_tried_elsewhere),
		TEST(test_setting_that_all_refuse_is_given_up),
		TEST(test_setting_that_a_new_server_refuses_is_given_up),
		TEST(test_time_out_of_another_client_is_no_fault_of_this_one),
		TEST(test_server_with_the_settings_goes_first),
		TEST(test_server_that_hung_up_is_lent_to_nobody),
		TEST(test_paused_pool_keeps_its_waiters_and_closes_servers),
		TEST(test_client_with_a_query_in_progress_takes_it_along),
		TEST(test_client_amid_a_message_takes_its_server_along),
		TEST(test_rest_of_what_is_dropped_harms_no_server),
		TEST(test_open_transaction_is_rolled_back_for_the_next),
		TEST(test_transaction_that_is_not_rolled_back_is_closed),
		TEST(test_end_of_a_server_is_told_to_its_client),
		TEST(test_server_that_its_canceler_frees_serves_again),
		TEST(test_refusal_of_all_ends_the_waiting),
		TEST(test_failure_that_may_pass_is_waited_out),
		TEST(test_client_before_the_retry_gets_the_last_error),
		TEST(test_client_waits_for_the_retry_that_is_due),
		TEST(test_client_waits_for_the_retry_on_its_way),
		TEST(test_failed_retry_ends_the_wait_of_those_that_came_for_it),
		TEST(test_first_server_brings_the_welcome_of_all),
		TEST(test_server_of_one_client_is_told_to_that_alone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
