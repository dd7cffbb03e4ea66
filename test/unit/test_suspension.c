/* test_suspension.c - sessions that stand still, and go on where they were.
 * SPDX-License-Identifier: ISC */
#include "transfer/suspension.h"

#include "broker/broker.h"
#include "broker/canceler.h"
#include "pool/lobby.h"
#include "relay/relay.h"
#include "server_test.h"
#include "session/client.h"
#include "session/client_role.h"

/* --- what is faked --- */

void relay_unsuspend(struct client *c)
{
	stream_unsuspend(&c->stream);
}

void canceler_hold(struct pool *p)
{
	if (p == st.pool)
		tell("cancels held");
}

void canceler_go_on(struct pool *p)
{
	if (p == st.pool)
		tell("cancels go on");
}

void broker_pause_changed(struct sessions *ss)
{
	(void)ss;
	tell("looked at again");
}

static void on_input(struct server *s)
{
	char bytes[64];
	const ssize_t n = stream_read(&s->stream, bytes, sizeof bytes);

	text_addf(&st.told, "input %.*s;", n > 0 ? (int)n : 0, bytes);
}

static const struct server_phase_ops phases[SERVER_PHASES] = {
	[SERVER_PHASE_NEW] = { .name = "new" },
	[SERVER_PHASE_POOLED] = { .name = "pooled", .input = on_input },
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

static struct server *s;

static int set_up(void **state)
{
	(void)state;
	stage_open(&ops, "");
	s = server_adopt(&st.ss, st.pool, stage_socket());
	assert_non_null(s);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	suspension_end(&st.ss);
	server_close(s, CLOSE_SHUTDOWN);
	stage_close();
	return 0;
}

static void expect_heard(const char *bytes)
{
	char in[64];
	const ssize_t n = recv(st.peer, in, sizeof in, 0);

	assert_int_equal(n > 0 ? n : 0, (ssize_t)strlen(bytes));
	assert_memory_equal(in, bytes, strlen(bytes));
}

/* --- tests --- */

static void test_bytes_stay_until_the_end(void **state)
{
	(void)state;
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_int_equal(write(st.peer, "hello", 5), 5);
	stage_turns(2);
	assert_string_equal(stage_told(), "");
	suspension_end(&st.ss);
	stage_turns(2);
	assert_string_equal(stage_told(), "cancels go on;looked at again;input hello;");
}

static void test_what_is_queued_is_not_sent_meanwhile(void **state)
{
	(void)state;
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_int_equal(stream_queue(&s->stream, "queued", 6),
	    STREAM_QUEUED);
	stage_turns(2);
	expect_heard("");
	suspension_end(&st.ss);
	stage_turns(2);
	expect_heard("queued");
}

static void test_cancel_may_come_to_its_end(void **state)
{
	(void)state;
	s->ps.cancels = 1;
	assert_int_equal(suspension_turn(&st.ss, true), 1);
	assert_false(stream_is_suspended(&s->stream));
	s->ps.cancels = 0;
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_true(stream_is_suspended(&s->stream));
	assert_false(st.ss.cancels_held);
}

static void test_cancel_is_waited_for_no_longer(void **state)
{
	(void)state;
	s->ps.cancels = 1;
	assert_int_equal(suspension_turn(&st.ss, true), 1);
	assert_string_equal(stage_told(), "");
	assert_int_equal(suspension_turn(&st.ss, false), 0);
	assert_true(stream_is_suspended(&s->stream));
	assert_true(st.ss.cancels_held);
	assert_string_equal(stage_told(), "cancels held;");
	suspension_end(&st.ss);
	assert_false(st.ss.cancels_held);
	assert_string_equal(stage_told(),
	    "cancels go on;looked at again;");
}

static void test_servers_of_no_use_are_closed(void **state)
{
	(void)state;
	pool_server_set(&s->ps, SERVER_TESTED);
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_string_equal(stage_told(),
	    "closed: close unsafe file descriptors on suspend;");
}

static void test_logins_come_to_an_end_or_stand_still(void **state)
{
	(void)state;
	st.ss.logins = 2;
	assert_int_equal(suspension_turn(&st.ss, true), 2);
	assert_false(st.ss.still);
	assert_int_equal(suspension_turn(&st.ss, false), 0);
	assert_true(st.ss.still);
	suspension_end(&st.ss);
	assert_false(st.ss.still);
	st.ss.logins = 0;
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_true(st.ss.still);
}

/* From another worker it comes here, and has as much time as if it were here. */
static void test_logins_of_other_workers_are_waited_for(void **state)
{
	const struct net_addr from = { .family = NET_UNIX };
	struct lobby other = { 0 };
	struct lobby_guest guest = { 0 };

	(void)state;
	lobby_init(&st.ss.lobby, time_now());
	lobby_init(&other, time_now());
	lobby_share(&st.ss.lobby, &other);
	st.ss.others = 1;
	assert_int_equal(lobby_enter(&other, &guest, &from), 0);
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_false(st.ss.still);
	assert_int_equal(suspension_turn(&st.ss, false), 0);
	assert_true(st.ss.still);
	suspension_end(&st.ss);
	assert_true(lobby_leave(&other, &guest));
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_true(st.ss.still);
	st.ss.others = 0;
	lobby_fini(&other);
	lobby_fini(&st.ss.lobby);
}

/* s has a client. */
static void link_client(struct client *c, const struct client_role *role)
{
	*c = (struct client){ .role = role, .stream = { .fd = -1,
		.loop = st.ss.loop }, .pc = { .pool = st.pool } };
	pool_client_set(&c->pc, CLIENT_ACTIVE);
	pool_link(&c->pc, &s->ps);
}

static void test_server_rests_with_its_client(void **state)
{
	static const struct client_role role = { .name = "relay" };
	struct client c;

	(void)state;
	link_client(&c, &role);
	assert_int_equal(suspension_turn(&st.ss, true), 0);
	assert_true(stream_is_suspended(&c.stream));
	assert_true(stream_is_suspended(&s->stream));
	pool_unlink(&c.pc);
	pool_client_set(&c.pc, CLIENT_LOGIN);
}

static void test_server_of_a_login_goes_on(void **state)
{
	static const struct client_role role = { .name = "login",
		.logging_in = true };
	struct client c;

	(void)state;
	link_client(&c, &role);
	st.ss.logins = 1;
	assert_int_equal(suspension_turn(&st.ss, true), 2);
	assert_false(stream_is_suspended(&c.stream));
	assert_false(stream_is_suspended(&s->stream));
	st.ss.logins = 0;
	pool_unlink(&c.pc);
	pool_client_set(&c.pc, CLIENT_LOGIN);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bytes_stay_until_the_end),
		TEST(test_what_is_queued_is_not_sent_meanwhile),
		TEST(test_cancel_may_come_to_its_end),
		TEST(test_cancel_is_waited_for_no_longer),
		TEST(test_servers_of_no_use_are_closed),
		TEST(test_logins_come_to_an_end_or_stand_still),
		TEST(test_logins_of_other_workers_are_waited_for),
		TEST(test_server_rests_with_its_client),
		TEST(test_server_of_a_login_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
