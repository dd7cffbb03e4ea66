/* dns.c - names to addresses while the loop runs, by c-ares, with a cache.
 * SPDX-License-Identifier: ISC */
#include "io/dns.h"

#include <ares.h>
#include <event2/event.h>
#include <string.h>
#include <utlist.h>

#include "base/container.h"
#include "base/err.h"
#include "io/dns_channel.h"
#include "io/dns_host.h"
#include "io/dns_parts.h"
#include "io/socket.h"

/* RFC 8767 §5: how long an answer is waited for when there is an old one. */
#define PATIENCE (USEC * 9 / 5)

static const struct timeval patience = { 1, 800000 };

/* --- names --- */

static struct name *dns_find_name(const struct dns *d, const char *text)
{
	struct name *n;

	HASH_FIND_STR(d->names, text, n);
	return n;
}

static void dns_forget(struct dns *d, struct name *n)
{
	HASH_DEL(d->names, n);
	dns_zone_unref(d, n->zone);
	mem_free(n->addrs);
	mem_free(n->lost);
	mem_free(n);
}

/* Room for one more name: the oldest without a query goes. */
static int make_room(struct dns *d)
{
	struct name *n, *next;

	if (HASH_COUNT(d->names) < DNS_NAMES_MAX)
		return 0;
	HASH_ITER(hh, d->names, n, next) {
		if (n->users > 0 || n->asking)
			continue;
		dns_forget(d, n);
		return 0;
	}
	return -1;
}

static struct name *get_name(struct dns *d, const char *text)
{
	struct name *n = dns_find_name(d, text);
	const size_t len = strlen(text);

	if (n != NULL || make_room(d) < 0)
		return n;
	n = mem_zalloc(sizeof *n + len + 1);
	if (n == NULL)
		return NULL;
	n->dns = d;
	memcpy(n->text, text, len + 1);
	HASH_ADD_KEYPTR(hh, d->names, n->text, len, n);
	if (n->hh.tbl == NULL) {
		mem_free(n);
		return NULL;
	}
	n->zone = dns_zone_ref(d, text);
	return n;
}

/* --- queries --- */

static void move_query(struct dns_query *q, struct dns_query **to)
{
	if (q->list != NULL)
		DL_DELETE(*q->list, q);
	q->list = to;
	DL_APPEND(*to, q);
}

static void drop_query(struct dns_query *q)
{
	DL_DELETE(*q->list, q);
	q->name->users--;
	mem_free(q);
}

static void drop_queries(struct dns_query **list)
{
	while (*list != NULL)
		drop_query(*list);
}

/* The addresses that need not be avoided, if there are any; else all. */
static unsigned choose(const struct name *n,
    struct net_addr out[DNS_ADDRS_MAX])
{
	const usec_t now = time_now();
	unsigned count = 0;

	for (unsigned i = 0; i < n->count; i++) {
		if (n->addrs[i].avoid <= now)
			out[count++] = n->addrs[i].addr;
	}
	if (count > 0)
		return count;
	for (unsigned i = 0; i < n->count; i++)
		out[i] = n->addrs[i].addr;
	return n->count;
}

static void dns_deliver(struct dns_query *q)
{
	/* copies: fn may have the name asked for again, or forgotten */
	struct net_addr addrs[DNS_ADDRS_MAX];
	const int error = q->name->error;
	const unsigned count = error == 0 ? choose(q->name, addrs) : 0;
	dns_fn *fn = q->fn;
	void *arg = q->arg;

	drop_query(q);
	fn(arg, addrs, count, error);
}

static void tell_lost(struct dns *d)
{
	struct name *n, *next;

	d->any_lost = false;
	HASH_ITER(hh, d->names, n, next) {
		struct net_addr *const lost = n->lost;
		const unsigned count = n->lost_count;

		n->lost = NULL;
		n->lost_count = 0;
		for (unsigned i = 0; i < count && d->on_lost != NULL; i++)
			d->on_lost(d->on_lost_arg, n->text, &lost[i]);
		mem_free(lost);
	}
}

/* Answer the queries that were due when the turn began, and no later ones. */
static void on_due(struct loop_task *t)
{
	struct dns *d = container_of(t, struct dns, task);

	if (d->any_lost)
		tell_lost(d);
	while (d->due != NULL)
		move_query(d->due, &d->now);
	while (d->now != NULL)
		dns_deliver(d->now);
}

