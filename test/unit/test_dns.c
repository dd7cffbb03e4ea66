/* test_dns.c - lookups on a loop, answered by a scripted server.
 * SPDX-License-Identifier: ISC */
#include "io/dns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ares.h>
#include <cmocka.h>
#include <event2/event.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/loop.h"

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))
#define GIVE_UP (20 * USEC)
#define TYPE_A 1
#define TYPE_AAAA 28
#define NXDOMAIN 3

/* What the server knows; of other names it says NXDOMAIN. */
static const struct record {
	const char *name, *addr;	/* addr NULL: no answer at all */
} records[] = {
	{ "one.test", "127.0.0.1" },
	{ "many.test", "127.0.0.1" },
	{ "many.test", "127.0.0.2" },
	{ "many.test", "127.0.0.3" },
	{ "many.test", "127.0.0.2" },
	{ "six.test", "2001:db8::7" },
	{ "both.test", "127.0.0.4" },
	{ "both.test", "::1" },
	{ "silent.test", NULL },
};

struct world {
	struct loop *loop;
	struct dns *dns;
	struct event *server;	/* the scripted one; owns its socket */
	unsigned packets;	/* questions it got */
	unsigned wanted;	/* answers after which the loop stops */
	unsigned answers;
	bool late;
};

/* What one query was told. */
struct told {
	struct world *w;
	unsigned calls, count;
	struct net_addr addrs[DNS_ADDRS_MAX];
	char error[128];
	const char *again;	/* look this up from inside, once */
	struct told *next;	/* for that */
	struct dns_query *cancel;	/* cancel this from inside */
};

/* --- the server --- */

/* "\3one\4test\0" to "one.test"; returns the bytes used. */
static size_t read_name(const uint8_t *p, char *out, size_t size)
{
	size_t at = 0, len = 0;

	while (p[at] != 0) {
		assert_true(len + p[at] + 2 < size);
		if (len > 0)
			out[len++] = '.';
		memcpy(out + len, p + at + 1, p[at]);
		len += p[at];
		at += p[at] + 1u;
	}
	out[len] = '\0';
	return at + 1;
}

/* A resource record for the question's name. Returns its size, or 0. */
static size_t put_record(const struct record *r, uint8_t type, uint8_t *out)
{
	const bool is_v6 = strchr(r->addr, ':') != NULL;
	const uint8_t len = is_v6 ? 16 : 4;
	const uint8_t head[12] = { 0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0,
		len };

	if (is_v6 != (type == TYPE_AAAA))
		return 0;
	memcpy(out, head, sizeof head);
	assert_int_equal(inet_pton(is_v6 ? AF_INET6 : AF_INET, r->addr,
	    out + sizeof head), 1);
	return sizeof head + len;
}

/* RFC 1035 §4: turn a question into its answer. Returns the size; 0: none. */
static size_t make_answer(uint8_t *p)
{
	char name[256];
	size_t at = 12 + read_name(p + 12, name, sizeof name);
	const uint8_t type = p[at + 1];
	bool known = false;

	at += 4;
	p[2] = 0x81;
	p[3] = 0x80;
	memset(p + 6, 0, 6);	/* no EDNS in the answer */
	for (size_t i = 0; i < COUNT(records); i++) {
		if (strcmp(records[i].name, name) != 0)
			continue;
		if (records[i].addr == NULL)
			return 0;
		known = true;
		const size_t n = put_record(&records[i], type, p + at);

		at += n;
		p[7] = (uint8_t)(p[7] + (n > 0));
	}
	if (!known)
		p[3] |= NXDOMAIN;
	return at;
}

static void on_question(evutil_socket_t fd, short what, void *arg)
{
	struct world *w = arg;
	uint8_t p[1024];
	struct sockaddr_storage from;
	socklen_t from_len = sizeof from;

	(void)what;
	const ssize_t n = recvfrom(fd, p, sizeof p / 2, 0,
	    (struct sockaddr *)&from, &from_len);

	assert_true(n > 16);
	w->packets++;
	const size_t len = make_answer(p);

	if (len > 0)
		assert_int_equal(sendto(fd, p, len, 0,
		    (struct sockaddr *)&from, from_len), len);
}

