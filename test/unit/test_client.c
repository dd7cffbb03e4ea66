/* test_client.c - a client goes from role to role, by one setter only.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/config.h"
#include "io/loop.h"
#include "proto/params.h"
#include "session/client.h"
#include "session/sessions.h"

static struct {
	struct sessions ss;
	struct config *config;
	struct client *c;
	int peer;
	int left[2];
	bool was_open;		/* when the role was left */
	const struct client_role *next;	/* ... and what it was by then */
	int inputs;
} st;

static void on_input(struct client *c)
{
	(void)c;
	st.inputs++;
}

static void on_leave_first(struct client *c)
{
	st.left[0]++;
	st.was_open = client_is_open(c);
	st.next = c->role;
}

static void on_leave_second(struct client *c)
{
	(void)c;
	st.left[1]++;
}

static struct timeout_list *time_out(struct sessions *ss)
{
	return &ss->login_list;
}

static const struct client_role first = {
	.name = "first",
	.logging_in = true,
	.time_out = time_out,
	.input = on_input,
	.leave = on_leave_first,
};

static const struct client_role second = {
	.name = "second",
	.mute = true,
	.input = on_input,
	.leave = on_leave_second,
};

static int set_up(void **state)
{
	const struct net_addr addr = { .family = NET_UNIX };
	int fds[2];

	(void)state;
	memset(&st, 0, sizeof st);
	st.ss.loop = loop_new();
	st.config = config_seed(0);
	st.ss.catalog = catalog_new(st.config);
	st.ss.params = params_table_new(NULL);
	assert_int_equal(socketpair(AF_UNIX,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	st.peer = fds[1];
	st.c = client_open(&st.ss, fds[0], &addr);
	assert_non_null(st.c);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (client_is_open(st.c))
		client_close(st.c, CLOSE_SHUTDOWN);
	close(st.peer);
	loop_finish(st.ss.loop);
	params_table_free(&st.ss.params);
	catalog_free(&st.ss.catalog);
	config_unref(&st.config);
	loop_free(&st.ss.loop);
	return 0;
}

static void test_new_client_has_a_role_that_does_nothing(void **state)
{
	(void)state;
	assert_non_null(st.c->role);
	assert_false(client_logs_in(st.c));
	st.c->role->input(st.c);
	assert_true(client_is_open(st.c));
	assert_int_equal(st.ss.catalog->clients, 1);
}

static void test_become_leaves_the_role_before(void **state)
{
	(void)state;
	client_become(st.c, &first);
	assert_true(client_logs_in(st.c));
	st.c->role->input(st.c);
	assert_int_equal(st.inputs, 1);
	client_become(st.c, &second);
	assert_ptr_equal(st.c->role, &second);
	assert_ptr_equal(st.next, &second);
	assert_true(st.was_open);
	assert_int_equal(st.left[0], 1);
	assert_int_equal(st.left[1], 0);
}

static void test_time_out_is_that_of_the_role(void **state)
{
	(void)state;
	client_become(st.c, &first);
	assert_ptr_equal(st.ss.login_list.head, &st.c->timer);
	client_become(st.c, &second);
	assert_null(st.ss.login_list.head);
}

static void test_close_leaves_the_role_once_when_the_socket_is_closed(
    void **state)
{
	(void)state;
	client_become(st.c, &first);
	client_close(st.c, CLOSE_SHUTDOWN);
	client_close(st.c, CLOSE_SHUTDOWN);
	assert_int_equal(st.left[0], 1);
	assert_false(st.was_open);
	assert_ptr_not_equal(st.c->role, &first);
	assert_null(st.ss.login_list.head);
	assert_int_equal(st.ss.catalog->clients, 0);
}

static ssize_t told(void)
{
	char text[512];

	return recv(st.peer, text, sizeof text, 0);
}

static void test_failure_is_told(void **state)
{
	(void)state;
	client_become(st.c, &first);
	client_fail(st.c, CLOSE_BAD_PACKET);
	assert_true(told() > 0);
}

static void test_mute_role_is_told_nothing(void **state)
{
	(void)state;
	client_become(st.c, &second);
	client_fail(st.c, CLOSE_BAD_PACKET);
	assert_int_equal(told(), 0);
}

static void test_client_is_found_by_all_of_its_key_until_it_is_closed(
    void **state)
{
	uint8_t key[CLIENT_KEY_BYTES];

	(void)state;
	client_new_key(st.c);
	assert_int_equal(st.c->key_len, sizeof key);
	memcpy(key, st.c->key, sizeof key);
	assert_ptr_equal(client_find(&st.ss, key, sizeof key), st.c);
	assert_null(client_find(&st.ss, key, sizeof key - 1));
	key[0] ^= 1;
	assert_null(client_find(&st.ss, key, sizeof key));
	key[0] ^= 1;
	client_close(st.c, CLOSE_SHUTDOWN);
	assert_null(client_find(&st.ss, key, sizeof key));
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(test_new_client_has_a_role_that_does_nothing),
		STAGED(test_become_leaves_the_role_before),
		STAGED(test_time_out_is_that_of_the_role),
		STAGED(test_close_leaves_the_role_once_when_the_socket_is_closed),
		STAGED(test_failure_is_told),
		STAGED(test_mute_role_is_told_nothing),
		STAGED(test_client_is_found_by_all_of_its_key_until_it_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
