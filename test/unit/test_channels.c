/* test_channels.c - unit tests of who listens to what, and of what is told when.
 * SPDX-License-Identifier: ISC */
#include "session_test.h"

#include "base/mem.h"
#include "notify/channels.h"
#include "notify/channels_send.h"
#include "proto/msg.h"

static char message[256];

/* A NotificationResponse; "A[||||x|1|]" as a script. */
static size_t notification(const char *script)
{
	return script_write(script, message);
}

static void send_it(struct client *c, const char *script)
{
	const size_t n = notification(script);

	channels_send(c, message, n);
}

static void keep_it(struct client *c, const char *script)
{
	const size_t n = notification(script);

	channels_keep(c, message, n);
}

static void test_channel_is_there_for_as_long_as_somebody_listens(void **state)
{
	struct client *a = session_client(CLIENT_ACTIVE),
	    *b = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_int_equal(channels_add(a, "x", SUBSCRIBED), 0);
	assert_int_equal(channels_add(a, "y", SUBSCRIBED), 0);
	assert_int_equal(channels_add(b, "x", SUBSCRIBED), 0);
	struct listener *const l = house.pool.hearing.listener;

	assert_int_equal(HASH_COUNT(l->channels), 2);
	assert_int_equal(channels_count(a), 2);
	assert_non_null(channels_find(b, "x"));
	assert_null(channels_find(b, "y"));
	channels_leave(a);
	assert_null(a->listening);
	channels_tidy(l);
	assert_int_equal(HASH_COUNT(l->channels), 1);
	channels_leave(b);
	assert_null(house.pool.hearing.listener);
}

static void test_retained_is_what_is_listed(void **state)
{
	struct client *a = session_client(CLIENT_ACTIVE);

	(void)state;
	for (const char *name = "abc"; *name != '\0'; name++) {
		const char one[] = { *name, '\0' };

		assert_int_equal(channels_add(a, one, SUBSCRIBED), 0);
	}
	channels_retain(a, "c\0zz\0a", 7);
	assert_int_equal(channels_count(a), 2);
	assert_null(channels_find(a, "b"));
	channels_retain(a, "", 0);
	assert_null(a->listening);
	assert_null(house.pool.hearing.listener);
}

static void test_found_is_what_the_client_itself_listens_to(void **state)
{
	static const char *const names[] = { "x", "xy", "xyz", "y" };
	struct client *const clients[] = { session_client(CLIENT_ACTIVE),
		session_client(CLIENT_ACTIVE), session_client(CLIENT_ACTIVE) };
	static const char *const listens[] = { "1111", "0110", "0001" };

	(void)state;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++)
			if (listens[i][k] == '1')
				assert_int_equal(channels_add(clients[i],
				    names[k], SUBSCRIBED), 0);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 4; k++) {
			const struct subscription *const it =
			    channels_find(clients[i], names[k]);

			assert_int_equal(it != NULL, listens[i][k] == '1');
			assert_true(it == NULL ||
			    (it->by == clients[i]->listening &&
			    strcmp(it->channel->name, names[k]) == 0));
		}
	for (int i = 0; i < 3; i++)
		channels_leave(clients[i]);
	assert_null(house.pool.hearing.listener);
}

static void test_channel_the_connection_hears_is_kept_to_unlisten(void **state)
{
	struct client *a = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_int_equal(channels_add(a, "x", SUBSCRIBED), 0);
	struct listener *const l = house.pool.hearing.listener;

	l->server = session_server(SERVER_LISTENING);
	l->channels->listened = EAR_ONE;
	channels_leave(a);
	assert_int_equal(HASH_COUNT(l->channels), 1);
	l->channels->listened = 0;
	l->server = NULL;
	channels_tidy(l);
	assert_null(house.pool.hearing.listener);
}

static void test_want_of_memory_leaves_nothing_behind(void **state)
{
	struct client *a = session_client(CLIENT_ACTIVE);
	int rc = -1;

	(void)state;
	for (unsigned long n = 1; rc < 0; n++) {
		mem_fail_at(n);
		rc = channels_add(a, "x", SUBSCRIBED);
		mem_fail_at(0);
		assert_true(rc == 0 || house.pool.hearing.listener == NULL);
	}
	channels_leave(a);
}

static void test_names_are_quoted(void **state)
{
	struct writer w;

	(void)state;
	writer_init(&w, 100);
	channels_write(&w, "LISTEN", "a\"b");
	writer_u8(&w, 0);
	assert_string_equal(w.at, "LISTEN \"a\"\"b\";");
	writer_fini(&w);
}