static uint16_t serve(struct world *w)
{
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof sin;

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof sin), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &len), 0);
	w->server = event_new(loop_base(w->loop), fd, EV_READ | EV_PERSIST,
	    on_question, w);
	assert_non_null(w->server);
	assert_int_equal(event_add(w->server, NULL), 0);
	return ntohs(sin.sin_port);
}

/* --- the world --- */

static void on_late(void *arg)
{
	struct world *w = arg;

	w->late = true;
	loop_stop(w->loop);
}

/* One attempt of so many ms, for old and new versions of c-ares. */
static struct dns *make_dns(struct loop *l, int patience)
{
	char path[] = "/tmp/test_dns_XXXXXX";
	const int fd = mkstemp(path);
	struct err e = { .text = "" };

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "nameserver 127.0.0.1\nsearch test\n"
	    "options retrans:%d retry:1 timeout:%d attempts:1\n",
	    patience, (patience + 999) / 1000) > 0);
	close(fd);
	struct dns *d = dns_new(l, path, &e);

	unlink(path);
	assert_string_equal(e.text, "");
	assert_non_null(d);
	return d;
}

static int make_world(void **state, int patience)
{
	struct world *w = mem_zalloc(sizeof *w);
	char servers[64];

	assert_non_null(w);
	time_set_fake(1000 * USEC);
	w->loop = loop_new();
	assert_non_null(w->loop);
	w->dns = make_dns(w->loop, patience);
	snprintf(servers, sizeof servers, "127.0.0.1:%u", serve(w));
	assert_int_equal(dns_set_servers(w->dns, servers), 0);
	dns_set_ttl(w->dns, 15 * USEC, 5 * USEC);
	assert_int_equal(loop_every(w->loop, GIVE_UP, on_late, w), 0);
	*state = w;
	return 0;
}

/* The clock of c-ares is the real one: a busy machine needs its time. */
static int set_up(void **state)
{
	return make_world(state, 10000);
}

/* For who waits in vain. */
static int set_up_hasty(void **state)
{
	return make_world(state, 100);
}

static int tear_down(void **state)
{
	struct world *w = *state;

	dns_free(&w->dns);
	assert_null(w->dns);
	close(event_get_fd(w->server));
	event_free(w->server);
	loop_free(&w->loop);
	mem_free(w);
	time_set_fake(-1);
	return 0;
}

/* --- queries --- */

static void on_told(void *arg, const struct net_addr *addrs, unsigned count,
    int error)
{
	struct told *t = arg;

	t->calls++;
	t->count = count;
	assert_true(count <= DNS_ADDRS_MAX);
	if (count > 0)
		memcpy(t->addrs, addrs, count * sizeof *addrs);
	assert_true((count == 0) == (error != ARES_SUCCESS));
	snprintf(t->error, sizeof t->error, "%s", error != ARES_SUCCESS ?
	    ares_strerror(error) : "");
	if (t->again != NULL) {
		t->next->w = t->w;
		assert_non_null(dns_lookup(t->w->dns, t->again, on_told,
		    t->next));
		t->again = NULL;
		assert_int_equal(t->next->calls, 0);
	}
	if (t->cancel != NULL)
		dns_cancel(t->cancel);
	t->cancel = NULL;
	if (++t->w->answers == t->w->wanted)
		loop_stop(t->w->loop);
}

static struct dns_query *look(struct world *w, const char *name,
    struct told *t)
{
	*t = (struct told){ .w = w, .again = t->again, .next = t->next };
	struct dns_query *q = dns_lookup(w->dns, name, on_told, t);

	assert_non_null(q);
	assert_int_equal(t->calls, 0);
	return q;
}

static void wait_for(struct world *w, unsigned answers)
{
	w->answers = 0;
	w->wanted = answers;
	loop_run(w->loop, NULL, NULL);
	assert_false(w->late);
	assert_int_equal(w->answers, answers);
}