static void make_due(struct dns *d, struct dns_query *q)
{
	move_query(q, &d->due);
	loop_again(d->loop, &d->task);
}

/* --- answers --- */

/* The known record of an address; all zero if there is none. */
static struct known find_known(const struct name *n, const struct net_addr *a)
{
	for (unsigned i = 0; i < n->count; i++) {
		if (net_equal(&n->addrs[i].addr, a))
			return n->addrs[i];
	}
	return (struct known){ .addr = *a };
}

/* The addresses with a route, if there are any; else all. */
static unsigned keep_reachable(const struct name *n,
    const struct dns_answer *a, struct known out[DNS_ADDRS_MAX])
{
	unsigned count = 0;

	for (unsigned i = 0; i < a->count; i++) {
		if (a->count == 1 || socket_has_route(&a->addrs[i]))
			out[count++] = find_known(n, &a->addrs[i]);
	}
	if (count > 0)
		return count;
	for (unsigned i = 0; i < a->count; i++)
		out[i] = find_known(n, &a->addrs[i]);
	return a->count;
}

static bool dns_has_addr(const struct dns_answer *a,
    const struct net_addr *addr)
{
	for (unsigned i = 0; i < a->count; i++) {
		if (net_equal(&a->addrs[i], addr))
			return true;
	}
	return false;
}

/* Remember what the last good answer had and a lacks. 0, or -1: no memory. */
static int note_lost(struct name *n, const struct dns_answer *a)
{
	struct net_addr lost[DNS_ADDRS_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < n->count; i++) {
		if (!dns_has_addr(a, &n->addrs[i].addr))
			lost[count++] = n->addrs[i].addr;
	}
	if (count == 0)
		return 0;

	const unsigned before = n->lost_count;
	struct net_addr *const all = mem_resize(n->lost,
	    (before + count) * sizeof *all);
	if (all == NULL)
		return -1;
	memcpy(all + before, lost, count * sizeof *all);
	n->lost = all;
	n->lost_count = before + count;
	n->dns->any_lost = true;
	loop_again(n->dns->loop, &n->dns->task);
	return 0;
}

/* 0, or a status of c-ares. */
static int set_addrs(struct name *n, const struct dns_answer *a)
{
	struct dns *const d = n->dns;
	struct known kept[DNS_ADDRS_MAX];
	const unsigned count = keep_reachable(n, a, kept);
	struct known *const addrs = mem_dup(kept, count * sizeof *kept);

	if (addrs == NULL || note_lost(n, a) < 0) {
		mem_free(addrs);
		return ARES_ENOMEM;
	}
	mem_free(n->addrs);
	n->addrs = addrs;
	n->count = count;
	/* addresses of files have no time to live */
	const usec_t ttl = d->inside || a->ttl > d->max_ttl ? d->max_ttl :
	    a->ttl;

	n->expires = time_now() + ttl;
	return 0;
}

/* Did no server say anything, so that what was said before still counts? */
static bool is_silence(int status)
{
	static const int silences[] = { ARES_ETIMEOUT, ARES_ECONNREFUSED,
		ARES_ESERVFAIL, ARES_EREFUSED };

	for (size_t i = 0; i < sizeof silences / sizeof *silences; i++) {
		if (status == silences[i])
			return true;
	}
	return false;
}

static void set_answer(struct name *n, const struct dns_answer *a)
{
	int status = a->status;

	if (status == ARES_SUCCESS)
		status = set_addrs(n, a);
	n->error = n->count > 0 && is_silence(status) ? 0 : status;
	/* no memory now says nothing about later */
	if (status != ARES_SUCCESS)
		n->expires = time_now() + (status == ARES_ENOMEM ? 0 :
		    n->dns->negative_ttl);
}

static void on_answer(void *arg, const struct dns_answer *a)
{
	struct name *n = arg;

	n->asking = false;
	set_answer(n, a);
	while (n->waiting != NULL)
		make_due(n->dns, n->waiting);
}

/* Was there time enough for an answer, while the old one may still do? */
static bool is_overdue(const struct name *n)
{
	return n->asking && n->count > 0 && time_now() - n->asked >= PATIENCE;
}

static void serve_old(struct name *n)
{
	n->error = 0;
	while (n->waiting != NULL)
		make_due(n->dns, n->waiting);
}