static void test_marker_is_told_by_its_shape(void **state)
{
	struct client *a = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_int_equal(channels_add(a, "x", SUBSCRIBED), 0);
	assert_true(channels_is_marker(house.pool.hearing.listener->marker));
	channels_leave(a);
	assert_false(channels_is_marker(CHANNELS_RECONNECTED));
	assert_false(channels_is_marker("pgsluice.0123456789abcdefg"));
	assert_false(channels_is_marker("pgsluice.0123456789abcdeF"));
	assert_false(channels_is_marker("x"));
}

static void test_broken_notification_is_none(void **state)
{
	struct notification n;
	const size_t size = notification("A[||||x|1|]");

	(void)state;
	for (size_t i = 0; i < size; i++)
		assert_false(channels_parse((uint8_t *)message, i, &n));
	assert_true(channels_parse((uint8_t *)message, size, &n));
	assert_string_equal(n.channel, "x");
	assert_string_equal(n.payload, "1");
}

static void test_told_between_two_messages(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	struct server *s = session_server(SERVER_IDLE);
	const int end = house.c_end[0];

	(void)state;
	session_link(c, s);
	assert_int_equal(channels_add(c, "x", SUBSCRIBED), 0);
	send_it(c, "A[||||x|1|]");
	assert_string_equal(script_heard(end), "A[||||x|1|]");
	s->rest.bytes = 3;
	send_it(c, "A[||||x|2|]");
	channels_flush(c);
	assert_string_equal(script_heard(end), "");
	s->rest.bytes = 0;
	send_it(c, "A[||||x|3|]");
	channels_flush(c);
	assert_string_equal(script_heard(end), "A[||||x|2|]A[||||x|3|]");
	channels_leave(c);
}

static void test_what_is_past_the_mark_comes_last(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	const int end = house.c_end[0];

	(void)state;
	assert_int_equal(channels_add(c, "x", SUBSCRIBED), 0);
	struct listening *const g = c->listening;

	assert_int_equal(channels_source(g), HEARS_SERVER);
	g->becomes = HEARS_LISTENER;
	g->token = 1;
	g->marks = MARK_LISTENER;
	assert_int_equal(channels_source(g), HEARS_LISTENER);
	keep_it(c, "A[||||x|2|]");
	send_it(c, "A[||||x|1|]");
	channels_end_move(c);
	channels_flush(c);
	assert_string_equal(script_heard(end), "A[||||x|1|]");
	g->marks = MARK_BOTH;
	channels_end_move(c);
	channels_flush(c);
	assert_string_equal(script_heard(end), "A[||||x|2|]");
	assert_int_equal(g->hears, HEARS_LISTENER);
	assert_int_equal(g->token, 0);
	channels_leave(c);
}

static void test_what_the_listener_tells_goes_and_comes_when_settled(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);

	(void)state;
	assert_int_equal(channels_add(c, "x", SUBSCRIBED), 0);
	assert_int_equal(channels_add(c, "y", SUBSCRIBED), 0);
	c->listening->hears = HEARS_LISTENER;
	assert_int_equal(channels_add(c, "z", TO_COME), 0);
	assert_int_equal(channels_retain(c, "y\0z", 4), 1);
	assert_int_equal(channels_find(c, "x")->is, TO_GO);
	assert_int_equal(channels_find(c, "y")->is, SUBSCRIBED);
	assert_int_equal(channels_find(c, "z")->is, TO_COME);
	channels_settle(c);
	assert_null(channels_find(c, "x"));
	assert_int_equal(channels_find(c, "z")->is, SUBSCRIBED);
	channels_leave(c);
}

static void test_its_own_comes_if_it_listens(void **state)
{
	struct client *c = session_client(CLIENT_ACTIVE);
	const int end = house.c_end[0];
	size_t n;

	(void)state;
	assert_int_equal(channels_add(c, "x", SUBSCRIBED), 0);
	n = notification("A[||||y|1|]");
	channels_keep_early(c, message, n);
	n = notification("A[||||z|2|]");
	channels_keep_early(c, message, n);
	assert_int_equal(channels_add(c, "z", SUBSCRIBED), 0);
	channels_tell_early(c);
	channels_flush(c);
	assert_string_equal(script_heard(end), "A[||||z|2|]");
	channels_leave(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, session_setup, \
		    session_teardown)
		T(test_channel_is_there_for_as_long_as_somebody_listens),
		T(test_retained_is_what_is_listed),
		T(test_found_is_what_the_client_itself_listens_to),
		T(test_channel_the_connection_hears_is_kept_to_unlisten),
		T(test_want_of_memory_leaves_nothing_behind),
		T(test_names_are_quoted),
		T(test_marker_is_told_by_its_shape),
		T(test_broken_notification_is_none),
		T(test_told_between_two_messages),
		T(test_what_is_past_the_mark_comes_last),
		T(test_what_the_listener_tells_goes_and_comes_when_settled),
		T(test_its_own_comes_if_it_listens),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