/* Look up and wait. Returns the packets it took. */
static unsigned ask(struct world *w, const char *name, struct told *t)
{
	const unsigned before = w->packets;

	look(w, name, t);
	wait_for(w, 1);
	assert_int_equal(t->calls, 1);
	return w->packets - before;
}

static bool was_told(const struct told *t, const char *ip)
{
	struct net_addr a;

	assert_int_equal(net_parse_ip(ip, 0, &a), 0);
	for (unsigned i = 0; i < t->count; i++) {
		if (net_equal(&t->addrs[i], &a))
			return true;
	}
	return false;
}

static bool can_bind_v6(void)
{
	const struct sockaddr_in6 sin6 = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
	};
	const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	const bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&sin6,
	    sizeof sin6) == 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* --- tests --- */

static void test_each_address_of_a_name_is_told_once(void **state)
{
	struct told t = { 0 };

	assert_true(ask(*state, "many.test", &t) >= 2);
	assert_int_equal(t.count, 3);
	assert_true(was_told(&t, "127.0.0.1"));
	assert_true(was_told(&t, "127.0.0.2"));
	assert_true(was_told(&t, "127.0.0.3"));
}

static void test_aaaa_is_found(void **state)
{
	struct told t = { 0 };

	ask(*state, "six.test", &t);
	assert_int_equal(t.count, 1);
	assert_true(was_told(&t, "2001:db8::7"));
}

static void test_unreachable_family_is_left_out(void **state)
{
	const bool v6 = can_bind_v6();
	struct told t = { 0 };

	ask(*state, "both.test", &t);
	assert_int_equal(t.count, v6 ? 2 : 1);
	assert_true(was_told(&t, "127.0.0.4"));
	assert_int_equal(was_told(&t, "::1"), v6);
}

static void test_search_domain_is_tried(void **state)
{
	struct told t = { 0 };

	ask(*state, "one", &t);
	assert_int_equal(t.count, 1);
	assert_true(was_told(&t, "127.0.0.1"));
}

static void test_cached_answer_needs_no_packet(void **state)
{
	struct told t = { 0 };

	assert_true(ask(*state, "one.test", &t) > 0);
	time_set_fake(1014 * USEC);
	assert_int_equal(ask(*state, "one.test", &t), 0);
	assert_int_equal(t.count, 1);
	assert_true(was_told(&t, "127.0.0.1"));
	time_set_fake(1015 * USEC);
	assert_true(ask(*state, "one.test", &t) > 0);
	assert_int_equal(t.count, 1);
}

static void test_failure_is_cached(void **state)
{
	struct told t = { 0 };

	assert_true(ask(*state, "no.test", &t) > 0);
	assert_int_equal(t.count, 0);
	assert_string_equal(t.error, "Domain name not found");
	time_set_fake(1004 * USEC);
	assert_int_equal(ask(*state, "no.test", &t), 0);
	assert_string_equal(t.error, "Domain name not found");
	time_set_fake(1005 * USEC);
	assert_true(ask(*state, "no.test", &t) > 0);
}

static void test_failure_that_is_forgotten_is_asked_again(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };

	dns_set_ttl(w->dns, 3600 * USEC, 3600 * USEC);
	assert_true(ask(w, "one.test", &t) > 0);
	assert_true(ask(w, "no.test", &t) > 0);
	assert_int_equal(ask(w, "no.test", &t), 0);
	dns_forget_failures(w->dns);
	assert_int_equal(ask(w, "one.test", &t), 0);
	assert_true(ask(w, "no.test", &t) > 0);
}

static void test_without_ttl_each_lookup_asks(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };

	dns_set_ttl(w->dns, 0, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(ask(w, "one.test", &t) > 0);
		assert_int_equal(t.count, 1);
		assert_true(ask(w, "no.test", &t) > 0);
		assert_int_equal(t.count, 0);
	}
}

static void test_silent_server_is_an_error(void **state)
{
	struct told t = { 0 };

	assert_true(ask(*state, "silent.test", &t) > 0);
	assert_int_equal(t.count, 0);
	assert_string_equal(t.error, "Timeout while contacting DNS servers");
}

