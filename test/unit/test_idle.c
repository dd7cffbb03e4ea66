/* test_idle.c - client_idle_timeout with limits of several lengths.
 * SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "app/app.h"
#include "app/idle.h"
#include "session/client.h"

#define CLIENTS 4

static struct config_user bob_line, joe_line;
static struct user ann, bob = { .conf = &bob_line }, joe = { .conf = &joe_line };
static struct config config;
static struct app app;
static struct client clients[CLIENTS];
static unsigned failed;		/* bit i: clients[i] was thrown out */

/* Instead of the real one, which would want a socket. */
void client_fail(struct client *c, enum close_reason reason)
{
	assert_int_equal(reason, CLOSE_CLIENT_IDLE_TIMEOUT);
	failed |= 1u << (c - clients);
}

/* clients[0] and [1] are ann's, [2] is bob's, [3] is joe's. */
static int setup(void **state)
{
	static struct user *const users[CLIENTS] = { &ann, &ann, &bob, &joe };

	(void)state;
	bob_line = (struct config_user){ .client_idle_timeout = 0,
	    .next = &joe_line };
	joe_line = (struct config_user){ .client_idle_timeout = 0 };
	config = (struct config){ .users = &bob_line };
	memset(&app, 0, sizeof app);
	app.config = &config;
	memset(clients, 0, sizeof clients);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i].user = users[i];
		clients[i].pc.state = CLIENT_ACTIVE;
	}
	failed = 0;
	return 0;
}

/* Client i became idle at time i + 1. */
static void start_all(void)
{
	app.idle = idle_new(&app);
	assert_non_null(app.idle);
	for (int i = 0; i < CLIENTS; i++)
		timeout_start(&app.ss.idle_list, &clients[i].timer, i + 1);
}

static int teardown(void **state)
{
	(void)state;
	idle_free(&app.idle);
	return 0;
}

static void test_no_limit_throws_nobody_out(void **state)
{
	(void)state;
	start_all();
	idle_run(app.idle, 1000000);
	assert_int_equal(failed, 0);
}

static void test_one_limit_is_kept_to_the_tick(void **state)
{
	(void)state;
	config.set.client_idle_timeout = 100;
	start_all();
	idle_run(app.idle, 102);
	assert_int_equal(failed, 1);
	idle_run(app.idle, 104);
	assert_int_equal(failed, 7);
}

/* The reference drops users without a limit then (settings.md section 12). */
static void test_limit_of_one_user_is_not_the_others(void **state)
{
	(void)state;
	bob_line.client_idle_timeout = 50;
	start_all();
	idle_run(app.idle, 1000);
	assert_int_equal(failed, 4);
	idle_run(app.idle, 1000000);
	assert_int_equal(failed, 4);
}

static void test_longer_limits_count_from_the_start(void **state)
{
	(void)state;
	config.set.client_idle_timeout = 100;
	bob_line.client_idle_timeout = 30;
	joe_line.client_idle_timeout = 200;
	start_all();
	idle_run(app.idle, 40);
	assert_int_equal(failed, 4);
	idle_run(app.idle, 102);
	assert_int_equal(failed, 4 + 1);
	idle_run(app.idle, 204);
	assert_int_equal(failed, 4 + 1 + 2);
	idle_run(app.idle, 205);
	assert_int_equal(failed, 4 + 1 + 2 + 8);
}

static void test_reset_keeps_the_time_passed(void **state)
{
	(void)state;
	bob_line.client_idle_timeout = 30;
	start_all();
	idle_run(app.idle, 60);
	assert_int_equal(failed, 4);
	bob_line.client_idle_timeout = 0;
	config.set.client_idle_timeout = 100;
	idle_reset(app.idle);
	idle_run(app.idle, 101);
	assert_int_equal(failed, 4);
	idle_run(app.idle, 103);
	assert_int_equal(failed, 4 + 1 + 2);
	idle_run(app.idle, 105);
	assert_int_equal(failed, 4 + 1 + 2 + 8);
}

static void test_linked_or_queued_clients_stay(void **state)
{
	struct pool_server server;

	(void)state;
	config.set.client_idle_timeout = 100;
	clients[0].pc.server = &server;
	clients[1].pc.state = CLIENT_WAITING;
	start_all();
	idle_run(app.idle, 1000);
	assert_int_equal(failed, 4 + 8);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_no_limit_throws_nobody_out),
		TEST(test_one_limit_is_kept_to_the_tick),
		TEST(test_limit_of_one_user_is_not_the_others),
		TEST(test_longer_limits_count_from_the_start),
		TEST(test_reset_keeps_the_time_passed),
		TEST(test_linked_or_queued_clients_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
