/* test_dial.c - the first host that answers, on a real loop and loopback.
 * SPDX-License-Identifier: ISC */
#include "io/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/dns.h"
#include "io/loop.h"

#define GIVE_UP (20 * USEC)

struct world {
	struct loop *loop;
	struct dns *dns;
	int listener;		/* of 127.0.0.1 */
	uint16_t port;
	char told[512];		/* what was told, in words */
	int fd;			/* -2: not done yet */
	bool late;
	const char *barred;	/* an address; NULL: none */
};

static void on_missed(void *arg, const struct dial_place *at,
    enum dial_miss why, int error)
{
	static const char *const words[] = {
		[DIAL_NO_NAME] = "no name",
		[DIAL_NO_START] = "no start",
		[DIAL_NO_CONNECT] = "refused",
		[DIAL_SLOW] = "slow",
		[DIAL_BARRED] = "barred",
	};
	struct world *w = arg;
	const size_t len = strlen(w->told);

	assert_true(why >= DIAL_SLOW || error != 0);
	snprintf(w->told + len, sizeof w->told - len, "%u %s; ", at->host,
	    words[why]);
}

static void on_done(void *arg, int fd, const struct dial_place *at)
{
	struct world *w = arg;
	const size_t len = strlen(w->told);

	assert_int_equal(w->fd, -2);
	w->fd = fd;
	snprintf(w->told + len, sizeof w->told - len, "%s",
	    fd < 0 ? "nothing" : "");
	if (fd >= 0)
		snprintf(w->told + len, sizeof w->told - len, "%u", at->host);
	loop_stop(w->loop);
}

/* Everywhere but to one address. */
static bool may_use(void *arg, const struct dial_place *at)
{
	const struct world *w = arg;
	char ip[NET_TEXT_MAX];

	return w->barred == NULL ||
	    strcmp(net_format_ip(&at->addr, ip, sizeof ip), w->barred) != 0;
}

static const struct dial_ops ops = { may_use, on_missed, on_done };

static void on_late(void *arg)
{
	struct world *w = arg;

	w->late = true;
	loop_stop(w->loop);
}

static int listen_on(struct world *w)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof sin;
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	w->port = ntohs(sin.sin_port);
	return fd;
}

static int set_up(void **state)
{
	struct world *w = mem_zalloc(sizeof *w);
	struct err e;

	assert_non_null(w);
	w->loop = loop_new();
	assert_non_null(w->loop);
	w->dns = dns_new(w->loop, "/dev/null", &e);
	assert_non_null(w->dns);
	dns_set_ttl(w->dns, USEC, USEC);
	w->listener = listen_on(w);
	w->fd = -2;
	assert_int_equal(loop_every(w->loop, GIVE_UP, on_late, w), 0);
	*state = w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	if (w->fd >= 0)
		close(w->fd);
	close(w->listener);
	dns_free(&w->dns);
	loop_free(&w->loop);
	mem_free(w);
	return 0;
}

static struct dial_host host(const struct world *w, const char *ip)
{
	struct dial_host h = { .path = NULL };

	assert_int_equal(net_parse_ip(ip, w->port, &h.addr), 0);
	return h;
}

static struct dial *start(struct world *w, const struct dial_host *hosts,
    unsigned count)
{
	const struct dial_plan plan = {
		.loop = w->loop, .dns = w->dns, .hosts = hosts,
		.count = count,
	};

	w->told[0] = '\0';
	w->fd = -2;
	return dial_start(&plan, &ops, w);
}

static void expect(struct world *w, const struct dial_host *hosts,
    unsigned count, const char *told)
{
	assert_non_null(start(w, hosts, count));
	assert_int_equal(w->fd, -2);
	loop_run(w->loop, NULL, NULL);
	assert_false(w->late);
	assert_string_equal(w->told, told);
	if (w->fd >= 0)
		close(w->fd);
}

static void test_next_is_tried_when_one_refuses(void **state)
{
	struct world *w = *state;
	const struct dial_host hosts[] = {
		host(w, "127.0.0.2"), host(w, "127.0.0.3"),
		host(w, "127.0.0.1"), host(w, "127.0.0.4"),
	};

	expect(w, hosts, 4, "0 refused; 1 refused; 2");
}

static void test_nothing_is_left(void **state)
{
	struct world *w = *state;
	const struct dial_host hosts[] = {
		host(w, "127.0.0.2"),
		{ .path = "/does/not/exist/.s.PGSQL.1" },
	};

	expect(w, hosts, 2, "0 refused; 1 no start; nothing");
}

static void test_names_are_looked_up(void **state)
{
	struct world *w = *state;
	struct dial_host hosts[] = {
		{ .name = "127.0.0.2" }, { .name = "127.0.0.1" },
	};
	char longer[400];
	struct dial_host bad = { .name = longer };

	hosts[0].addr.port = hosts[1].addr.port = w->port;
	expect(w, hosts, 2, "0 refused; 1");
	memset(longer, 'a', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	expect(w, &bad, 1, "0 no name; nothing");
}

static void test_nobody_connects_where_it_is_not_allowed(void **state)
{
	struct world *w = *state;
	const struct dial_host hosts[] = {
		{ .name = "127.0.0.1", .addr.port = w->port },
		host(w, "127.0.0.1"), host(w, "127.0.0.2"),
	};

	w->barred = "127.0.0.1";
	expect(w, hosts, 2, "0 barred; 1 barred; nothing");
	expect(w, hosts, 3, "0 barred; 1 barred; 2 refused; nothing");
	w->barred = "127.0.0.2";
	expect(w, hosts + 1, 2, "0");
	expect(w, hosts + 2, 1, "0 barred; nothing");
}

static void test_cancel_tells_of_nothing_but_blame(void **state)
{
	struct world *w = *state;
	const struct dial_host h = host(w, "127.0.0.1");
	struct dial *d = start(w, &h, 1);

	assert_non_null(d);
	dial_cancel(&d, true);
	assert_null(d);
	assert_string_equal(w->told, "");
	dial_cancel(&d, true);
}

static void test_each_failed_allocation_is_survived(void **state)
{
	struct world *w = *state;
	const struct dial_host hosts[] = {
		{ .name = "127.0.0.1", .addr.port = w->port },
		host(w, "127.0.0.1"),
	};
	unsigned long n = 1;

	for (bool failed = true; failed; n++) {
		mem_fail_at(n);
		struct dial *d = start(w, hosts, 2);

		if (d != NULL)
			loop_run(w->loop, NULL, NULL);
		failed = mem_fail_at(0) >= n;
		assert_false(w->late);
		assert_true(d == NULL || w->fd != -2);
		if (w->fd >= 0)
			close(w->fd);
	}
	assert_true(n > 5);
	w->fd = -1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_next_is_tried_when_one_refuses),
		TEST(test_nothing_is_left),
		TEST(test_names_are_looked_up),
		TEST(test_nobody_connects_where_it_is_not_allowed),
		TEST(test_cancel_tells_of_nothing_but_blame),
		TEST(test_each_failed_allocation_is_survived),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