static void test_queries_for_a_name_share_one_question(void **state)
{
	struct world *w = *state;
	struct told first = { 0 }, t[3] = { 0 };
	struct dns_stat s;

	const unsigned alone = ask(w, "one.test", &first);
	const unsigned before = w->packets;

	for (int i = 0; i < 3; i++)
		look(w, "many.test", &t[i]);
	dns_stat(w->dns, &s);
	assert_int_equal(s.names, 2);
	assert_int_equal(s.pending, 1);
	assert_int_equal(s.queries, 3);
	wait_for(w, 3);
	/* questions come in order: what was asked before this is in by now */
	ask(w, "both.test", &first);
	assert_int_equal(w->packets - before, 2 * alone);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(t[i].calls, 1);
		assert_int_equal(t[i].count, 3);
	}
	dns_stat(w->dns, &s);
	assert_int_equal(s.names, 3);
	assert_int_equal(s.pending, 0);
	assert_int_equal(s.queries, 0);
}

static void test_cancelled_query_is_not_told(void **state)
{
	struct world *w = *state;
	struct told gone = { 0 }, stays = { 0 };

	/* on the way: the others are told */
	struct dns_query *q = look(w, "one.test", &gone);

	look(w, "one.test", &stays);
	dns_cancel(q);
	wait_for(w, 1);
	assert_int_equal(stays.count, 1);
	assert_int_equal(gone.calls, 0);

	/* from the cache, too */
	q = look(w, "one.test", &gone);
	look(w, "one.test", &stays);
	dns_cancel(q);
	wait_for(w, 1);
	assert_int_equal(gone.calls, 0);
}

static void test_answer_to_nobody_is_kept(void **state)
{
	struct world *w = *state;
	struct told gone = { 0 }, t = { 0 };

	dns_cancel(look(w, "one.test", &gone));
	ask(w, "many.test", &t);	/* asked later, answered later */
	assert_int_equal(ask(w, "one.test", &t), 0);
	assert_int_equal(gone.calls, 0);
}

static void test_cancel_from_inside_an_answer(void **state)
{
	struct world *w = *state;
	struct told first = { 0 }, second = { 0 }, t = { 0 };

	look(w, "one.test", &first);
	first.cancel = look(w, "one.test", &second);
	wait_for(w, 1);
	assert_int_equal(first.calls, 1);
	ask(w, "one.test", &t);
	assert_int_equal(second.calls, 0);
}

static void test_lookup_from_inside_an_answer(void **state)
{
	struct world *w = *state;
	struct told next = { 0 }, t = { .again = "one.test", .next = &next };

	look(w, "one.test", &t);
	wait_for(w, 2);
	assert_int_equal(next.calls, 1);
	assert_int_equal(next.count, 1);

	/* answered at once by c-ares, while the old answer is in use */
	dns_set_ttl(w->dns, 0, 0);
	t = (struct told){ .again = "localhost", .next = &next };
	next.calls = 0;
	look(w, "localhost", &t);
	wait_for(w, 2);
	assert_int_equal(next.calls, 1);
	assert_true(was_told(&t, "127.0.0.1"));
	assert_true(was_told(&next, "127.0.0.1"));
}

static void test_literals_and_localhost_need_no_server(void **state)
{
	struct told t = { 0 };

	assert_int_equal(ask(*state, "10.1.2.3", &t), 0);
	assert_int_equal(t.count, 1);
	assert_true(was_told(&t, "10.1.2.3"));
	assert_int_equal(t.addrs[0].port, 0);
	assert_int_equal(ask(*state, "localhost", &t), 0);
	assert_true(was_told(&t, "127.0.0.1"));
}

static void test_impossible_name_is_an_error(void **state)
{
	struct told t = { 0 };
	char name[400];

	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(ask(*state, name, &t), 0);
	assert_int_equal(t.count, 0);
	assert_string_not_equal(t.error, "");
}