/* RFC 8767 §5: old addresses are better than none. */
static void on_patience(evutil_socket_t fd, short what, void *arg)
{
	struct dns *d = arg;
	bool more = false;

	(void)fd;
	(void)what;
	loop_woke(d->loop);
	for (struct name *n = d->names; n != NULL; n = n->hh.next) {
		if (is_overdue(n))
			serve_old(n);
		else
			more |= n->asking && n->count > 0;
	}
	if (more)
		(void)event_add(d->patience, &patience);
}

void dns_ask(struct dns *d, struct name *n)
{
	struct dns_answer literal = { .count = 1 };

	n->asking = true;
	n->asked = time_now();
	d->inside = true;
	/* some versions of c-ares ask servers for these, too */
	if (net_parse_ip(n->text, 0, &literal.addrs[0]) == 0)
		on_answer(n, &literal);
	else
		dns_channel_ask(d->channel, n->text, on_answer, n);
	d->inside = false;
	if (n->asking && n->count > 0 &&
	    !event_pending(d->patience, EV_TIMEOUT, NULL))
		(void)event_add(d->patience, &patience);
}

/* --- the public part --- */

struct dns *dns_new(struct loop *l, const char *resolv_conf, struct err *e)
{
	struct dns_channel *channel = dns_channel_new(l, resolv_conf, e);
	struct dns *d;

	if (channel == NULL)
		return NULL;
	d = mem_zalloc(sizeof *d);
	if (d == NULL) {
		err_nomem(e);
		dns_channel_free(&channel);
		return NULL;
	}
	d->loop = l;
	d->channel = channel;
	d->task.run = on_due;
	d->patience = evtimer_new(loop_base(l), on_patience, d);
	if (d->patience == NULL) {
		err_nomem(e);
		dns_free(&d);
	}
	return d;
}

void dns_free(struct dns **dp)
{
	struct dns *d = *dp;
	struct name *n, *next;

	*dp = NULL;
	if (d == NULL)
		return;
	dns_channel_free(&d->channel);
	dns_hosts_fini(d);
	if (d->patience != NULL)
		event_free(d->patience);
	loop_cancel(&d->task);
	drop_queries(&d->due);
	drop_queries(&d->now);
	HASH_ITER(hh, d->names, n, next) {
		drop_queries(&n->waiting);
		dns_forget(d, n);
	}
	dns_zones_fini(d);
	mem_free(d);
}

int dns_set_servers(struct dns *d, const char *servers)
{
	return dns_channel_set_servers(d->channel, servers);
}

void dns_set_ttl(struct dns *d, usec_t max_ttl, usec_t negative_ttl)
{
	d->max_ttl = max_ttl;
	d->negative_ttl = negative_ttl;
}

void dns_forget_failures(struct dns *d)
{
	for (struct name *n = d->names; n != NULL; n = n->hh.next) {
		if (n->error != 0)
			n->expires = 0;
	}
}

void dns_on_lost(struct dns *d, dns_lost_fn *fn, void *arg)
{
	d->on_lost = fn;
	d->on_lost_arg = arg;
}

/* Can a new query use what is known? */
static bool is_known(const struct name *n)
{
	return !n->asking && n->expires > time_now();
}

struct dns_query *dns_lookup(struct dns *d, const char *text, dns_fn *fn,
    void *arg)
{
	struct dns_query *q = mem_zalloc(sizeof *q);
	struct name *n = q != NULL ? get_name(d, text) : NULL;

	if (n == NULL) {
		mem_free(q);
		return NULL;
	}
	const bool known = is_known(n);

	n->users++;
	*q = (struct dns_query){ .name = n, .fn = fn, .arg = arg };
	move_query(q, &n->waiting);
	if (known)
		make_due(d, q);
	else if (is_overdue(n))
		serve_old(n);
	else if (!n->asking)
		dns_ask(d, n);
	return q;
}

void dns_cancel(struct dns_query *q)
{
	drop_query(q);
}

void dns_avoid(struct dns *d, const char *text, const struct net_addr *addr,
    usec_t until)
{
	const struct name *n = dns_find_name(d, text);

	for (unsigned i = 0; n != NULL && i < n->count; i++) {
		struct net_addr known = n->addrs[i].addr;

		known.port = addr->port;
		if (net_equal(&known, addr))
			n->addrs[i].avoid = until;
	}
}

static unsigned count_queries(const struct dns *d)
{
	unsigned count = 0;

	for (const struct name *n = d->names; n != NULL; n = n->hh.next)
		count += n->users;
	return count;
}