static void test_free_forgets_open_queries(void **state)
{
	struct world *w = *state;
	struct told a = { 0 }, b = { 0 }, c = { 0 };

	ask(w, "one.test", &a);
	a.calls = 0;
	look(w, "one.test", &a);	/* due */
	look(w, "silent.test", &b);	/* on the way */
	look(w, "10.0.0.1", &c);	/* answered from inside */
	dns_free(&w->dns);
	assert_null(w->dns);
	assert_int_equal(a.calls + b.calls + c.calls, 0);
}

static void test_cache_is_bounded(void **state)
{
	struct world *w = *state;
	struct told oldest = { 0 }, t = { 0 };
	struct dns_stat s;
	char name[32];

	look(w, "10.255.0.1", &oldest);	/* in use: must stay */
	for (unsigned i = 0; i < DNS_NAMES_MAX + 5; i++) {
		snprintf(name, sizeof name, "10.0.%u.%u", i >> 8, i & 255);
		dns_cancel(look(w, name, &t));
	}
	dns_stat(w->dns, &s);
	assert_int_equal(s.names, DNS_NAMES_MAX);
	wait_for(w, 1);
	assert_true(was_told(&oldest, "10.255.0.1"));
	assert_int_equal(t.calls, 0);
}

static int note_name(void *arg, const struct dns_name *n)
{
	char *out = arg;
	const size_t len = strlen(out);

	snprintf(out + len, 256 - len, "%s %u %d;", n->name, n->count,
	    (int)(n->ttl / USEC));
	return 0;
}

static void test_each_lists_the_cache(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };
	char text[256] = "";

	ask(w, "many.test", &t);
	ask(w, "no.test", &t);
	time_set_fake(1003 * USEC);
	dns_each(w->dns, note_name, text);
	assert_string_equal(text, "many.test 3 12;no.test 0 2;");
	time_set_fake(1100 * USEC);
	text[0] = '\0';
	dns_each(w->dns, note_name, text);
	assert_string_equal(text, "many.test 3 0;no.test 0 0;");
}

static void test_shorter_time_of_a_record_counts(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };

	/* the server says 60 s */
	dns_set_ttl(w->dns, 3600 * USEC, 5 * USEC);
	assert_true(ask(w, "one.test", &t) > 0);
	time_set_fake(1059 * USEC);
	assert_int_equal(ask(w, "one.test", &t), 0);
	time_set_fake(1060 * USEC);
	assert_true(ask(w, "one.test", &t) > 0);
}

static void test_avoided_address_is_left_out_for_a_while(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };
	struct net_addr a, b;

	assert_int_equal(net_parse_ip("127.0.0.1", 5432, &a), 0);
	assert_int_equal(net_parse_ip("127.0.0.2", 5432, &b), 0);
	ask(w, "many.test", &t);
	dns_avoid(w->dns, "many.test", &a, 1010 * USEC);
	dns_avoid(w->dns, "none.test", &a, 1010 * USEC);
	ask(w, "many.test", &t);
	assert_int_equal(t.count, 2);
	assert_false(was_told(&t, "127.0.0.1"));
	/* a new answer does not change that */
	dns_set_ttl(w->dns, 0, 0);
	time_set_fake(1009 * USEC);
	ask(w, "one.test", &t);
	dns_avoid(w->dns, "one.test", &a, 1020 * USEC);
	assert_true(ask(w, "one.test", &t) > 0);
	/* ... and the only one is given all the same */
	assert_int_equal(t.count, 1);
	time_set_fake(1015 * USEC);
	ask(w, "many.test", &t);
	assert_int_equal(t.count, 3);
}

static int note_zone(void *arg, const struct dns_zone *z)
{
	char *out = arg;
	const size_t len = strlen(out);

	snprintf(out + len, 256 - len, "%s %u %u;", z->name, z->serial,
	    z->names);
	return 0;
}

static void test_zone_is_what_follows_the_first_dot(void **state)
{
	struct world *w = *state;
	struct told t = { 0 };
	struct dns_stat s;
	char text[256] = "";

	ask(w, "one.test", &t);
	ask(w, "many.test", &t);
	ask(w, "a.b.test", &t);
	ask(w, "one", &t);
	ask(w, "10.1.2.3", &t);
	dns_each_zone(w->dns, note_zone, text);
	assert_string_equal(text, "test 0 2;b.test 0 1;");
	dns_stat(w->dns, &s);
	assert_int_equal(s.names, 5);
	assert_int_equal(s.zones, 2);
	assert_int_equal(dns_set_zone_period(w->dns, USEC), 0);
	assert_int_equal(dns_set_zone_period(w->dns, 0), 0);
}

static void test_bad_settings_are_refused(void **state)
{
	struct world *w = *state;
	struct err e;

	assert_null(dns_new(w->loop, "/no/such/file", &e));
	assert_string_equal(e.text,
	    "cannot read resolv_conf /no/such/file");
	assert_int_equal(dns_set_servers(w->dns, "no address"), -1);
	struct dns *d = dns_new(w->loop, NULL, &e);

	assert_non_null(d);
	dns_free(&d);
	dns_free(&d);
}

static void test_each_failed_allocation_is_survived(void **state)
{
	struct world *w = *state;
	struct dns_query *q = NULL;
	struct told t = { .w = w };
	unsigned long n = 0;
	struct err e;
	struct dns *d;

	do {
		mem_fail_at(++n);
		d = dns_new(w->loop, "/dev/null", &e);
		mem_fail_at(0);
		assert_true(d != NULL || strcmp(e.code, "53200") == 0);
	} while (d == NULL);
	assert_true(n > 2);
	dns_free(&d);

	/* a literal: one call goes all the way */
	for (n = 1;; n++) {
		t = (struct told){ .w = w };
		mem_fail_at(n);
		q = dns_lookup(w->dns, "10.1.2.3", on_told, &t);
		mem_fail_at(0);
		if (q == NULL)
			continue;
		wait_for(w, 1);
		assert_int_equal(t.calls, 1);
		if (t.count == 1)
			break;
		assert_string_equal(t.error, "Out of memory");
	}
	assert_true(n > 4);
}

/* Nobody can watch the socket: the query ends all the same. */
static void test_lookup_without_memory_for_the_socket_ends(void **state)
{
	struct world *w = *state;
	struct told t = { .w = w };

	/* query; name and zone, each with the table of a hash; the watch */
	mem_fail_at(9);
	assert_non_null(dns_lookup(w->dns, "one.test", on_told, &t));
	assert_true(mem_fail_at(0) >= 9);
	wait_for(w, 1);
	assert_int_equal(t.calls, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
#define TEST_HASTY(f) \
	cmocka_unit_test_setup_teardown(f, set_up_hasty, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_address_of_a_name_is_told_once),
		TEST(test_aaaa_is_found),
		TEST(test_unreachable_family_is_left_out),
		TEST(test_search_domain_is_tried),
		TEST(test_cached_answer_needs_no_packet),
		TEST(test_failure_is_cached),
		TEST(test_failure_that_is_forgotten_is_asked_again),
		TEST(test_without_ttl_each_lookup_asks),
		TEST_HASTY(test_silent_server_is_an_error),
		TEST(test_queries_for_a_name_share_one_question),
		TEST(test_cancelled_query_is_not_told),
		TEST(test_answer_to_nobody_is_kept),
		TEST(test_cancel_from_inside_an_answer),
		TEST(test_lookup_from_inside_an_answer),
		TEST(test_literals_and_localhost_need_no_server),
		TEST(test_impossible_name_is_an_error),
		TEST(test_free_forgets_open_queries),
		TEST(test_cache_is_bounded),
		TEST(test_each_lists_the_cache),
		TEST(test_shorter_time_of_a_record_counts),
		TEST(test_avoided_address_is_left_out_for_a_while),
		TEST(test_zone_is_what_follows_the_first_dot),
		TEST(test_bad_settings_are_refused),
		TEST(test_each_failed_allocation_is_survived),
		TEST_HASTY(test_lookup_without_memory_for_the_socket_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