void dns_stat(const struct dns *d, struct dns_stat *out)
{
	*out = (struct dns_stat){ .names = HASH_COUNT(d->names),
		.zones = HASH_COUNT(d->zones), .queries = count_queries(d) };
	for (const struct name *n = d->names; n != NULL; n = n->hh.next)
		out->pending += n->asking;
}

void dns_each(const struct dns *d, int (*fn)(void *arg,
    const struct dns_name *n), void *arg)
{
	const usec_t now = time_now();
	struct net_addr addrs[DNS_ADDRS_MAX];

	for (const struct name *n = d->names; n != NULL; n = n->hh.next) {
		const struct dns_name it = {
			.name = n->text, .addrs = addrs,
			.count = n->error == 0 ? n->count : 0,
			.ttl = n->expires > now ? n->expires - now : 0,
		};

		for (unsigned i = 0; i < it.count; i++)
			addrs[i] = n->addrs[i].addr;
		if (fn(arg, &it) != 0)
			return;
	}
}

void dns_zone_unref(struct dns *d, struct zone *z)
{
	if (z == NULL || --z->names > 0 || z->asking)
		return;
	HASH_DEL(d->zones, z);
	mem_free(z);
}

struct zone *dns_zone_ref(struct dns *d, const char *name)
{
	const char *const dot = strchr(name, '.');
	struct net_addr literal;
	struct zone *z;

	if (dot == NULL || dot[1] == '\0' ||
	    net_parse_ip(name, 0, &literal) == 0)
		return NULL;
	HASH_FIND_STR(d->zones, dot + 1, z);
	if (z != NULL) {
		z->names++;
		return z;
	}

	const size_t len = strlen(dot + 1);
	z = mem_zalloc(sizeof *z + len + 1);
	if (z == NULL)
		return NULL;
	z->dns = d;
	z->names = 1;
	memcpy(z->text, dot + 1, len + 1);
	HASH_ADD_KEYPTR(hh, d->zones, z->text, len, z);
	if (z->hh.tbl != NULL)
		return z;
	mem_free(z);
	return NULL;
}

static void ask_zone_again(struct dns *d, const struct zone *z)
{
	struct name *n, *next;

	HASH_ITER(hh, d->names, n, next) {
		if (n->zone == z && !n->asking)
			dns_ask(d, n);
	}
}

static void on_serial(void *arg, int status, uint32_t serial)
{
	struct zone *z = arg;
	struct dns *d = z->dns;
	const bool known = z->known;
	const uint32_t before = z->serial;

	z->asking = false;
	if (z->names == 0) {
		HASH_DEL(d->zones, z);
		mem_free(z);
		return;
	}
	if (status != ARES_SUCCESS)
		return;
	z->known = true;
	z->serial = serial;
	/* RFC 1982 §3.2: the numbers go round */
	if (known && (int32_t)(serial - before) > 0)
		ask_zone_again(d, z);
}

static void on_zone_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dns *d = arg;
	struct zone *z, *next;

	(void)fd;
	(void)what;
	loop_woke(d->loop);
	HASH_ITER(hh, d->zones, z, next) {
		if (z->asking || z->names == 0)
			continue;
		z->asking = true;
		dns_channel_ask_serial(d->channel, z->text, on_serial, z);
	}
}

int dns_set_zone_period(struct dns *d, usec_t period)
{
	const struct timeval tv = {
		.tv_sec = period / USEC, .tv_usec = period % USEC,
	};

	if (period == d->zone_period)
		return 0;
	d->zone_period = 0;
	if (d->zone_timer != NULL)
		event_free(d->zone_timer);
	d->zone_timer = NULL;
	if (period == 0)
		return 0;
	d->zone_timer = event_new(loop_base(d->loop), -1, EV_PERSIST,
	    on_zone_timer, d);
	if (d->zone_timer == NULL || event_add(d->zone_timer, &tv) < 0)
		return -1;
	d->zone_period = period;
	return 0;
}

void dns_each_zone(const struct dns *d, int (*fn)(void *arg,
    const struct dns_zone *z), void *arg)
{
	for (const struct zone *z = d->zones; z != NULL; z = z->hh.next) {
		const struct dns_zone it = { z->text, z->serial, z->names };

		if (z->names > 0 && fn(arg, &it) != 0)
			return;
	}
}

void dns_zones_fini(struct dns *d)
{
	struct zone *z, *next;

	if (d->zone_timer != NULL)
		event_free(d->zone_timer);
	HASH_ITER(hh, d->zones, z, next) {
		HASH_DEL(d->zones, z);
		mem_free(z);
	}
}
